// What the store keeps, a record each, and what it finds. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bindings/abi/layout.h"
#include "daemon/store/earlier_curve.h"
#include "daemon/support/step_sketch.h"
#include "perfmodel/profile/launch_plan.h"
#include "tuner/session/session.h"

namespace optile::daemon {

// A program as the store knows it. Arguments tell runs of one program apart.
struct ProgramKey {
  std::string executable;
  std::string program;
  std::string arguments;

  bool operator==(const ProgramKey&) const = default;
};

// Under which conditions something was measured.
struct Conditions {
  std::string machine;  // Machine::fingerprint
  ProgramKey program;
  std::string launch_plan;
  int runtime = 0;  // optile_runtime; 0 = not known, matches any
};

struct SettledRecord {
  Conditions conditions;
  tuner::Session::Settled settled;
  int64_t when = 0;  // seconds since 1970
};

enum class RunKind { kBaseline = 0, kObserve = 1, kTune = 2 };

struct RunRecord {
  Conditions conditions;
  RunKind kind = RunKind::kTune;
  int steps = 0;
  double step_seconds = 0;  // mean: tuned steps of a tuned run, all of any other
  double spread = 0;        // half-width of a 95 % interval, as a share of step_seconds
  int own_steps = 0;        // at the program's default widths, in the same run
  double own_step_seconds = 0;
  int64_t when = 0;
  bool untouched = false;   // neither a width was changed nor anything chosen before the start
  std::string disturbed{};  // what makes its times worth less; empty: nothing
  StepSketch step{};        // what those steps consist of
};

// A program that somebody wants left alone, or no longer.
struct UndoRecord {
  Conditions conditions;  // machine, and the program's name; "" = every program that is known
  bool revoke = false;
  int64_t when = 0;
};

// What cores that others lend gain a program that has so many of its own.
struct LendingRecord {
  std::string machine;
  std::string program;  // program_text()
  int own_cores = 0;
  bool borrows = true;
  int64_t when = 0;
};

// What a program's steps took by cores; the latest of each program under its launch plan.
struct CurveRecord {
  Conditions conditions;  // but for the runtime
  EarlierCurve curve;
  int64_t when = 0;
};

// A region that did not return at a width of ours. It is left alone from then on.
struct HangRecord {
  std::string machine;
  std::string program;  // its name
  uint64_t key = 0;
  std::string name;
  int width = 0;
  int64_t when = 0;
};

// Written in one transaction: all of it or nothing. What is forgotten or undone goes first.
struct StoreBatch {
  std::vector<SettledRecord> settled;
  std::vector<RunRecord> runs;
  std::vector<Conditions> forgotten{};  // plans that lost
  std::vector<UndoRecord> undone{};
  std::vector<LendingRecord> lending{};
  std::vector<HangRecord> hangs{};
  std::vector<CurveRecord> curves{};

  std::size_t size() const {
    return forgotten.size() + undone.size() + settled.size() + runs.size() + lending.size() +
           hangs.size() + curves.size();
  }
  bool empty() const { return size() == 0; }
};

struct FoundPlan {
  tuner::StoredPlan plan;
  int64_t when = 0;
  bool same_arguments = false;
};

struct FoundProfile {
  tuner::StoredProfile profile;
  std::string program;
  int64_t when = 0;
};

}  // namespace optile::daemon
