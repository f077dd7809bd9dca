// What a caller of placement chooses by name: objectives, links of a step, methods. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace optile::placement {

template <typename Choice>
struct Named {
  std::string_view name;
  Choice choice;
};

enum class Objective { kLoad, kLatency, kStep };
inline constexpr std::array<Named<Objective>, 3> kObjectives = {
    {{"load", Objective::kLoad}, {"latency", Objective::kLatency}, {"step", Objective::kStep}}};

// How transfers take time in a step (spec 2, E2): (a), (b) and (c).
enum class StepLinks { kBus, kEdge, kRouted };
inline constexpr std::array<Named<StepLinks>, 3> kStepLinks = {
    {{"edge", StepLinks::kEdge}, {"bus", StepLinks::kBus}, {"routed", StepLinks::kRouted}}};

enum class Method {
  kAuto,
  kSingle,
  kExpert,
  kRandom,
  kBlock,
  kRefine,
  kMetis,
  kScotch,
  kPipedream,
  kLocalSearch,
  kIdealsDp,
  kGreedy,
  kList,
  kEtf,
  kIlp,
  kPlaceto,
  kGdp,
  kHdp,
  kRnn
};
inline constexpr std::array<Named<Method>, 19> kMethods = {{{"auto", Method::kAuto},
                                                            {"single", Method::kSingle},
                                                            {"expert", Method::kExpert},
                                                            {"random", Method::kRandom},
                                                            {"block", Method::kBlock},
                                                            {"refine", Method::kRefine},
                                                            {"metis", Method::kMetis},
                                                            {"scotch", Method::kScotch},
                                                            {"pipedream", Method::kPipedream},
                                                            {"local-search", Method::kLocalSearch},
                                                            {"ideals-dp", Method::kIdealsDp},
                                                            {"greedy", Method::kGreedy},
                                                            {"list", Method::kList},
                                                            {"etf", Method::kEtf},
                                                            {"ilp", Method::kIlp},
                                                            {"placeto", Method::kPlaceto},
                                                            {"gdp", Method::kGdp},
                                                            {"hdp", Method::kHdp},
                                                            {"rnn", Method::kRnn}}};

inline constexpr std::array kLoadMethods = {
    Method::kAuto,      Method::kSingle,   Method::kExpert,     Method::kRandom,
    Method::kBlock,     Method::kRefine,   Method::kMetis,      Method::kScotch,
    Method::kPipedream, Method::kIdealsDp, Method::kLocalSearch};
inline constexpr std::array kLatencyMethods = {
    Method::kAuto,   Method::kSingle,    Method::kExpert,     Method::kRandom,
    Method::kBlock,  Method::kGreedy,    Method::kRefine,     Method::kMetis,
    Method::kScotch, Method::kPipedream, Method::kLocalSearch};
inline constexpr std::array kStepMethods = {
    Method::kAuto,      Method::kSingle,      Method::kExpert, Method::kRandom,  Method::kBlock,
    Method::kList,      Method::kEtf,         Method::kRefine, Method::kMetis,   Method::kScotch,
    Method::kPipedream, Method::kLocalSearch, Method::kIlp,    Method::kPlaceto, Method::kGdp,
    Method::kHdp,       Method::kRnn};
// Of steps: those that learn.
inline constexpr std::array kPolicies = {Method::kPlaceto, Method::kGdp, Method::kHdp,
                                         Method::kRnn};

// Of strategies. kElimination: exact or an error. kBound: most of the time goes into the bound.
// kOptcnn: node and edge elimination, exact or an error.
enum class StrategyMethod { kAuto, kElimination, kBound, kOptcnn };
inline constexpr std::array<Named<StrategyMethod>, 4> kStrategyMethods = {
    {{"auto", StrategyMethod::kAuto},
     {"elimination", StrategyMethod::kElimination},
     {"bound", StrategyMethod::kBound},
     {"optcnn", StrategyMethod::kOptcnn}}};

constexpr std::span<const Named<Objective>> named(Objective) {
  return kObjectives;
}
constexpr std::span<const Named<StepLinks>> named(StepLinks) {
  return kStepLinks;
}
constexpr std::span<const Named<Method>> named(Method) {
  return kMethods;
}
constexpr std::span<const Named<StrategyMethod>> named(StrategyMethod) {
  return kStrategyMethods;
}

template <typename Choice>
std::string name_of(Choice choice) {
  for (const Named<Choice>& one : named(choice)) {
    if (one.choice == choice) return std::string(one.name);
  }
  return "";
}

template <typename Choice>
std::optional<Choice> choice_of(std::string_view name) {
  for (const Named<Choice>& one : named(Choice())) {
    if (one.name == name) return one.choice;
  }
  return std::nullopt;
}

// `auto` first.
constexpr std::span<const Method> methods_of(Objective objective) {
  if (objective == Objective::kLoad) return kLoadMethods;
  return objective == Objective::kLatency ? std::span<const Method>(kLatencyMethods)
                                          : std::span<const Method>(kStepMethods);
}

constexpr bool is_method_of(std::span<const Method> methods, Method method) {
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

// With commas between, for messages.
inline std::string names_of(std::span<const Method> methods) {
  std::string names;
  for (const Method method : methods) names += (names.empty() ? "" : ", ") + name_of(method);
  return names;
}

}  // namespace optile::placement
