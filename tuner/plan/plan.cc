#include "tuner/plan/plan.h"

namespace optile::tuner {

const char* reason_text(Rule rule) {
  switch (rule) {
    case Rule::kDefaultWidth:
      return "no other width was faster by a settled margin";
    case Rule::kHillClimb:
      return "the hill climb stopped here: the next width was slower";
    case Rule::kFastest:
      return "fastest width of this op by a settled margin";
    case Rule::kPlanned:
      return "shortest way through the step: run time plus the cost of changing width";
    case Rule::kUniform:
      return "one width for the whole step won the comparison of whole steps";
    case Rule::kReplayed:
      return "taken from the store: an earlier run of this program settled it";
    case Rule::kUserCap:
      return "a faster width exists, but the program or its user set a lower limit";
    case Rule::kRolledBack:
      return "rolled back: slower than the program's default width";
    case Rule::kUndone:
      return "undone by hand";
    case Rule::kLeftAlone:
      return "observed only: its width cannot be set from outside";
  }
  return "unknown rule";
}

}  // namespace optile::tuner
