// PyTorch's execution traces, as its ExecutionTraceObserver and Chakra's tools write them: the ops
// that ran, each within the op that called it, with the tensors that they read and wrote.
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "placement/import/formats.h"
#include "placement/import/layer_costs.h"
#include "placement/import/traced_ops.h"

namespace optile::placement {
namespace {

using base::invalid;

double bytes_of(const std::vector<TracedTensor>& tensors) {
  double bytes = 0;
  for (const TracedTensor& tensor : tensors) bytes += tensor.values * tensor.value_bytes;
  return bytes;
}

// Whether a result lies in memory that was read, too.
bool was_there(const TracedOp& op, const TracedTensor& result) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](const auto& input) { return input.storage == result.storage; });
}

// Whether a result is only another look at what was read. Schemas mark what an op writes to by "!";
// where there are none, names say it.
bool is_view(const TracedOp& op, const TracedTensor& result) {
  const bool in_place = op.schema.find("!)") != std::string::npos || op.name.ends_with("_") ||
                        op.name.find("copy_") != std::string::npos || op.name.ends_with("_out") ||
                        op.name.ends_with(".out");
  return !in_place && was_there(op, result);
}

// What is known of an op's time, of it and of all that it calls.
struct Times {
  double kernels = -1;  // on an accelerator
  double whole = -1;    // on the host
  double own = -1;      // the sum of what each of them takes without those that it calls

  void add(const TracedOp& op, bool outermost) {
    const auto more = [](double& sum, double ms) {
      if (ms >= 0) sum = std::max(sum, 0.0) + ms;
    };
    if (op.kernel) {
      more(kernels, op.whole_ms >= 0 ? op.whole_ms : op.own_ms);
    } else {
      if (outermost) whole = op.whole_ms;
      more(own, op.own_ms);
    }
  }
  // Negative where nothing is.
  double ms() const {
    if (kernels >= 0) return kernels;
    return whole >= 0 ? whole : own;
  }
};

struct OutermostOp {
  TracedOp op;
  Times times;
};

double product(const std::vector<double>& shape, std::size_t from) {
  double values = 1;
  for (std::size_t i = from; i < shape.size(); ++i) values *= shape[i];
  return values;
}

// Multiplications and additions by the shapes: of products of matrices and convolutions as they
// are known, else one for each value that is read or written.
double operations_of(const TracedOp& op) {
  std::vector<const TracedTensor*> operands;
  for (const TracedTensor& input : op.inputs) {
    if (input.shape.size() >= 2) operands.push_back(&input);
  }
  double results = 0;
  for (const TracedTensor& output : op.outputs) results += output.values;
  const auto has = [&](const char* part) { return op.name.find(part) != std::string::npos; };
  if (has("conv") && operands.size() >= 2) {
    const bool backward = has("backward");
    const TracedTensor& weight = *operands.back();
    const double each = 2 * product(weight.shape, 1);
    // Backwards the gradient comes first, and two gradients go on from it.
    return backward ? 2 * each * operands.front()->values : each * results;
  }
  if ((has("mm") || has("matmul") || has("linear")) && operands.size() >= 2) {
    const bool added = has("addmm") || has("baddbmm");
    const TracedTensor& left = *operands[added && operands.size() > 2 ? 1 : 0];
    return 2 * results * left.shape.back();
  }
  double values = results;
  for (const TracedTensor& input : op.inputs) values += input.values;
  return values;
}

// Ops in the order in which they ran; who reads what others wrote comes after them.
class TraceGraph {
 public:
  base::Result<Model> build(const std::vector<OutermostOp>& ops) {
    for (const OutermostOp& one : ops) add(one.op, one.times.ms());
    base::Result<Graph> graph = Graph::make(
        std::move(nodes_), edges_, [&](std::size_t i) { return wheres_[i]; },
        [&](std::size_t i) {
          return wheres_[static_cast<std::size_t>(edges_[i].target)] + ".inputs";
        });
    if (!graph.ok()) return graph.error();
    return Model{std::move(graph).value(), "execution-trace", std::nullopt, {}};
  }

