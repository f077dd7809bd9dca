#include "sched/overlap_verdicts.h"

namespace optile::sched {

const char* shape_name(OverlapShape shape) {
  switch (shape) {
    case OverlapShape::kHalf:
      return "half";
    case OverlapShape::kWhole:
      return "whole";
    case OverlapShape::kBoth:
      return "both";
  }
  return "unknown";
}

}  // namespace optile::sched
