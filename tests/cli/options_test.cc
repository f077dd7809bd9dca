#include "bindings/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>

#include "tests/cli/fixtures/golden.h"

namespace optile::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

Options parsed(const Words& words) {
  const auto result = parse_options(words);
  EXPECT_TRUE(result.ok()) << result.message();
  return result.ok() ? result.value().options : Options();
}

std::string refused(const Words& words) {
  const auto result = parse_options(words);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, base::ErrorKind::kInvalid);
  return result.ok() ? "" : result.message();
}

TEST(Options, RunHasDefaults) {
  const Options options = parsed({"run", "--", "train"});
  EXPECT_EQ(options.verb, Verb::kRun);
  EXPECT_EQ(options.run.mode, "tune");
  EXPECT_EQ(options.run.launch.openmp, "auto");
  EXPECT_EQ(options.run.launch.wait, "auto");
  EXPECT_EQ(options.run.launch.blas, "auto");
  EXPECT_EQ(options.run.launch.heap, "auto");
  EXPECT_EQ(options.run.respect, "cap");
  EXPECT_EQ(options.run.search, "auto");
  EXPECT_EQ(options.run.strategy, "auto");
  EXPECT_FALSE(options.run.summary);
  for (const std::string& text : {options.run.report, options.socket, options.store}) {
    EXPECT_EQ(text, "");
  }
  EXPECT_THAT(options.command, ElementsAre("train"));
}

TEST(Options, ParsesFlagsOfRun) {
  const Options options =
      parsed({"run",     "--mode",   "freeze",   "--openmp",  "llvm",       "--launch", "keep",
              "--blas",  "keep",     "--search", "paper",     "--strategy", "2",        "--socket",
              "s.sock",  "--report", "r.json",   "--summary", "--store",    "s.db",     "--",
              "python3", "train.py", "--epochs", "3"});
  EXPECT_EQ(options.run.mode, "freeze");
  EXPECT_FALSE(options.run.narrows()) << "the same widths in every run";
  EXPECT_EQ(options.run.launch.openmp, "llvm");
  EXPECT_EQ(options.run.launch.wait, "keep");
  EXPECT_EQ(options.run.launch.heap, "keep");
  EXPECT_EQ(options.run.launch.blas, "keep");
  EXPECT_EQ(options.run.search, "paper");
  EXPECT_EQ(options.run.strategy, "2");
  EXPECT_EQ(options.socket, "s.sock");
  EXPECT_EQ(options.run.report, "r.json");
  EXPECT_TRUE(options.run.summary);
  EXPECT_EQ(options.store, "s.db");
  EXPECT_THAT(options.command, ElementsAre("python3", "train.py", "--epochs", "3"));
}

TEST(Options, ParsesRespectLevels) {
  for (const char* word : {"cap", "exact", "ignore"}) {
    EXPECT_EQ(parsed({"run", "--respect", word, "--", "train"}).run.respect, word);
  }
  EXPECT_THAT(refused({"run", "--respect", "most", "--", "train"}), HasSubstr("--respect"));
}

TEST(Options, AsUntunedNumericsKeepOpenmpBlasAndHeap) {
  EXPECT_EQ(parsed({"run", "--", "train"}).run.numerics, "any");
  const Options options = parsed({"run", "--numerics", "as-untuned", "--", "train"});
  EXPECT_TRUE(options.run.as_untuned());
  EXPECT_FALSE(options.run.changes_nothing());
  EXPECT_FALSE(options.run.narrows()) << "it starts with the threads of an untouched run";
  EXPECT_EQ(options.run.launch.openmp, "keep");
  EXPECT_EQ(options.run.launch.blas, "keep");
  EXPECT_EQ(options.run.launch.heap, "keep") << "sums may follow where memory lies";
  EXPECT_EQ(options.run.launch.wait, "auto") << "how threads wait changes no result";
  EXPECT_THAT(refused({"run", "--numerics", "same", "--", "train"}), HasSubstr("--numerics"));
}

