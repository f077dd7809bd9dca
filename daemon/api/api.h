// The routes of the API: which request is answered by what. Pure but for what it asks the
// controller; knows no socket. docs/reference/openapi.yaml describes the same routes, which a test
// holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cluster/cluster.h"
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
  uint64_t started_ns = 0;  // monotonic
  Rights rights{};
};

class Api {
 public:
  struct Served {
    Controller& controller;
    DaemonMetrics& metrics;
    DaemonFacts facts;
    std::function<uint64_t()> monotonic_ns;
    Cluster* cluster;
  };
  // Controller, metrics and cluster outlive the API. Without a cluster there is none to join.
  Api(Controller& controller, DaemonMetrics& metrics, DaemonFacts facts,
      std::function<uint64_t()> monotonic_ns, Cluster* cluster = nullptr);

  HttpResponse answer(const HttpRequest& request);

  struct RouteName {
    std::string_view method;
    std::string_view path;  // "/v1/clients/{id}"
  };
  static std::vector<RouteName> routes();

 private:
  Served served_;
};

}  // namespace optile::daemon
