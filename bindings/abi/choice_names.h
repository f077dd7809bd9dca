// What the choices of a run are called: on the command line, in the shim's environment and in the
// daemon's answers. Constant; any thread.
#pragma once

#include <stddef.h>
#include <string.h>

#include "bindings/abi/layout.h"

namespace optile::abi {

template <typename Choice>
struct ChoiceName {
  Choice choice;
  const char* name;
};

inline constexpr ChoiceName<optile_mode> kModes[] = {{OPTILE_MODE_TUNE, "tune"},
                                                     {OPTILE_MODE_OBSERVE, "observe"},
                                                     {OPTILE_MODE_ADVISE, "advise"},
                                                     {OPTILE_MODE_FREEZE, "freeze"},
                                                     {OPTILE_MODE_OFF, "off"}};
inline constexpr ChoiceName<optile_strategy> kStrategies[] = {
    {OPTILE_STRATEGY_AUTO, "auto"},
    {OPTILE_STRATEGY_1, "1"},
    {OPTILE_STRATEGY_2, "2"},
    {OPTILE_STRATEGY_3, "3"},
    {OPTILE_STRATEGY_4, "4"},
    {OPTILE_STRATEGY_LOOK_AHEAD, "look-ahead"},
    {OPTILE_STRATEGY_UNIFORM, "uniform"}};
inline constexpr ChoiceName<optile_respect> kRespects[] = {{OPTILE_RESPECT_CAP, "cap"},
                                                           {OPTILE_RESPECT_EXACT, "exact"},
                                                           {OPTILE_RESPECT_IGNORE, "ignore"}};

// "unknown" where the table has no such choice.
template <typename Choice, size_t Size>
const char* name_of(const ChoiceName<Choice> (&table)[Size], Choice choice) {
  for (const ChoiceName<Choice>& one : table) {
    if (one.choice == choice) return one.name;
  }
  return "unknown";
}

// The table's first choice where the text is null or no name in it.
template <typename Choice, size_t Size>
Choice choice_of(const ChoiceName<Choice> (&table)[Size], const char* text) {
  for (const ChoiceName<Choice>& one : table) {
    if (text != nullptr && strcmp(text, one.name) == 0) return one.choice;
  }
  return table[0].choice;
}

}  // namespace optile::abi
