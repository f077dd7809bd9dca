// The routes of the API: which request is answered by what. Pure but for what it asks the
// controller; knows no socket. docs/reference/openapi.yaml describes the same routes, which a test
// holds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/controller/controller.h"
#include "daemon/metrics/daemon_metrics.h"
#include "daemon/support/rights.h"
#include "daemon/transport/http_server.h"
#include "daemon/transport/request_reader.h"
#include "daemon/views/json_views.h"

namespace optile::daemon {

// What the process knows about itself.
struct DaemonFacts {
  int pid = 0;
  std::string version;
  std::string socket;
  uint64_t started_ns = 0;  // monotonic
  Rights rights{};
};

class Api {
 public:
  // Controller and metrics outlive the API.
  Api(Controller& controller, DaemonMetrics& metrics, DaemonFacts facts,
      std::function<uint64_t()> monotonic_ns);

  HttpResponse answer(const HttpRequest& request);

  struct RouteName {
    std::string_view method;
    std::string_view path;  // "/v1/clients/{id}"
  };
  static std::vector<RouteName> routes();

 private:
  // A request taken apart.
  struct Call {
    std::string parameter;  // what stands in the place of {…}
    Query query;
    Json body;  // an object with members of the route's; null where it has none
    Peer peer{};
  };
  struct Route;
  HttpResponse answer_by(const Route& route, std::string parameter, const HttpRequest& request);
  static const std::vector<Route>& table();
  bool may_see(const Call& call, const ClientView& client) const;
  std::vector<ClientView> seen_by(const Call& call) const;
  std::optional<unsigned> user_of(const Call& call) const;
  Json client_for(const Call& call, const ClientView& client) const;
  Store::State store_state(const Call& call) const;
  base::Status named_client(const Call& call, std::optional<ClientView>& named) const;
  std::set<std::string> programs_known_to(const Call& call) const;
  base::Result<UndoRequest> undo_request(const Call& call) const;

  HttpResponse status(const Call& call);
  HttpResponse clients(const Call& call);
  HttpResponse client(const Call& call);
  HttpResponse ops(const Call& call);
  HttpResponse explain(const Call& call);
  HttpResponse machine(const Call& call);
  HttpResponse report(const Call& call);
  HttpResponse launch(const Call& call);
  HttpResponse undo(const Call& call);
  HttpResponse leases(const Call& call);
  HttpResponse change_lease(const Call& call);
  HttpResponse metrics(const Call& call);

  Controller& controller_;
  DaemonMetrics& metrics_;
  DaemonFacts facts_;
  std::function<uint64_t()> monotonic_ns_;
};

}  // namespace optile::daemon
