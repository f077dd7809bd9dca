#include "bindings/cli/place/place_command.h"

#include <iostream>

#include "bindings/cli/place/network_command.h"
#include "bindings/cli/place/place_inputs.h"
#include "bindings/cli/place/place_output.h"
#include "bindings/cli/place/refusal.h"
#include "bindings/cli/place/strategy_command.h"
#include "bindings/cli/place/train_command.h"
#include "placement/import/importer.h"
#include "placement/place.h"
#include "placement/strategy/iopddl_reader.h"

namespace optile::cli {
int place_graph(const PlaceOptions& options) {
  listen_to_interrupts();
  if (!options.network.empty()) return split_network(options, interruption());
  if (!options.train.empty()) return train_policy(options);
  const base::Result<std::string> text = placement::read_whole_file(options.graph);
  if (!text.ok()) return refuse(text.message());
  const bool strategies = placement::looks_like_iopddl(text.value());
  if (strategies != (options.objective == "strategy")) {
    return refuse(options.graph +
                  (strategies ? " is a problem of strategies: it needs"
                              : " is no problem of strategies, as is needed for") +
                  " --objective strategy");
  }
  if (strategies) return place_strategies(options, text.value(), interruption());
  const base::Result<placement::Model> model = model_of(options, text.value());
  if (!model.ok()) return refuse(model.message());
  const base::Result<placement::Cluster> cluster = cluster_of(options, model.value());
  if (!cluster.ok()) return refuse(cluster.message());
  const base::Result<placement::Request> request =
      request_of(options, model.value(), cluster.value());
  if (!request.ok()) return refuse(request.message());
  const base::Result<placement::Answer> answer =
      placement::place(model.value().graph, cluster.value(), request.value());
  if (!answer.ok()) return refuse(answer.message());
  if (was_interrupted()) std::cerr << "optile: interrupted; this is the best so far\n";
  if (options.json) {
    std::cout << answer_json(answer.value(), model.value(), cluster.value(), options.objective);
  } else {
    std::cout << answer_table(answer.value(), model.value(), cluster.value(), options.objective);
  }
  return answer.value().feasible ? 0 : kNotFeasible;
}

}  // namespace optile::cli
