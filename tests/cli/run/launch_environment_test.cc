#include "bindings/cli/run/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace optile::cli {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kSource = "OPTILE_DEFAULT_WIDTH_SOURCE";

LaunchDecision decided() {
  LaunchDecision decision;
  decision.shim = "/opt/lib/liboptile_preload.so";
  decision.bridge_dir = "/opt/lib";
  decision.itt_collector = "/opt/lib/liboptile_itt.so";
  decision.libomp = "/usr/lib/libomp.so.5";
  decision.socket = "/run/optile/optiled.sock";
  decision.run_id = "abc-1";
  decision.budget_cores = 6;
  decision.plan.text = "openmp=llvm wait=1ms blas=follow";
  decision.plan.preload_libomp = true;
  decision.plan.blas_follows = true;
  decision.plan.environment = {{"KMP_BLOCKTIME", "1"}};
  return decision;
}

Variables made(const Options& options, const Variables& now) {
  return launch_environment(options, decided(), now);
}

Options in_mode(const std::string& mode) {
  Options options;
  options.run.mode = mode;
  return options;
}

TEST(LaunchEnvironment, PassesAllSettingsToShim) {
  Options options;
  options.run.search = "paper";
  options.run.strategy = "2";
  const Variables set = made(options, {});
  EXPECT_THAT(set, Contains(Pair("OPTILE_SOCKET", "/run/optile/optiled.sock")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_RUN_ID", "abc-1")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_BRIDGE_DIR", "/opt/lib")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_MODE", "tune")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_SEARCH", "paper")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_STRATEGY", "2")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_RESPECT", "cap")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_COUNTERS", "auto")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_BLAS", "auto")));
  EXPECT_THAT(set, Contains(Pair("OPTILE_LAUNCH_PLAN", "openmp=llvm wait=1ms blas=follow")));
  EXPECT_THAT(set, Contains(Pair("KMP_BLOCKTIME", "1")));
  EXPECT_THAT(set, Not(Contains(Key("OPTILE_BASELINE"))));
}

TEST(LaunchEnvironment, SetsShareOnlyWhenGiven) {
  EXPECT_THAT(made({}, {}), Not(Contains(Key("OPTILE_SHARE"))));
  EXPECT_EQ(made({}, {}).at("OPTILE_PRIORITY"), "normal");
  Options options;
  options.run.share = "2.5";
  options.run.priority = "batch";
  EXPECT_EQ(made(options, {}).at("OPTILE_SHARE"), "2.5");
  EXPECT_EQ(made(options, {}).at("OPTILE_PRIORITY"), "batch");
}

TEST(LaunchEnvironment, KeepsBlasPoolUnlessPlanned) {
  LaunchDecision decision = decided();
  decision.plan.blas_follows = false;
  EXPECT_EQ(launch_environment({}, decision, {}).at("OPTILE_BLAS"), "keep");
}

TEST(LaunchEnvironment, KeepsThreadVariablesOfUser) {
  const Variables now = {{"KMP_BLOCKTIME", "200"}, {"OMP_NUM_THREADS", "2"}};
  const Variables set = made({}, now);
  EXPECT_THAT(set, Not(Contains(Key("KMP_BLOCKTIME"))));
  EXPECT_THAT(set, Not(Contains(Key("OMP_NUM_THREADS"))));
  EXPECT_EQ(set.at("OPTILE_DEFAULT_WIDTH_SOURCE"), "environment");
}

TEST(LaunchEnvironment, SetsIttCollectorForOneDnn) {
  for (const char* mode : {"tune", "observe", "advise", "freeze"}) {
    const Variables set = made(in_mode(mode), {});
    EXPECT_EQ(set.at("INTEL_LIBITTNOTIFY64"), "/opt/lib/liboptile_itt.so");
    EXPECT_EQ(set.at("DNNL_ITT_TASK_LEVEL"), "1");
  }
  LaunchDecision decision = decided();
  decision.itt_collector.clear();
  EXPECT_THAT(launch_environment({}, decision, {}), Not(Contains(Key("DNNL_ITT_TASK_LEVEL"))));
  decision = decided();
  decision.shim.clear();
  EXPECT_THAT(launch_environment({}, decision, {}), testing::IsEmpty());
}

