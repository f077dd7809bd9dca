#include "daemon/views/region_reasons.h"

#include <array>
#include <utility>

#include "bindings/abi/layout.h"

namespace optile::daemon {
namespace {

// The user's settings first.
constexpr std::array<std::pair<uint32_t, const char*>, 14> kTexts = {{
    {OPTILE_REGION_NOT_ASKED,
     "a region of the program's own: observed only, unless it is run with --regions=tune"},
    {OPTILE_REGION_ENVIRONMENT, "you said so: OMP_NUM_THREADS or OMP_THREAD_LIMIT is set"},
    {OPTILE_REGION_PROGRAM, "the program said so: it set its number of threads while it ran"},
    {OPTILE_REGION_NOT_LISTED, "you said so: its object is not among those of --regions=tune:"},
    {OPTILE_REGION_CLAUSE, "the program said so: a num_threads or if clause"},
    {OPTILE_REGION_SETS, "its object may set the number of threads itself (omp_set_num_threads)"},
    {OPTILE_REGION_ASKS,
     "its object may size by the number of threads that there can be (omp_get_max_threads)"},
    {OPTILE_REGION_PER_THREAD,
     "its object, or another one with regions, may keep data of each thread for the next region "
     "(threadprivate, thread_local)"},
    {OPTILE_REGION_PRESIZES, "its library sizes its work before it opens a team"},
    {OPTILE_REGION_OTHERS,
     "another object of the program may ask for or set the number of threads"},
    {OPTILE_REGION_UNSEEN,
     "an object of the program may open regions that are not seen (RTLD_DEEPBIND, or loaded and "
     "not "
     "called yet)"},
    {OPTILE_REGION_NESTED, "the program opens regions inside regions"},
    {OPTILE_REGION_RUNTIME, "it is of another OpenMP runtime than the one whose width is set"},
    {OPTILE_REGION_UNKNOWN, "the program has more regions than can be told apart"},
}};

}  // namespace

std::string region_reasons(uint32_t tuning) {
  if (tuning == OPTILE_REGION_TUNED) return "";
  std::string text;
  for (const auto& [bit, reason] : kTexts) {
    if ((tuning & bit) == 0) continue;
    if (!text.empty()) text += "; ";
    text += reason;
    // Nothing else was looked at then.
    if (bit == OPTILE_REGION_NOT_ASKED) break;
  }
  return text.empty() ? "a region of the program's own: observed only" : text;
}

}  // namespace optile::daemon
