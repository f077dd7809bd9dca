// What all phases of a session go by: its options, the client's ops and runtime, its default width
// and the cases that may be tried. Owned by the session; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "perfmodel/profile/switching_cost.h"
#include "tuner/session/session_input.h"

namespace optile::tuner {

class ClientEnvironment {
 public:
  explicit ClientEnvironment(SessionOptions options);
  ClientEnvironment(const ClientEnvironment&) = delete;  // phases refer to it
  ClientEnvironment& operator=(const ClientEnvironment&) = delete;

  void set_runtime(perfmodel::Runtime runtime);
  // `bounded`: from outside, the program's own is wider.
  void set_default_width(int width, bool bounded);
  void set_cases(std::vector<perfmodel::Configuration> cases, int cores);
  void add_op(perfmodel::OpDescription op);
  void allow_counting() { options_.counting_waits = false; }
  // From the runtime and the default width, as long as nothing was measured.
  void assume_switching_cost();
  void learn_switching_cost(perfmodel::Nanoseconds excess, int changes);

  const SessionOptions& options() const { return options_; }
  const std::map<uint64_t, perfmodel::OpDescription>& ops() const { return ops_; }
  perfmodel::Runtime runtime() const { return runtime_; }
  const perfmodel::SwitchingCost& switching_cost() const { return cost_; }
  int default_width() const { return default_width_; }  // 0 = not known yet
  bool bounded() const { return bounded_; }
  bool has_unordered_op() const { return has_unordered_op_; }

  const perfmodel::OpDescription* find_op(uint64_t key) const;  // null: not known
  bool observes_only(uint64_t key) const;
  perfmodel::Configuration own_case() const { return {default_width_, perfmodel::Binding::kNone}; }
  // That may be tried; the ops of a framework that runs several at once have no threads to bind.
  std::vector<perfmodel::Configuration> cases() const;
  // Cases below the program's default width. The full width is tried only under another binding.
  std::vector<perfmodel::Configuration> usable_cases() const;

 private:
  SessionOptions options_;
  std::map<uint64_t, perfmodel::OpDescription> ops_;
  perfmodel::Runtime runtime_ = perfmodel::Runtime::kUnknown;
  perfmodel::SwitchingCost cost_;
  int default_width_ = 0;
  bool bounded_ = false;
  bool has_unordered_op_ = false;
};

}  // namespace optile::tuner