TEST(Options, AsUntunedNumericsRejectContradictingFlags) {
  for (const Words& words :
       {Words{"--openmp", "llvm"}, Words{"--respect", "ignore"}, Words{"--regions", "tune"}}) {
    Words all = {"run", "--numerics", "as-untuned"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--", "train"});
    EXPECT_THAT(refused(all), HasSubstr(words.front() + " " + words.back() + " contradict"));
  }
  for (const Words& words :
       {Words{"--openmp", "keep"}, Words{"--respect", "exact"}, Words{"--regions", "observe"}}) {
    Words all = {"run", "--numerics", "as-untuned"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--", "train"});
    EXPECT_TRUE(parse_options(all).ok()) << words.back();
  }
}

TEST(Options, ParsesFlagsOfBaseline) {
  const Options options = parsed(
      {"baseline", "--socket", "s", "--report", "r", "--summary", "--store", "d", "--", "train"});
  EXPECT_EQ(options.verb, Verb::kBaseline);
  EXPECT_EQ(options.socket, "s");
  EXPECT_EQ(options.run.report, "r");
  EXPECT_TRUE(options.run.summary);
  EXPECT_EQ(options.store, "d");
}

TEST(Options, BaselineRejectsTuningFlags) {
  for (const char* flag : {"--mode", "--launch", "--openmp", "--blas", "--search", "--strategy",
                           "--counters", "--respect", "--numerics"}) {
    EXPECT_THAT(refused({"baseline", flag, "keep", "--", "train"}), HasSubstr(flag));
  }
}

TEST(Options, ParsesQueries) {
  EXPECT_EQ(parsed({"status"}).verb, Verb::kStatus);
  EXPECT_EQ(parsed({"machine"}).verb, Verb::kMachine);
  EXPECT_EQ(parsed({"metrics", "--socket", "s"}).verb, Verb::kMetrics);
  EXPECT_EQ(parsed({"stop", "--socket", "s"}).verb, Verb::kStop);
  const Options ops = parsed({"ops", "--json", "--client", "7", "--socket", "s"});
  EXPECT_EQ(ops.verb, Verb::kOps);
  EXPECT_TRUE(ops.json);
  EXPECT_EQ(ops.query.client, "7");
  EXPECT_EQ(ops.socket, "s");
  const Options explain = parsed({"explain", "aten::addmm", "--client", "7"});
  EXPECT_EQ(explain.verb, Verb::kExplain);
  EXPECT_EQ(explain.query.op, "aten::addmm");
  EXPECT_FALSE(explain.json);
}

struct Choice {
  const char* flag;
  Words words;
};

TEST(Options, AcceptsOnlyListedChoices) {
  const std::vector<Choice> choices = {{"--mode", {"observe", "advise", "tune", "freeze", "off"}},
                                       {"--openmp", {"auto", "keep", "llvm"}},
                                       {"--launch", {"auto", "keep"}},
                                       {"--blas", {"auto", "keep"}},
                                       {"--search", {"paper", "auto"}},
                                       {"--strategy", {"1", "2", "uniform", "auto"}},
                                       {"--counters", {"auto", "software", "off"}},
                                       {"--priority", {"normal", "batch"}}};
  for (const Choice& choice : choices) {
    for (const std::string& word : choice.words) {
      EXPECT_TRUE(parse_options({"run", choice.flag, word, "--", "x"}).ok()) << word;
    }
    for (const char* wrong : {"nan", "faster", "", "TUNE"}) {
      const std::string message = refused({"run", choice.flag, wrong, "--", "x"});
      EXPECT_THAT(message, HasSubstr(choice.flag));
      EXPECT_THAT(message, HasSubstr(choice.words.front())) << "what can be chosen is said";
    }
    EXPECT_THAT(refused({"run", choice.flag}), HasSubstr(choice.flag));
  }
}

TEST(Options, ObserveAndAdviseKeepLaunchSettings) {
  for (const char* mode : {"observe", "advise"}) {
    const Options options = parsed({"run", "--mode", mode, "--", "x"});
    EXPECT_TRUE(options.run.changes_nothing());
    EXPECT_EQ(options.run.launch.openmp, "keep");
    EXPECT_EQ(options.run.launch.wait, "keep");
    EXPECT_EQ(options.run.launch.blas, "keep");
    EXPECT_EQ(options.run.launch.heap, "keep");
    // What somebody asked for by name is theirs.
    const Options asked = parsed({"run", "--mode", mode, "--openmp", "llvm", "--", "x"});
    EXPECT_EQ(asked.run.launch.openmp, "llvm");
    EXPECT_EQ(asked.run.launch.wait, "keep");
  }
  for (const char* mode : {"tune", "freeze"}) {
    const Options options = parsed({"run", "--mode", mode, "--", "x"});
    EXPECT_FALSE(options.run.changes_nothing());
    EXPECT_EQ(options.run.launch.openmp, "auto");
    EXPECT_EQ(options.run.launch.wait, "auto");
    EXPECT_EQ(options.run.launch.blas, "auto");
    EXPECT_EQ(options.run.launch.heap, "auto");
  }
}

TEST(Options, LaunchKeepLeavesEverythingAsItWas) {
  const Options options = parsed({"run", "--launch", "keep", "--", "x"});
  EXPECT_FALSE(options.run.changes_nothing()) << "widths are tuned";
  for (const std::string& choice : {options.run.launch.openmp, options.run.launch.wait,
                                    options.run.launch.blas, options.run.launch.heap}) {
    EXPECT_EQ(choice, "keep");
  }
  const Options asked = parsed({"run", "--launch", "keep", "--openmp", "llvm", "--", "x"});
  EXPECT_EQ(asked.run.launch.openmp, "llvm") << "it was asked for by name";
  EXPECT_EQ(asked.run.launch.blas, "keep");
}

TEST(Options, UndoParsesTargetAndRejectsConflicts) {
  const Options nothing = parsed({"undo"});
  EXPECT_EQ(nothing.verb, Verb::kUndo);
  EXPECT_FALSE(nothing.query.revoke);
  EXPECT_FALSE(nothing.query.names_what_to_undo());
  EXPECT_FALSE(parsed({"undo", "--revoke"}).query.names_what_to_undo());
  const Options all = parsed({"undo", "--all", "--revoke"});
  EXPECT_TRUE(all.query.all && all.query.revoke && all.query.names_what_to_undo());
  const Options some = parsed({"undo", "--client", "3", "--op", "aten::mm"});
  EXPECT_EQ(some.query.client, "3");
  EXPECT_EQ(some.query.op, "aten::mm");
  EXPECT_EQ(parsed({"undo", "--program", "x.py"}).query.program, "x.py");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--all", "--client", "3"},
                                                {"--client", "3", "--program", "x"},
                                                {"--all", "--op", "x"},
                                                {"--op", "x", "--revoke"},
                                                {"--program", ""},
                                                {"--client", ""}}) {
    std::vector<std::string> command = {"undo"};
    command.insert(command.end(), words.begin(), words.end());
    EXPECT_THAT(refused(command), testing::Not(testing::IsEmpty())) << words.front();
  }
}

