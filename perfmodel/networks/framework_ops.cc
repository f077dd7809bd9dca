#include "perfmodel/networks/framework_ops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace optile::perfmodel::networks {

namespace {

constexpr size_t kImageRank = 4;  // only such tensors are ever blocked

// Element by element with two operands: the layout pass puts InputConversion before each.
const std::set<std::string> kPairwise{"Add", "Sub", "Mul", "Maximum", "SquaredDifference"};
// Their results are in MKL's layout whatever comes in.
const std::set<std::string> kBlocking{
    "Conv2D",      "Conv2DBackpropInput", "FusedBatchNorm", "MaxPooling", "FusedBatchNormGrad",
    "MaxPoolGrad", "AvgPoolGrad",         "AvgPool"};
// Their results are in the layout of what comes in.
const std::set<std::string> kFollowing{"Relu", "ReluGrad", "AddN", "ConcatV2"};
// Take MKL's layout, give the framework's.
const std::set<std::string> kUnblocking{"Conv2DBackpropFilter", "Reshape"};

bool understands_blocks(const std::string& op) {
  return kPairwise.count(op) > 0 || kBlocking.count(op) > 0 || kFollowing.count(op) > 0 ||
         kUnblocking.count(op) > 0 || op == "InputConversion";
}

std::string text(const Shape& shape) {
  std::string out = "(";
  for (const int64_t size : shape) {
    out += (out.size() > 1 ? "," : "") + std::to_string(size);
  }
  return out + ")";
}

std::string operands(const Tape& tape, const Node& node) {
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 3); ++i) {
    out += (i > 0 ? "*" : "") + text(tape.shape(node.inputs[i]));
  }
  if (node.inputs.size() > 3) {
    out += "*..." + std::to_string(node.inputs.size());
  }
  return out + "->" + text(node.shape);
}

class LayoutPass {
 public:
  explicit LayoutPass(const Tape& tape) : tape_(tape) {}

  std::vector<FrameworkOp> run() {
    const std::vector<bool> wanted = tape_.wanted();
    for (NodeId id = 0; id < static_cast<NodeId>(wanted.size()); ++id) {
      if (wanted[static_cast<size_t>(id)] && tape_.is_op(id)) {
        emit(id);
      }
    }
    return std::move(ops_);
  }

 private:
  bool blocked(NodeId tensor) const {
    const auto found = index_.find(tape_.computed_by(tensor));
    return found != index_.end() && blocked_[static_cast<size_t>(found->second)] &&
           tape_.shape(tensor).size() == kImageRank;
  }

  int append(FrameworkOp op, bool blocked) {
    std::sort(op.inputs.begin(), op.inputs.end());
    op.inputs.erase(std::unique(op.inputs.begin(), op.inputs.end()), op.inputs.end());
    ops_.push_back(std::move(op));
    blocked_.push_back(blocked);
    return static_cast<int>(ops_.size()) - 1;
  }

  // Operands of one shape may all stay blocked; of different shapes, or mixed, none does.
  bool stays_blocked(const Node& node) const {
    return !node.inputs.empty() &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](NodeId from) {
             return blocked(from) && tape_.shape(from) == tape_.shape(node.inputs[0]);
           });
  }

  FrameworkOp conversion(const std::string& name, const Node& node, NodeId tensor) const {
    FrameworkOp op;
    op.op = name;
    op.shape = text(tape_.shape(tensor));
    op.phase = node.phase;
    return op;
  }

  // Where this tensor comes from; one ToTf on the edge if it may be blocked and the reader cannot.
  int source(const Node& node, NodeId tensor) {
    const int from = index_.at(tape_.computed_by(tensor));
    if (understands_blocks(node.op) || node.op == "NoOp" ||
        !understands_blocks(ops_[static_cast<size_t>(from)].op)) {
      return from;
    }
    FrameworkOp op = conversion("ToTf", node, tensor);
    op.inputs = {from};
    if (blocked(tensor)) {
      op.bytes = 2 * kElementBytes * static_cast<double>(elements(tape_.shape(tensor)));
    }
    op.shape += op.bytes > 0 ? "" : " kept";
    return append(std::move(op), false);
  }

  int converted(const Node& node, const std::vector<int>& sources) {
    FrameworkOp op = conversion("InputConversion", node, node.inputs[0]);
    op.inputs = sources;
    for (const NodeId tensor : stays_blocked(node) ? std::vector<NodeId>{} : node.inputs) {
      if (blocked(tensor)) {
        op.bytes += 2 * kElementBytes * static_cast<double>(elements(tape_.shape(tensor)));
      }
    }
    op.shape = operands(tape_, node) + (op.bytes > 0 ? "" : " kept");
    return append(std::move(op), stays_blocked(node));
  }

  void emit(NodeId id) {
    const Node& node = tape_.at(id);
    std::vector<int> sources;
    for (const NodeId tensor : node.inputs) {
      if (tape_.computed_by(tensor) != kNothing) {
        sources.push_back(source(node, tensor));
      }
    }
    const bool follows = kPairwise.count(node.op) > 0 || kFollowing.count(node.op) > 0;
    const bool stays = kBlocking.count(node.op) > 0 || (follows && stays_blocked(node));
    if (kPairwise.count(node.op) > 0 && !sources.empty()) {
      sources = {converted(node, sources)};
    }
    FrameworkOp op;
    op.op = node.op;
    op.shape = operands(tape_, node);
    op.inputs = sources;
    op.flops = node.flops;
    op.bytes = node.op == "Reshape" ? 0 : node.bytes;
    op.phase = node.phase;
    op.recorded = id;
    op.mirrors = node.mirrors;
    index_[id] = append(std::move(op), stays);
  }

  const Tape& tape_;
  std::vector<FrameworkOp> ops_;
  std::vector<bool> blocked_;    // by op: its result is in MKL's layout
  std::map<NodeId, int> index_;  // node -> op
};

}  // namespace

std::vector<FrameworkOp> framework_ops(const Tape& tape) {
  return LayoutPass(tape).run();
}

bool has_mkl_kernel(const std::string& op) {
  return op == "ToTf" || op == "MatMul" || (op != "Reshape" && understands_blocks(op));
}

}  // namespace optile::perfmodel::networks