TEST(LaunchEnvironment, KeepsIttVariablesOfUser) {
  for (const Variables& now : std::vector<Variables>{{{"INTEL_LIBITTNOTIFY64", "/vtune/lib.so"}},
                                                     {{"INTEL_LIBITTNOTIFY64", ""}},
                                                     {{"INTEL_LIBITTNOTIFY32", "/vtune/lib.so"}},
                                                     {{"INTEL_ITTNOTIFY_GROUPS", "all"}},
                                                     {{"DNNL_ITT_TASK_LEVEL", "0"}},
                                                     {{"ONEDNN_ITT_TASK_LEVEL", "2"}}}) {
    const Variables set = made({}, now);
    EXPECT_THAT(set, Not(Contains(Key("INTEL_LIBITTNOTIFY64")))) << now.begin()->first;
    EXPECT_THAT(set, Not(Contains(Key("DNNL_ITT_TASK_LEVEL")))) << now.begin()->first;
  }
}

TEST(IgnoredVariables, ContainOnlyThreadCounts) {
  const Variables now = {{"OMP_NUM_THREADS", "2"},      {"OPENBLAS_NUM_THREADS", "2"},
                         {"GOTO_NUM_THREADS", "2"},     {"BLIS_NUM_THREADS", "2"},
                         {"MKL_NUM_THREADS", "2"},      {"OMP_PROC_BIND", "close"},
                         {"OMP_WAIT_POLICY", "active"}, {"HOME", "/h"},
                         {"OMP_THREAD_LIMIT", "3"}};
  Options options;
  options.verb = Verb::kRun;
  for (const char* respect : {"cap", "exact"}) {
    options.run.respect = respect;
    EXPECT_THAT(ignored_variables(options, now), testing::IsEmpty()) << respect;
  }
  options.run.respect = "ignore";
  EXPECT_THAT(ignored_variables(options, now),
              UnorderedElementsAre("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS",
                                   "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT"));
  EXPECT_THAT(ignored_variables(options, {}), testing::IsEmpty());
  for (const char* mode : {"observe", "advise"}) {
    options.run.mode = mode;
    EXPECT_THAT(ignored_variables(options, now), testing::IsEmpty()) << mode;
  }
}

TEST(LaunchEnvironment, SetsDynamicInductorThreadsForWheels) {
  constexpr const char* kName = "TORCHINDUCTOR_CPP_DYNAMIC_THREADS";
  LaunchDecision decision = decided();
  EXPECT_THAT(launch_environment({}, decision, {}), Not(Contains(Key(kName))));
  decision.torch_wheel = true;
  EXPECT_EQ(launch_environment({}, decision, {}).at(kName), "1");
  EXPECT_THAT(launch_environment({}, decision, {{kName, "0"}}), Not(Contains(Key(kName))));
  EXPECT_THAT(launch_environment(in_mode("observe"), decision, {}), Not(Contains(Key(kName))));
  decision.baseline = true;
  EXPECT_THAT(launch_environment({}, decision, {}), Not(Contains(Key(kName))));
}

TEST(LaunchEnvironment, AsUntunedNumericsSetNoWidth) {
  Options options;
  options.run.numerics = "as-untuned";
  LaunchDecision decision = decided();
  decision.torch_wheel = true;
  decision.width = 3;
  Variables set = launch_environment(options, decision, {});
  EXPECT_EQ(set.at("OPTILE_NUMERICS"), "as-untuned");
  for (const char* name :
       {"OMP_NUM_THREADS", "TORCHINDUCTOR_CPP_DYNAMIC_THREADS", "OPTILE_DEFAULT_WIDTH_SOURCE"}) {
    EXPECT_THAT(set, Not(Contains(Key(name))));
  }
  set = launch_environment(options, decision, {{"OMP_NUM_THREADS", "5"}});
  EXPECT_EQ(set.at("OPTILE_DEFAULT_WIDTH_SOURCE"), "environment");
  EXPECT_EQ(launch_environment({}, decision, {}).at("OPTILE_NUMERICS"), "any");
}

TEST(IgnoredVariables, ContainWidthOfOuterLauncher) {
  const auto both = UnorderedElementsAre("OMP_NUM_THREADS", kSource);
  for (const char* mode : {"tune", "observe"}) {
    for (const char* source : {"exported:64", "exported:64/2@node7"}) {
      EXPECT_THAT(ignored_variables(in_mode(mode), {{"OMP_NUM_THREADS", "64"}, {kSource, source}}),
                  both);
      EXPECT_THAT(ignored_variables(in_mode(mode), {{kSource, source}}), both);
    }
  }
  for (const char* said : {"4", "6"}) {
    EXPECT_THAT(
        ignored_variables(in_mode("tune"), {{"OMP_NUM_THREADS", said}, {kSource, "launcher:6"}}),
        testing::IsEmpty());
  }
  EXPECT_THAT(ignored_variables(in_mode("tune"), {{"OMP_NUM_THREADS", "64"}}), testing::IsEmpty());
}

