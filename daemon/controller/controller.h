// All clients of a daemon: arrivals, departures, periodic reading, what goes to the store. Which
// cores they may use is the lease manager's. The clock comes in, there is no descriptor and no wait
// here. The daemon's one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/client/client.h"
#include "daemon/client/drain_pace.h"
#include "daemon/controller/client_census.h"
#include "daemon/controller/controller_dependencies.h"
#include "daemon/controller/counting_turns.h"
#include "daemon/controller/finished_clients.h"
#include "daemon/controller/run_status.h"
#include "daemon/leases/client_commands.h"
#include "daemon/leases/lease_manager.h"
#include "daemon/store/program_history.h"
#include "perfmodel/machine/machine.h"

namespace optile::daemon {

class Controller {
 public:
  using Dependencies = ControllerDependencies;
  explicit Controller(Dependencies dependencies);

  // Id of the new client; kUnavailable when full. Its budget is read from its pid (0 = ours).
  base::Result<uint64_t> arrive(AttachRequest attach_request, ClientMemory memory);
  // Its connection is gone: what is left in its memory is read, then it is only remembered.
  void depart(uint64_t id);
  // Its process is ending; the connection will be gone when its memory is. Until then it is listed
  // as dying. Unknown ids are let pass: it may have left already.
  void dying(uint64_t id);

  // Reads every client. To be called again after next_drain() while there are clients.
  void drain();
  std::chrono::milliseconds next_drain() const { return drain_pace_.period(); }

  struct Undone {
    std::vector<ClientView> clients;
    std::size_t ops = 0;  // places whose width was changed and is no longer
  };
  base::Result<Undone> undo(const UndoRequest& request);

  Client* client(uint64_t id);  // null: it has left
  std::size_t client_count() const { return clients_.size(); }
  uint64_t attached_ever() const { return last_id_; }  // since the daemon began
  const perfmodel::Machine& machine() const { return machine_; }
  LeaseManager& lease_manager() { return leases_; }
  const LeaseManager& lease_manager() const { return leases_; }
  ProgramHistory& history() { return history_; }

  std::vector<ClientView> attached(tuner::Detail = tuner::Detail::kWhole) const;  // by id
  std::vector<ClientView> views() const;  // the same, then the remembered ones, newest first
  std::optional<ClientView> view(uint64_t id) const;
  // Of all processes of that run (of one user) the one that spent the most time in steps.
  RunStatus find_run(const std::string& run_id, std::optional<unsigned> user = std::nullopt) const;

 private:
  struct Place {
    std::unique_ptr<Client> client;
    uint64_t heard = 0;  // of ClientCensus::changes()
  };
  base::Status room_for(const AttachRequest& attach_request) const;
  void follow(Client& client);

  perfmodel::Machine machine_;
  Clocks clocks_;
  ProgramHistory history_;
  std::size_t max_clients_;
  std::function<bool(int pid)> is_stopped_;
  LeaseLog::Write write_log_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Place> clients_;
  ClientCensus client_census_;
  CountingTurns counting_;
  FinishedClients finished_;
  DrainPace drain_pace_;
  LeaseManager leases_;
};

}  // namespace optile::daemon
