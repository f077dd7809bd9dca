#include "placement/tofu/graph_builder.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "placement/tofu/operator_parser.h"

namespace optile::placement::tofu {

int GraphBuilder::tensor(const std::string& name, Shape shape) {
  GraphTensor made;
  made.name = name;
  made.shape = std::move(shape);
  if (!place_.empty()) {
    made.fold =
        folds_.try_emplace(place_ + "/" + name, static_cast<int>(folds_.size())).first->second;
  }
  graph_.tensors.push_back(std::move(made));
  return static_cast<int>(graph_.tensors.size()) - 1;
}

int GraphBuilder::parameter(const std::string& name, Shape shape) {
  const int made = tensor(name, std::move(shape));
  graph_.tensors.back().parameter = true;
  return made;
}

int GraphBuilder::description(const std::string& text) {
  const auto [known, added] =
      descriptions_.try_emplace(text, static_cast<int>(graph_.descriptions.size()));
  if (!added) return known->second;
  auto parsed = parse_operator(text);
  if (!parsed.ok()) {
    std::fprintf(stderr, "optile: a bug: %s: %s\n", text.c_str(), parsed.message().c_str());
    std::abort();
  }
  graph_.descriptions.push_back(std::move(parsed).value());
  return known->second;
}

int GraphBuilder::apply(const std::string& text, const std::string& name, Shape shape,
                        std::initializer_list<int> inputs) {
  const int by = description(text);
  const int output = tensor(name, std::move(shape));
  graph_.operators.push_back({by, inputs, output});
  return output;
}

int GraphBuilder::gradient(const std::string& text, int of, std::initializer_list<int> inputs) {
  const GraphTensor& tensor = graph_.tensors[static_cast<std::size_t>(of)];
  const int made = apply(text, "gradient of " + tensor.name, Shape(tensor.shape), inputs);
  graph_.tensors[static_cast<std::size_t>(made)].gradient_of = of;
  return made;
}

int GraphBuilder::sum(int one, int other) {
  if (one < 0) return other;
  const std::size_t rank = shape(one).size();
  std::string at;
  for (std::size_t i = 0; i < rank; ++i) at += (i == 0 ? "i" : ", i") + std::to_string(i);
  const int of = graph_.tensors[static_cast<std::size_t>(one)].gradient_of;
  return gradient("add(a, b)[" + at + "] = a[" + at + "] + b[" + at + "]", of, {one, other});
}

void GraphBuilder::update(int parameter, int gradient) {
  const Shape& whole = shape(parameter);
  const std::string name = graph_.tensors[static_cast<std::size_t>(parameter)].name;
  std::string at;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    at += (i == 0 ? "i" : ", i") + std::to_string(i);
  }
  const int old = tensor("momentum of " + name, Shape(whole));
  const int momentum = apply("momentum(m, g)[" + at + "] = 0.9 * m[" + at + "] + g[" + at + "]",
                             "new momentum of " + name, Shape(shape(parameter)), {old, gradient});
  apply("step(w, m)[" + at + "] = w[" + at + "] - 0.1 * m[" + at + "]", "new " + name,
        Shape(shape(parameter)), {parameter, momentum});
}

}  // namespace optile::placement::tofu