TEST(Options, ParsesLeaseCommands) {
  EXPECT_EQ(parsed({"leases", "--json"}).verb, Verb::kLeases);
  const Options share = parsed({"share", "3", "2.5"});
  EXPECT_EQ(share.verb, Verb::kShare);
  EXPECT_EQ(share.query.client, "3");
  EXPECT_EQ(share.query.share, "2.5");
  const Options pin = parsed({"pin", "3", "0-1,3"});
  EXPECT_EQ(pin.verb, Verb::kPin);
  EXPECT_EQ(pin.query.cores, "0-1,3");
  EXPECT_EQ(parsed({"unpin", "3"}).verb, Verb::kUnpin);
  EXPECT_EQ(parsed({"pause", "3"}).verb, Verb::kPause);
  EXPECT_EQ(parsed({"resume", "3"}).verb, Verb::kResume);
  EXPECT_EQ(parsed({"detach", "3"}).verb, Verb::kDetach);
  EXPECT_EQ(parsed({"attach", "3"}).verb, Verb::kAttach);
  for (const char* word : {"share", "pin", "unpin", "pause", "resume", "detach", "attach"}) {
    EXPECT_THAT(refused({word}), HasSubstr("ID")) << word;
    EXPECT_THAT(refused({word, ""}), HasSubstr("ID")) << word;
  }
  EXPECT_THAT(refused({"share", "3"}), HasSubstr("N"));
  EXPECT_THAT(refused({"share", "3", "0"}), HasSubstr("1000"));
  EXPECT_THAT(refused({"pin", "3"}), HasSubstr("CORES"));
}

TEST(Options, ShareMustBeWithinLimits) {
  EXPECT_EQ(parsed({"run", "--", "x"}).run.share, "");
  EXPECT_EQ(parsed({"run", "--share", "2", "--priority", "batch", "--", "x"}).run.share, "2");
  for (const char* wrong : {"nan", "much", "-1", "0", "2000"}) {
    EXPECT_THAT(refused({"run", "--share", wrong, "--", "x"}), HasSubstr("--share"));
  }
}

