#include "bindings/cli/doctor/doctor.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/daemon_choice.h"
#include "bindings/cli/run/daemon_start.h"

namespace optile::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLevelColumns = 9;
constexpr std::size_t kSubjectColumns = 14;

std::string padded(std::string text, std::size_t columns) {
  text.resize(std::max(text.size() + 1, columns), ' ');
  return text;
}

std::size_t problems_of(const std::vector<Finding>& findings) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(),
      [](const Finding& finding) { return finding.level == Finding::Level::kProblem; }));
}

DoctorFacts read_facts(const Options& options) {
  const Variables now = environment_now();
  const LibrarySearch search(value_of(now, "LD_LIBRARY_PATH"));
  const std::string named = base::choose_daemon(base::runtime_environment(), options.socket).socket;
  DoctorFacts facts;
  facts.machine = read_machine_facts("/");
  facts.installed = read_installed_facts(find_shim(), own_folder() + "/optiled", search);
  facts.daemon = read_daemon_facts(std::filesystem::absolute(named).string(), usual_store_path());
  facts.variables = thread_limits(now);
  facts.variables.merge(task_variables(now));
  facts.preload = value_of(now, "LD_PRELOAD");
  if (!options.command.empty()) facts.program = read_program_facts(options.command, now);
  return facts;
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += padded(level_name(finding.level), kLevelColumns) +
            padded(finding.subject, kSubjectColumns) + finding.found + "\n";
    if (finding.advice.empty()) continue;
    text += std::string(kLevelColumns + kSubjectColumns, ' ') + "-> " + finding.advice + "\n";
  }
  const std::size_t problems = problems_of(findings);
  text += problems == 0   ? "nothing is in the way\n"
          : problems == 1 ? "1 problem\n"
                          : std::to_string(problems) + " problems\n";
  return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"level", level_name(finding.level)},
                    {"subject", finding.subject},
                    {"found", finding.found},
                    {"advice", finding.advice.empty() ? Json(nullptr) : Json(finding.advice)}});
  }
  const Json json = {{"problems", problems_of(findings)}, {"findings", std::move(list)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int examine(const Options& options) try {
  const std::vector<Finding> findings = check_all(read_facts(options));
  std::cout << (options.json ? findings_json(findings) : findings_text(findings));
  return problems_of(findings) == 0 ? 0 : 1;
} catch (const std::exception& error) {  // a library's surprise, a path that cannot be resolved
  std::cerr << "optile: " << error.what() << "\n";
  return 1;
}

}  // namespace optile::cli
