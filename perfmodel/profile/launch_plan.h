// The launch plan: what has to be chosen before a program starts, because nothing inside it can
// change it later: OpenMP runtime, wait policy, BLAS pool, heap. Pure rules, used by the daemon
// (with what it has measured) and by the launcher (when no daemon answers). Any thread.
//
// An unknown program gets only choices whose rule is certain. A choice that lost against an
// untouched run, or against another plan, is taken back.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace optile::perfmodel {

enum class OpenmpChoice { kAuto, kKeep, kLlvm };
enum class WaitChoice { kAuto, kKeep };
enum class BlasChoice { kAuto, kKeep };
enum class HeapChoice { kAuto, kKeep };

// What is known before exec.
struct LaunchFacts {
  OpenmpChoice openmp = OpenmpChoice::kAuto;
  WaitChoice wait = WaitChoice::kAuto;
  BlasChoice blas = BlasChoice::kAuto;
  HeapChoice heap = HeapChoice::kAuto;
  std::map<std::string, std::string>
      user_environment;          // the OpenMP, KMP and BLAS words the user set
  bool sets_up_malloc = false;   // the user does, or preloads another one
  std::string blas_provider;     // openblas-pthread, openblas-openmp, blis, reference, none
  bool uses_openmp = false;      // its objects open OpenMP regions, as far as can be seen
  bool resizes_teams = false;    // its ops or regions are steered one by one
  bool marks_ops = false;        // so is most of what it does: it, or an earlier run, says so
  bool renews_blocks = false;    // gives large blocks back and takes them anew in each step
  std::string libomp_path;       // empty: not installed
  bool libomp_suitable = false;  // every entry point that the program's objects need is there
  std::string libomp_obstacle;   // why not, for people
  int budget_cores = 1;
  bool beside_others = false;  // other programs have cores of this machine, or are about to
};

struct LaunchPlan {
  std::map<std::string, std::string> environment;  // to set; never a word that the user set
  bool preload_libomp = false;
  bool wait_follows = false;  // the shim may shorten how long idle threads spin
  bool blas_follows = false;  // the shim sets the BLAS pool's count at op boundaries
  // "openmp=llvm wait=1ms blas=follow heap=256MiB": store key. No word about a heap that is kept.
  std::string text;
  std::vector<std::string> reasons;  // one sentence per choice, for people
  // The latest run's plan, when it is not this one because it lost: its text, and seconds of a step
  // that it was slower than this one.
  std::string taken_back;
  double loss_seconds = 0;
};

// A finished run of the same program on the same hardware.
struct MeasuredLaunchPlan {
  std::string text;         // "" = an untouched run (`optile baseline`)
  double step_seconds = 0;  // mean
  double spread = 0;        // half-width of a 95 % interval, as a share of step_seconds
  int steps = 0;
  bool tuned = false;      // widths were tuned too
  bool disturbed = false;  // others kept cores busy meanwhile: compared with such runs only
};

// `measured`: newest first. The latest run of a plan speaks for it, since whatever an older one
// said was not true the last time.
LaunchPlan choose_launch_plan(const LaunchFacts& facts,
                              const std::vector<MeasuredLaunchPlan>& measured);

// Whether one of these words says where OpenMP's threads run. Then the runtime is the user's too,
// since each reads such words in its own way, and so is the number of threads, which places bound.
bool binds_threads(const std::map<std::string, std::string>& user_environment);

// Whether the shim may set the count of an OpenBLAS's own threads, also of one that nobody can know
// of before the start: packages of Python bring theirs. False where the user keeps or sizes it.
bool blas_pools_follow(const LaunchFacts& facts, const LaunchPlan& plan);

// A word of a plan's text: "1ms" of "openmp=llvm wait=1ms" for "wait"; empty where it has none.
std::string launch_option(const std::string& launch_plan, const std::string& name);

// Whether a plan's text names no choice: it was made, and leaves everything as the program has it.
bool keeps_everything(const std::string& launch_plan);

// Whether steps follow their cores alike under both plans, apart from a factor: idle threads wait
// and BLAS pools follow in the same way. By the plans' texts.
bool scale_alike(const std::string& one, const std::string& other);

// Everything as the program has it, for one that is to be left alone.
LaunchPlan launch_plan_left_alone();

}  // namespace optile::perfmodel