TEST(Options, FlagsAfterSeparatorBelongToProgram) {
  // Flags behind the separator look like ours and are not.
  EXPECT_THAT(parsed({"run", "--", "x", "--mode", "off", "--help"}).command,
              ElementsAre("x", "--mode", "off", "--help"));
  EXPECT_EQ(parsed({"run", "--", "x", "--mode", "off"}).run.mode, "tune");
  // So does a second separator.
  EXPECT_THAT(parsed({"run", "--", "git", "log", "--", "file"}).command,
              ElementsAre("git", "log", "--", "file"));
  EXPECT_THAT(parsed({"run", "--", "--odd-name"}).command, ElementsAre("--odd-name"));
}

TEST(Options, FirstArgumentIsProgramWithoutSeparator) {
  const Options options = parsed({"run", "--mode", "observe", "train", "--mode", "off", "-v"});
  EXPECT_EQ(options.run.mode, "observe");
  EXPECT_THAT(options.command, ElementsAre("train", "--mode", "off", "-v"));
  // A separator behind the program's name is the program's.
  EXPECT_THAT(parsed({"run", "git", "log", "--", "file"}).command,
              ElementsAre("git", "log", "--", "file"));
}

TEST(Options, RejectsInvalidCommandLines) {
  EXPECT_THAT(refused({}), HasSubstr("optile --help"));
  EXPECT_THAT(refused({"fly", "--", "x"}), HasSubstr("fly"));
  EXPECT_THAT(refused({"fly"}), HasSubstr("optile --help"));
  EXPECT_THAT(refused({"run"}), HasSubstr("no program"));
  EXPECT_THAT(refused({"run", "--"}), HasSubstr("no program"));
  EXPECT_THAT(refused({"baseline", "--summary"}), HasSubstr("optile baseline"));
  EXPECT_THAT(refused({"run", "--faster", "--", "x"}), HasSubstr("--faster"));
  EXPECT_THAT(refused({"status", "--faster"}), HasSubstr("--faster"));
  EXPECT_THAT(refused({"status", "--client", "1"}), HasSubstr("--client"));
  EXPECT_THAT(refused({"explain"}), HasSubstr("OP"));
  EXPECT_THAT(refused({"ops", "extra"}), HasSubstr("extra"));
  EXPECT_THAT(refused({"stop", "--json"}), HasSubstr("--json"));
}

TEST(Options, ClusterAndLaunchAreParsed) {
  const Options join = parsed({"cluster", "join", "--etcd", "http://a", "--name", "n"});
  EXPECT_EQ(join.verb, Verb::kClusterJoin);
  EXPECT_EQ(join.cluster.etcd, "http://a");
  EXPECT_EQ(join.cluster.name, "n");
  const Options secure = parsed({"cluster", "join", "--etcd", "https://a", "--cacert", "ca",
                                 "--cert", "own", "--key", "own.key"});
  EXPECT_EQ(secure.cluster.tls, (daemon::EtcdTlsFiles{"ca", "own", "own.key"}));
  EXPECT_EQ(parsed({"cluster", "leave"}).verb, Verb::kClusterLeave);
  EXPECT_THAT(refused({"cluster"}), HasSubstr("join, status, leave"));
  EXPECT_THAT(refused({"cluster", "join", "--name", "a/b"}), HasSubstr("at most 63"));
  const Options launch = parsed({"launch", "--nodes", "4", "--", "python3", "x.py", "--nodes"});
  EXPECT_EQ(launch.verb, Verb::kLaunchNodes);
  EXPECT_EQ(launch.launch.nodes, 4);
  EXPECT_EQ(launch.launch.least_nodes, 0);
  const LaunchOptions elastic = parsed({"launch", "--nodes", "2:4", "--grow", "--", "x"}).launch;
  EXPECT_EQ(elastic.least_nodes, 2);
  EXPECT_EQ(elastic.nodes, 4);
  EXPECT_TRUE(elastic.grows);
  for (const char* wrong : {"3:2", "0:2", "2:", ":2", "2:x", "1:101", "2:3:4"}) {
    EXPECT_THAT(refused({"launch", "--nodes", wrong, "--", "x"}), HasSubstr("MIN:MAX")) << wrong;
  }
  EXPECT_TRUE(launch.launch.torchrun);
  EXPECT_THAT(launch.command, ElementsAre("python3", "x.py", "--nodes"));
  EXPECT_EQ(launch.launch.max_restarts, 0);
  EXPECT_FALSE(parsed({"launch", "--nodes", "1", "--no-torchrun", "--", "x"}).launch.torchrun);
  EXPECT_THAT(
      refused({"launch", "--nodes", "1", "--no-torchrun", "--max-restarts", "1", "--", "x"}),
      HasSubstr("--no-torchrun"));
  EXPECT_EQ(parsed({"launch", "--etcd", "auto", "--", "x"}).launch.nodes, 0);
  EXPECT_THAT(refused({"launch", "--nodes", "0", "--", "x"}), HasSubstr("--nodes"));
  EXPECT_THAT(refused({"launch", "--nodes", "2"}), HasSubstr("no program to run"));
}

