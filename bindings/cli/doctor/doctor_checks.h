// What the facts mean: for each of them whether it is in order, worth knowing or in the way, and
// what would change it. Pure.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/doctor/doctor_facts.h"

namespace optile::cli {

struct Finding {
  enum class Level { kOk, kNote, kProblem };
  Level level = Level::kOk;
  std::string subject;  // "counters"
  std::string found;
  std::string advice;  // what would change it; empty = nothing needs to
};
const char* level_name(Finding::Level level);

std::vector<Finding> check_machine(const MachineFacts& machine);
std::vector<Finding> check_counters(const MachineFacts& machine, const InstalledFacts& installed);
std::vector<Finding> check_installed(const InstalledFacts& installed);
std::vector<Finding> check_daemon(const DaemonFacts& daemon);
std::vector<Finding> check_variables(const Variables& variables, const std::string& preload);
std::vector<Finding> check_program(const ProgramFacts& program, const InstalledFacts& installed);

// All of them, in this order.
std::vector<Finding> check_all(const DoctorFacts& facts);

}  // namespace optile::cli
