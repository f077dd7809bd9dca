#include "daemon/api/launch_json.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace optile::daemon {
namespace {

using LaunchJson = nlohmann::json;

constexpr std::size_t kMaxArguments = 511;  // as much as an attach request can hold
constexpr std::size_t kMaxEnvironmentVariables = 64;

// Launch options by their command-line values; nullopt for an unknown one.
template <typename Choice>
std::optional<Choice> choice_at(const LaunchJson& json, const char* name,
                                std::initializer_list<std::pair<const char*, Choice>> words) {
  if (!json.contains(name)) return Choice::kAuto;
  const std::string text = text_at(json, name);
  for (const auto& [word, choice] : words) {
    if (text == word) return choice;
  }
  return std::nullopt;
}

}  // namespace

std::string arguments_at(const LaunchJson& json) {
  const auto found = json.find(field::kArguments);
  if (found == json.end() || !found->is_array())
    return text_at(json, field::kArguments, kMaxArguments);
  std::string joined;
  for (const LaunchJson& one : *found) {
    if (!joined.empty()) joined += ' ';
    joined += one.get<std::string>();
  }
  return clean_text(joined.data(), std::min(joined.size(), kMaxArguments));
}

std::optional<perfmodel::LaunchFacts> launch_facts(const LaunchJson& body) {
  using perfmodel::BlasChoice;
  using perfmodel::HeapChoice;
  using perfmodel::OpenmpChoice;
  using perfmodel::WaitChoice;
  const auto openmp = choice_at<OpenmpChoice>(body, field::kOpenmp,
                                              {{"auto", OpenmpChoice::kAuto},
                                               {"keep", OpenmpChoice::kKeep},
                                               {"llvm", OpenmpChoice::kLlvm}});
  const auto wait = choice_at<WaitChoice>(
      body, field::kWait, {{"auto", WaitChoice::kAuto}, {"keep", WaitChoice::kKeep}});
  const auto blas = choice_at<BlasChoice>(
      body, field::kBlas, {{"auto", BlasChoice::kAuto}, {"keep", BlasChoice::kKeep}});
  const auto heap = choice_at<HeapChoice>(
      body, field::kHeap, {{"auto", HeapChoice::kAuto}, {"keep", HeapChoice::kKeep}});
  if (!openmp || !wait || !blas || !heap) return std::nullopt;
  perfmodel::LaunchFacts facts;
  facts.openmp = *openmp;
  facts.wait = *wait;
  facts.blas = *blas;
  facts.heap = *heap;
  facts.blas_provider = text_at(body, field::kBlasProvider);
  facts.uses_openmp = flag_at(body, field::kUsesOpenmp);
  facts.resizes_teams = flag_at(body, field::kResizesTeams);
  facts.marks_ops = flag_at(body, field::kMarksOps);
  facts.renews_blocks = flag_at(body, field::kRenewsBlocks);
  facts.sets_up_malloc = flag_at(body, field::kSetsUpMalloc);
  facts.libomp_path = text_at(body, field::kLibompPath);
  facts.libomp_suitable = flag_at(body, field::kLibompSuitable);
  facts.libomp_obstacle = text_at(body, field::kLibompObstacle);
  const auto variables = body.find(field::kUserEnvironment);
  if (variables != body.end()) {
    for (const auto& [name, value] : variables->items()) {
      if (facts.user_environment.size() == kMaxEnvironmentVariables) break;
      facts.user_environment[name] = value.get<std::string>();
    }
  }
  return facts;
}

}  // namespace optile::daemon