std::string help_of(const Words& words) {
  return parse_options(words).value().text;
}

TEST(Options, HelpMatchesGoldenFile) {
  Golden golden("help");
  golden.add("optile", help_of({"--help"}));
  for (const char* command :
       {"run",         "baseline", "status",  "ops",    "explain", "machine",  "undo",
        "leases",      "share",    "pin",     "unpin",  "pause",   "resume",   "detach",
        "attach",      "metrics",  "stop",    "doctor", "top",     "simulate", "place",
        "parallelism", "split",    "compare", "bridge", "launch"}) {
    golden.add(command, help_of({command, "--help"}));
  }
  for (const char* command : {"load", "latency", "step", "strategy", "network", "train"}) {
    golden.add(std::string("place ") + command, help_of({"place", command, "--help"}));
  }
  for (const char* command : {"join", "status", "leave"}) {
    golden.add(std::string("cluster ") + command, help_of({"cluster", command, "--help"}));
  }
  golden.add("compare step", help_of({"compare", "step", "--help"}));
  golden.check();
}

TEST(Options, HelpAndVersionPrintAndExitWithZero) {
  for (const Words& words :
       {Words{"--help"}, Words{"run", "--help"}, Words{"explain", "--help"}, Words{"--version"}}) {
    const auto result = parse_options(words);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result.value().exit_code, 0);
    EXPECT_THAT(result.value().text, HasSubstr("optile"));
  }
  EXPECT_EQ(parse_options({"status"}).value().exit_code, -1);
}

TEST(Options, TopIntervalDefaultsToOneSecond) {
  const Options plain = parsed({"top"});
  EXPECT_EQ(plain.verb, Verb::kTop);
  EXPECT_EQ(plain.top.interval_seconds, 1);
  EXPECT_FALSE(plain.top.once);
  const Options said = parsed({"top", "--interval", "2.5", "--once", "--socket", "s"});
  EXPECT_EQ(said.top.interval_seconds, 2.5);
  EXPECT_TRUE(said.top.once);
  EXPECT_EQ(said.socket, "s");
  for (const char* interval : {"0", "-1", "nan", "1e9", "x", ""}) {
    EXPECT_THAT(refused({"top", "--interval", interval}), HasSubstr("--interval")) << interval;
  }
}

TEST(Options, PlaceObjectiveIsItsSubcommand) {
  const PlaceOptions load =
      parsed({"place", "load", "--graph", "g.json", "--devices", "4", "--time-limit", "250ms"})
          .placing.place;
  EXPECT_EQ(load.objective, placement::Objective::kLoad);
  EXPECT_EQ(load.graph, "g.json");
  EXPECT_EQ(load.cluster.devices, 4);
  EXPECT_DOUBLE_EQ(load.search.seconds.value(), 0.25);
  EXPECT_EQ(load.method, placement::Method::kAuto);
  const PlaceOptions step =
      parsed({"place", "step", "--graph", "g", "--links", "bus", "--method", "ilp"}).placing.place;
  EXPECT_EQ(step.objective, placement::Objective::kStep);
  EXPECT_EQ(step.step.links, placement::StepLinks::kBus);
  EXPECT_EQ(step.method, placement::Method::kIlp);
  EXPECT_EQ(parsed({"place", "latency", "--graph", "g"}).placing.place.objective,
            placement::Objective::kLatency);
  EXPECT_EQ(parsed({"place", "load", "--graph", "g", "--from", "a"}).placing.place.moves, "5%");
  for (const Words& words :
       {Words{"place"}, Words{"place", "--graph", "g"}, Words{"place", "fly"}}) {
    EXPECT_THAT(refused(words), HasSubstr("load, latency, step, strategy, network, train"));
  }
}

