#include "placement/tofu/operator_graph.h"

#include <algorithm>

namespace optile::placement::tofu {

namespace {

bool among(int position, std::size_t size) {
  return position >= 0 && static_cast<std::size_t>(position) < size;
}

base::Status check_tensors(const OperatorGraph& graph) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[i];
    const auto wrong = [&](const std::string& what) {
      return base::Error{base::ErrorKind::kInvalid,
                         "tensor " + std::to_string(i) + " (" + tensor.name + "): " + what};
    };
    double elements = 1;
    for (const std::int64_t extent : tensor.shape) {
      if (extent < 1 || extent > kMaxExtent) return wrong("an extent is not among 1 to 2^30");
      elements *= static_cast<double>(extent);
    }
    if (elements > static_cast<double>(kMaxElements)) return wrong("more than 2^40 elements");
    if (tensor.gradient_of < 0) continue;
    if (!among(tensor.gradient_of, graph.tensors.size())) {
      return wrong("it is the gradient of no tensor");
    }
    if (graph.tensors[static_cast<std::size_t>(tensor.gradient_of)].shape != tensor.shape) {
      return wrong("its shape is not that of the tensor whose gradient it is");
    }
  }
  return {};
}

}  // namespace

base::Result<std::vector<Shape>> checked_extents(const OperatorGraph& graph) {
  if (auto status = check_tensors(graph); !status.ok()) return status.error();
  std::vector<bool> made(graph.tensors.size());
  std::vector<bool> read(graph.tensors.size());
  std::vector<Shape> all;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const GraphOperator& op = graph.operators[i];
    const auto wrong = [&](const std::string& what) {
      return base::Error{base::ErrorKind::kInvalid, "operator " + std::to_string(i) + ": " + what};
    };
    if (!among(op.description, graph.descriptions.size())) return wrong("it has no description");
    if (!among(op.output, graph.tensors.size())) return wrong("its output is no tensor");
    const auto output = static_cast<std::size_t>(op.output);
    std::vector<Shape> inputs;
    for (const int input : op.inputs) {
      if (!among(input, graph.tensors.size())) return wrong("an input is no tensor");
      inputs.push_back(graph.tensors[static_cast<std::size_t>(input)].shape);
      read[static_cast<std::size_t>(input)] = true;
    }
    if (made[output]) return wrong("its output is made a second time");
    if (read[output]) return wrong("its output is read before it is made");
    made[output] = true;
    auto extents = extents_of(graph.descriptions[static_cast<std::size_t>(op.description)],
                              graph.tensors[output].shape, inputs);
    if (!extents.ok()) return wrong(extents.message());
    all.push_back(std::move(extents).value());
  }
  return all;
}

double parameter_bytes(const OperatorGraph& graph) {
  double bytes = 0;
  for (const GraphTensor& tensor : graph.tensors) {
    if (!tensor.parameter) continue;
    double elements = graph.element_bytes;
    for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
    bytes += elements;
  }
  return bytes;
}

}  // namespace optile::placement::tofu