 private:
  void add(const TracedOp& op, double ms) {
    const auto id = static_cast<NodeId>(nodes_.size());
    Node node;
    node.name = op.name + " " + std::to_string(op.id);
    node.kind = op.name;
    node.output_bytes = bytes_of(op.outputs);
    const bool looks =
        !op.outputs.empty() && std::all_of(op.outputs.begin(), op.outputs.end(),
                                           [&](const auto& output) { return is_view(op, output); });
    std::vector<NodeId> before;
    for (const TracedTensor& input : op.inputs) {
      const auto made = tensors_.find(input.tensor);
      if (made != tensors_.end()) before.push_back(made->second);
      const auto written = storages_.find(input.storage);
      if (written != storages_.end()) before.push_back(written->second);
      const bool known = made != tensors_.end() || written != storages_.end();
      // What nobody wrote was there before, such as weights: its first reader keeps it.
      if (!known && kept_.insert(input.storage).second) {
        node.memory_bytes += input.values * input.value_bytes;
      }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const NodeId one : before) edges_.push_back({one, id, false});
    for (const TracedTensor& output : op.outputs) {
      tensors_[output.tensor] = id;
      if (!is_view(op, output)) storages_[output.storage] = id;
      // What is written in place is kept already, by who made it or by its first reader.
      if (!was_there(op, output)) node.memory_bytes += output.values * output.value_bytes;
    }
    if (ms >= 0) {
      node.accelerator_ms = ms;
    } else if (!looks) {
      node.accelerator_ms = roofline_ms(operations_of(op), bytes_of(op.inputs) + node.output_bytes);
    }
    node.cpu_ms = node.accelerator_ms * kCpuSlowdown;
    nodes_.push_back(std::move(node));
    wheres_.push_back(op.where);
  }

  std::vector<Node> nodes_;
  std::vector<std::string> wheres_;
  std::vector<Edge> edges_;
  std::unordered_map<long long, NodeId> tensors_;   // who made it last
  std::unordered_map<long long, NodeId> storages_;  // who wrote it last
  std::unordered_set<long long> kept_;
};

}  // namespace

base::Result<Model> read_execution_trace(const Json& file) {
  base::Result<std::vector<TracedOp>> read = read_traced_ops(file);
  if (!read.ok()) return read.error();
  std::vector<TracedOp>& all = read.value();
  std::sort(all.begin(), all.end(),
            [](const TracedOp& a, const TracedOp& b) { return a.id < b.id; });
  std::unordered_set<long long> callers;
  for (const TracedOp& op : all) callers.insert(op.caller);
  // The outermost op of a framework is a node, with all that it calls; marks around ops, such as
  // those of autograd and of users, are looked through. What has no schema and calls nobody is a
  // kernel. Kernels that an op starts are within it, and their time is its time.
  constexpr std::size_t kNone = SIZE_MAX;
  std::unordered_map<long long, std::size_t> inside;  // of which outermost op
  std::vector<OutermostOp> ops;
  for (TracedOp& op : all) {
    const auto caller = inside.find(op.caller);
    if (caller != inside.end()) {
      const std::size_t outermost = caller->second;
      inside.emplace(op.id, outermost);
      if (outermost != kNone) ops[outermost].times.add(op, false);
      continue;
    }
    const bool works = !op.inputs.empty() || !op.outputs.empty();
    const bool declared = !op.schema.empty();
    if (declared) inside.emplace(op.id, works ? ops.size() : kNone);
    if (!works || (!declared && callers.contains(op.id))) continue;
    Times times;
    times.add(op, true);
    ops.push_back({std::move(op), times});
  }
  if (ops.empty()) return invalid("nodes", "none of them is an op with tensors");
  return TraceGraph().build(ops);
}

}  // namespace optile::placement