TEST(Options, PlaceTakesOnlyOptionsOfItsObjective) {
  EXPECT_DOUBLE_EQ(parse_duration("2m"), 120);
  EXPECT_LT(parse_duration("5 parsecs"), 0);
  EXPECT_LT(parse_duration("-1s"), 0);
  const auto refused_load = [](Words words) {
    Words all = {"place", "load", "--graph", "g"};
    all.insert(all.end(), words.begin(), words.end());
    return refused(all);
  };
  EXPECT_THAT(refused({"place", "load"}), HasSubstr("--graph"));
  EXPECT_THAT(refused_load({"--links", "bus"}), HasSubstr("--links"));
  EXPECT_THAT(refused_load({"--trace", "f"}), HasSubstr("--trace"));
  EXPECT_THAT(refused_load({"--batch", "8"}), HasSubstr("--batch"));
  EXPECT_THAT(refused_load({"--save", "p"}), HasSubstr("--save"));
  EXPECT_THAT(refused_load({"--method", "ilp"}), HasSubstr("auto,single"));
  EXPECT_THAT(refused_load({"--time-limit", "soon"}), HasSubstr("such as 5s"));
  EXPECT_THAT(refused_load({"--memory", "nan"}), HasSubstr("above 0"));
  EXPECT_THAT(refused_load({"--moves", "3"}), HasSubstr("--from"));
  EXPECT_THAT(refused_load({"--from", "a", "--moves", "120%"}), HasSubstr("such as 5%"));
  EXPECT_THAT(refused({"place", "step", "--graph", "g", "--fine-tune"}), HasSubstr("--policy"));
}

TEST(Options, PlaceStrategyAndNetworkTakeTheirMethods) {
  const PlacingOptions strategy =
      parsed({"place", "strategy", "--graph", "g", "--method", "bound"}).placing;
  EXPECT_EQ(strategy.strategy.method, placement::StrategyMethod::kBound);
  EXPECT_THAT(refused({"place", "strategy", "--graph", "g", "--method", "magic"}),
              HasSubstr("auto,elimination,bound,optcnn"));
  EXPECT_THAT(refused({"place", "strategy", "--graph", "g", "--dot", "f"}), HasSubstr("--dot"));
  const NetworkOptions network =
      parsed({"place", "network", "--network", "vgg16", "--batch", "8"}).placing.network;
  EXPECT_EQ(network.network, "vgg16");
  EXPECT_EQ(network.batch, 8);
  EXPECT_EQ(network.devices, 4);
  for (const char* other : {"--graph", "--cpus"}) {
    EXPECT_THAT(refused({"place", "network", "--network", "vgg16", other, "1"}), HasSubstr(other));
  }
}

TEST(Options, PlaceTrainNeedsGraphsMethodAndFile) {
  const Words whole = {"place", "train", "--graphs", "DIR", "--save", "p.json", "--method", "rnn"};
  const TrainOptions train = parsed(whole).placing.train;
  EXPECT_EQ(train.graphs, "DIR");
  EXPECT_EQ(train.save, "p.json");
  EXPECT_EQ(train.method, placement::Method::kRnn);
  for (const char* option : {"--graphs", "--save", "--method"}) {
    Words words = whole;
    const auto at = std::find(words.begin(), words.end(), option);
    words.erase(at, at + 2);
    EXPECT_THAT(refused(words), HasSubstr(option));
  }
  EXPECT_THAT(refused({"place", "train", "--graphs", "D", "--save", "p", "--method", "metis"}),
              HasSubstr("placeto,gdp,hdp,rnn"));
}

TEST(Options, CompareListsMethodsWhenOneIsUnknown) {
  const CompareOptions compare =
      parsed({"compare", "step", "--graphs", "D", "--methods", "auto,ilp"}).placing.compare;
  EXPECT_EQ(compare.objective, placement::Objective::kStep);
  EXPECT_THAT(compare.methods, ElementsAre(placement::Method::kAuto, placement::Method::kIlp));
  for (const char* methods : {"auto,nosuch", ",auto", ",", "auto,ilp"}) {
    EXPECT_THAT(refused({"compare", "load", "--graphs", "D", "--methods", methods}),
                HasSubstr("there are auto, single, "))
        << methods;
  }
}

TEST(Options, MovesAreNumberOrPercentage) {
  EXPECT_EQ(parse_moves("5%", 1000), 50);
  EXPECT_EQ(parse_moves("0.25%", 1000), 2);
  EXPECT_EQ(parse_moves("7", 1000), 7);
  EXPECT_EQ(parse_moves("0", 1000), 0);
  for (const char* bad : {"", "%", "-1", "101%", "2.5", "5 %", "nan", "many", "1e300"}) {
    EXPECT_LT(parse_moves(bad, 1000), 0) << bad;
  }
}

}  // namespace
}  // namespace optile::cli