TEST(LaunchEnvironment, PassesTorchBridgeOption) {
  Options options;
  EXPECT_EQ(made(options, {}).at("OPTILE_TORCH_BRIDGE"), "auto");
  options.run.torch_bridge = "off";
  EXPECT_EQ(made(options, {}).at("OPTILE_TORCH_BRIDGE"), "off");
}

TEST(LaunchEnvironment, KeepsEmptyThreadCount) {
  const Variables set = made({}, {{"OMP_NUM_THREADS", ""}});
  EXPECT_THAT(set, Not(Contains(Key("OMP_NUM_THREADS"))));
}

TEST(LaunchEnvironment, PassesBudgetWithoutUserWidth) {
  for (const char* mode : {"tune", "freeze"}) {
    const Variables set = made(in_mode(mode), {});
    EXPECT_THAT(set, Not(Contains(Key("OMP_NUM_THREADS")))) << mode << ": launchers decide by it";
    EXPECT_EQ(set.at(kSource), "launcher:6") << mode;
  }
}

TEST(LaunchEnvironment, WidthSourceNamesHostAndRanks) {
  LaunchDecision decision = decided();
  decision.host = "node7";
  EXPECT_EQ(launch_environment({}, decision, {}).at(kSource), "launcher:6@node7");
  const Variables rank = {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  EXPECT_EQ(launch_environment({}, decision, rank).at(kSource), "launcher:6/4@node7");
}

TEST(LaunchEnvironment, SetsNoWidthWhenThreadsAreBound) {
  const Variables set = made(in_mode("tune"), {{"OMP_PROC_BIND", "spread"}});
  EXPECT_THAT(set, Not(Contains(Key("OMP_NUM_THREADS"))));
  EXPECT_THAT(set, Not(Contains(Key("OPTILE_DEFAULT_WIDTH_SOURCE"))));
  EXPECT_EQ(made(in_mode("tune"), {{"OMP_PROC_BIND", "false"}}).at(kSource), "launcher:6");
}

TEST(LaunchEnvironment, CapsWidthAtThreadLimit) {
  EXPECT_EQ(made({}, {{"OMP_THREAD_LIMIT", "2"}}).at(kSource), "launcher:2");
  for (const char* no_bound : {"64", "0", "-1", "x", ""}) {
    EXPECT_EQ(made({}, {{"OMP_THREAD_LIMIT", no_bound}}).at(kSource), "launcher:6") << no_bound;
  }
  LaunchDecision beside_others = decided();
  beside_others.width = 3;
  EXPECT_EQ(launch_environment({}, beside_others, {{"OMP_THREAD_LIMIT", "5"}}).at(kSource),
            "launcher:3");
}

// A script between the two says its own number.
TEST(LaunchEnvironment, ChangedThreadCountBelongsToUser) {
  const Variables now = {{"OMP_NUM_THREADS", "4"}, {"OPTILE_DEFAULT_WIDTH_SOURCE", "launcher:6"}};
  const Variables set = made(in_mode("tune"), now);
  EXPECT_THAT(set, Not(Contains(Key("OMP_NUM_THREADS"))));
  EXPECT_THAT(set, Contains(Pair("OPTILE_DEFAULT_WIDTH_SOURCE", "environment")));
}

TEST(LaunchEnvironment, ObserveAndAdviseSetNoWidth) {
  for (const char* mode : {"observe", "advise"}) {
    const Variables set = made(in_mode(mode), {});
    EXPECT_THAT(set, Not(Contains(Key("OMP_NUM_THREADS")))) << mode;
    EXPECT_THAT(set, Not(Contains(Key("OPTILE_DEFAULT_WIDTH_SOURCE")))) << mode;
    EXPECT_EQ(set.at("OPTILE_MODE"), mode);
  }
}

TEST(LaunchEnvironment, SocketSourceNamesUserOrLauncher) {
  LaunchDecision decision = decided();
  EXPECT_EQ(launch_environment({}, decision, {}).at("OPTILE_SOCKET_SOURCE"), "launcher");
  decision.socket_is_named = true;
  EXPECT_EQ(launch_environment({}, decision, {}).at("OPTILE_SOCKET_SOURCE"), "user");
}

TEST(LaunchEnvironment, SetsJobOnlyWhenGiven) {
  EXPECT_THAT(made({}, {}), Not(Contains(Key("OPTILE_JOB"))));
  Options options;
  options.run.job = "mine";
  EXPECT_EQ(made(options, {}).at("OPTILE_JOB"), "mine");
}

TEST(LaunchEnvironment, BaselineRunIsOnlyObserved) {
  LaunchDecision decision = decided();
  decision.baseline = true;
  decision.plan = {};
  const Variables set = launch_environment({}, decision, {{"LD_PRELOAD", "mine.so"}});
  EXPECT_THAT(set, UnorderedElementsAre(
                       Pair("LD_PRELOAD", "/opt/lib/liboptile_preload.so:mine.so"),
                       Pair("OPTILE_SOCKET", "/run/optile/optiled.sock"),
                       Pair("OPTILE_SOCKET_SOURCE", "launcher"), Pair("OPTILE_RUN_ID", "abc-1"),
                       Pair("INTEL_LIBITTNOTIFY64", "/opt/lib/liboptile_itt.so"),
                       Pair("DNNL_ITT_TASK_LEVEL", "1"), Pair("OPTILE_BRIDGE_DIR", "/opt/lib"),
                       Pair("OPTILE_MODE", "observe"), Pair("OPTILE_BASELINE", "1"),
                       Pair("OPTILE_BLAS", "keep"), Pair("OPTILE_LAUNCH_PLAN", ""),
                       Pair("OPTILE_TORCH_BRIDGE", "auto"), Pair("OPTILE_PRELOADED_OPENMP", "")));
}

TEST(LaunchEnvironment, PreloadsShimThenLibompThenUserLibraries) {
  EXPECT_EQ(made({}, {{"LD_PRELOAD", "libuser.so:/x/liby.so"}}).at("LD_PRELOAD"),
            "/opt/lib/liboptile_preload.so:/usr/lib/libomp.so.5:libuser.so:/x/liby.so");
  EXPECT_EQ(made({}, {}).at("LD_PRELOAD"), "/opt/lib/liboptile_preload.so:/usr/lib/libomp.so.5");
  // So that the shim knows which one is not the user's.
  EXPECT_EQ(made({}, {}).at("OPTILE_PRELOADED_OPENMP"), "/usr/lib/libomp.so.5");
  LaunchDecision kept = decided();
  kept.plan.preload_libomp = false;
  EXPECT_EQ(launch_environment({}, kept, {{"LD_PRELOAD", ""}}).at("LD_PRELOAD"),
            "/opt/lib/liboptile_preload.so");
  EXPECT_EQ(launch_environment({}, kept, {}).at("OPTILE_PRELOADED_OPENMP"), "");
}

TEST(LaunchEnvironment, IsEmptyWithoutShim) {
  LaunchDecision decision = decided();
  decision.shim = "";
  EXPECT_TRUE(launch_environment({}, decision, {}).empty());
}

TEST(UserVariables, ContainOnlyThreadSettings) {
  const Variables now = {{"OMP_NUM_THREADS", "2"},  {"GOMP_SPINCOUNT", "1"},
                         {"KMP_AFFINITY", "none"},  {"OPENBLAS_NUM_THREADS", "3"},
                         {"GOTO_NUM_THREADS", "3"}, {"MKL_NUM_THREADS", "4"},
                         {"BLIS_NUM_THREADS", "4"}, {"HOME", "/h"},
                         {"MY_OMP_THING", "x"},     {"LD_PRELOAD", "libuser.so"}};
  EXPECT_THAT(
      thread_limits(now),
      UnorderedElementsAre(Key("OMP_NUM_THREADS"), Key("GOMP_SPINCOUNT"), Key("KMP_AFFINITY"),
                           Key("OPENBLAS_NUM_THREADS"), Key("GOTO_NUM_THREADS"),
                           Key("MKL_NUM_THREADS"), Key("BLIS_NUM_THREADS")));
}

TEST(MallocVariables, AreRecognisedAmongOtherVariables) {
  for (const Variables& now : std::vector<Variables>{
           {{"MALLOC_ARENA_MAX", "2"}, {"A", ""}, {"Z", ""}},
           {{"GLIBC_TUNABLES", "glibc.pthread.rseq=0:glibc.malloc.tcache_count=0"}},
           {{"LD_PRELOAD", "/usr/lib/libjemalloc.so.2"}}}) {
    EXPECT_TRUE(sets_up_malloc(now)) << now.begin()->first;
  }
  EXPECT_FALSE(sets_up_malloc({{"GLIBC_TUNABLES", "glibc.pthread.rseq=0"},
                               {"LD_PRELOAD", "libuser.so"},
                               {"MY_MALLOC_THING", "x"}}));
}

}  // namespace
}  // namespace optile::cli
