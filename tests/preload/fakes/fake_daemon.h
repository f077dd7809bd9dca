// A daemon that does exactly what a test tells it: answers one attach request with two regions,
// publishes pages, reads events. Its socket lies in a folder of the caller, who outlives it:
// children of tests end without destructors.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "bindings/abi/frames.h"

namespace optile::test {

struct PlannedOp {
  uint64_t key = 0;
  uint16_t width = 0;
  std::vector<uint16_t> schedule;
  uint16_t flags = 0;
};

class FakeDaemon {
 public:
  explicit FakeDaemon(const std::string& folder);  // made where missing
  ~FakeDaemon();

  const std::string& folder() const { return folder_; }

  const std::string& socket_path() const { return socket_path_; }
  // Answers the next client, on a thread of its own; joined by wait_for_client().
  void answer_one_client(uint16_t abi_version = OPTILE_ABI_VERSION);
  // Closes the next client's connection instead.
  void turn_one_away();
  int turned_away() const { return turned_away_; }
  void wait_for_client();
  void hang_up() { connection_.reset(); }
  bool client_hung_up() const;

  void publish(const std::vector<PlannedOp>& ops, uint64_t marker_key = 0,
               const std::function<void(optile_plan_page&)>& finish = {});
  // Cores that its issuing threads share, and the slot whose steps are followed, plus 1.
  void share(uint64_t cores, uint64_t main_issuer = 0);
  // The client's clock seems so slow that any pause of sampling has lasted for too long.
  void end_sampling_pauses_at_once() { optile_store64(&client_->header.ticks_per_second, 1); }
  // As if the masks of its threads had been set to these units; none: to what it came with.
  void hold(const std::vector<int>& units);
  void cap_wait(uint64_t cap) { optile_store64(&plan_->wait_cap, cap); }
  // Of all threads, thread by thread.
  std::vector<optile_event> take_events();
  const optile_client_region& client() const { return *client_; }
  const optile_attach_request& attach_request() const { return attach_request_; }

 private:
  void serve(uint16_t abi_version);

  std::string folder_;
  std::string socket_path_;
  base::UniqueFd listener_;
  base::UniqueFd connection_;
  std::thread server_;
  std::atomic<int> turned_away_ = 0;
  optile_attach_request attach_request_{};
  optile_plan_region* plan_ = nullptr;
  optile_client_region* client_ = nullptr;
  uint64_t generation_ = 0;
};

}  // namespace optile::test
