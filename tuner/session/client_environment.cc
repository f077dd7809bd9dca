#include "tuner/session/client_environment.h"

#include <utility>

namespace optile::tuner {

using perfmodel::Configuration;

ClientEnvironment::ClientEnvironment(SessionOptions options) : options_(std::move(options)) {}

void ClientEnvironment::set_runtime(perfmodel::Runtime runtime) {
  if (runtime == runtime_) return;
  runtime_ = runtime;
  assume_switching_cost();
}

void ClientEnvironment::set_default_width(int width, bool bounded) {
  default_width_ = width;
  bounded_ = bounded;
}

void ClientEnvironment::set_cases(std::vector<Configuration> cases, int cores) {
  options_.cases = std::move(cases);
  options_.cores = cores;
}

void ClientEnvironment::add_op(perfmodel::OpDescription op) {
  const uint64_t key = op.key;
  has_unordered_op_ = has_unordered_op_ || op.unordered;
  ops_[key] = std::move(op);
}

void ClientEnvironment::assume_switching_cost() {
  if (!cost_.measured()) cost_ = perfmodel::SwitchingCost(runtime_, default_width_);
}

void ClientEnvironment::learn_switching_cost(perfmodel::Nanoseconds excess, int changes) {
  cost_.learn(excess, changes);
}

const perfmodel::OpDescription* ClientEnvironment::find_op(uint64_t key) const {
  const auto known = ops_.find(key);
  return known == ops_.end() ? nullptr : &known->second;
}

bool ClientEnvironment::observes_only(uint64_t key) const {
  const perfmodel::OpDescription* op = find_op(key);
  return op != nullptr && op->observed_only();
}

std::vector<Configuration> ClientEnvironment::cases() const {
  if (!has_unordered_op_ || options_.cases.empty()) return options_.cases;
  return perfmodel::unbound_cases(options_.cores);
}

std::vector<Configuration> ClientEnvironment::usable_cases() const {
  std::vector<Configuration> usable;
  for (const Configuration& admitted : cases()) {
    if (admitted.width < default_width_ ||
        (admitted.width == default_width_ && admitted.binding != perfmodel::Binding::kNone)) {
      usable.push_back(admitted);
    }
  }
  return usable;
}

}  // namespace optile::tuner
