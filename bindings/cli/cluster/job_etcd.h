// An etcd that lives as long as this process: for a job on machines where none runs.
//
// A keeper between this process and etcd sees to the end: whichever way this process ends, the
// keeper's pipe ends with it, and the keeper kills etcd and removes its data. A keeper that is
// killed takes etcd with it; then the data is removed by this process, or where that is killed at
// the same time by the account's next one on that machine.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/cluster/etcd_store.h"

namespace optile::cli {

class JobEtcd {
 public:
  struct Settings {
    std::string job;      // a name for its folder, of letters that a file's name may have
    std::string address;  // where it listens; "0.0.0.0" = everywhere
    int port = 0;
  };

  // Returns once it accepts connections. Blocking, for seconds; before this process has other
  // threads. kNotFound: etcd is not installed; kUnavailable: why it does not run.
  static base::Result<std::unique_ptr<JobEtcd>> start(const Settings& settings);
  // Nothing of it is left when this returns.
  ~JobEtcd();
  JobEtcd(const JobEtcd&) = delete;
  JobEtcd& operator=(const JobEtcd&) = delete;

  // Whether the keeper, and so etcd, still runs.
  bool runs() const;
  const std::string& folder() const { return folder_; }

 private:
  JobEtcd(std::string folder, base::UniqueFd lifeline, pid_t keeper);

  std::string folder_;
  base::UniqueFd lifeline_;
  mutable pid_t keeper_;  // 0 once it has ended
};

// Blocks until no key begins with `prefix`, or etcd does not answer any more.
void wait_until_keys_are_gone(const daemon::EtcdStore::Settings& etcd, const std::string& prefix);

}  // namespace optile::cli
