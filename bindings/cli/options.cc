// With run_options.cc, cluster_options.cc and place/place_options.cc the files of the command line
// that know CLI11.
#include "bindings/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "bindings/cli/run/run_options.h"
#include "optile_version.h"

namespace optile::cli {
namespace {

void add_query(CLI::App* app, Options& options) {
  add_socket(app, options);
  app->add_flag("--json", options.json, "Print the daemon's JSON");
}

std::string check_name(const std::string& text) {
  return text.empty() ? "must not be empty" : "";
}

void add_client(CLI::App* app, Options& options) {
  app->add_option("--client", options.query.client,
                  "Only of this client: its number, or its program's name (see optile top)")
      ->check(check_name)
      ->type_name("ID");
}

void add_undo(CLI::App* app, Options& options) {
  add_query(app, options);
  app->add_flag("--all", options.query.all, "Every program and all later runs");
  app->add_option("--program", options.query.program,
                  "Only this program: its name as optile top or optile status prints it")
      ->check(check_name)
      ->type_name("NAME");
  app->add_option("--op", options.query.op,
                  "Only this op of running programs: its id, or how it begins")
      ->check(check_name)
      ->type_name("OP");
  app->add_flag("--revoke", options.query.revoke, "Let later runs be tuned again");
}

using Verbs = std::vector<std::pair<CLI::App*, Verb>>;

// What is asked about models, without a daemon.
Verbs add_placing(CLI::App& app, Options& options) {
  const PlaceCommands place = add_place(app, options.placing);
  Verbs verbs = {{place.strategy, Verb::kPlaceStrategy},
                 {place.network, Verb::kPlaceNetwork},
                 {place.train, Verb::kTrainPolicy},
                 {place.assistants, Verb::kAssistDevices},
                 {add_parallelism(app, options.parallelism), Verb::kParallelism},
                 {add_split(app, options.split), Verb::kSplit}};
  for (CLI::App* objective : place.objectives) verbs.emplace_back(objective, Verb::kPlace);
  for (CLI::App* objective : add_compare(app, options.placing.compare)) {
    verbs.emplace_back(objective, Verb::kCompare);
  }
  return verbs;
}

// `optile leases` and the commands about one client's.
Verbs add_leases(CLI::App& app, Options& options) {
  Verbs verbs = {
      {app.add_subcommand("leases", "Which cores each program has, and why"), Verb::kLeases},
      {app.add_subcommand("share", "Weigh a program's progress: optile share ID N"), Verb::kShare},
      {app.add_subcommand("pin", "Give a program exactly these cores: optile pin ID 0-3"),
       Verb::kPin},
      {app.add_subcommand("unpin", "Take a pin back"), Verb::kUnpin},
      {app.add_subcommand("pause", "Leave a program's cores as they are"), Verb::kPause},
      {app.add_subcommand("resume", "Take a pause back"), Verb::kResume},
      {app.add_subcommand("detach", "Put a program back onto all of its own cores"), Verb::kDetach},
      {app.add_subcommand("attach", "Take a detachment back"), Verb::kAttach}};
  for (const auto& [command, verb] : verbs) {
    add_query(command, options);
    if (verb == Verb::kLeases) continue;
    command
        ->add_option("ID", options.query.client,
                     "Number of the client, or its program's name; see optile leases")
        ->check(check_name)
        ->required();
    if (verb == Verb::kShare) add_share(command, "N", options.query.share)->required();
    if (verb == Verb::kPin) {
      command->add_option("CORES", options.query.cores, "Such as 0-3,6; see optile machine")
          ->required();
    }
  }
  return verbs;
}

void add_refreshing(CLI::App* top, TopOptions& options) {
  top->add_option("--interval", options.interval_seconds, "Seconds from one look to the next")
      ->check(from_to(0.1, 3600, "has to be from 0.1 to 3600 seconds"))
      ->type_name("SECONDS")
      ->capture_default_str();
  top->add_flag("--once", options.once, "Print one picture as plain text and end");
}

CLI::App* add_top(CLI::App& app, Options& options) {
  CLI::App* top =
      app.add_subcommand("top", "Cores, programs and leases as they change; ? shows the keys");
  add_socket(top, options);
  add_refreshing(top, options.top);
  return top;
}

CLI::App* add_doctor(CLI::App& app, Options& options) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "What this machine and a program allow: optile doctor [OPTIONS] [-- CMD]");
  add_socket(doctor, options);
  doctor->add_flag("--json", options.json, "Print the findings as JSON");
  doctor->prefix_command();
  return doctor;
}

// `optile bridge build` and `check`.
Verbs add_bridge(CLI::App& app, Options& options) {
  CLI::App* bridge =
      app.add_subcommand("bridge", "What lets optile see the ops of PyTorch that pip installed");
  bridge->require_subcommand(1);
  Verbs verbs = {
      {bridge->add_subcommand("build", "Build the bridge for a PyTorch and keep it in the cache"),
       Verb::kBridgeBuild},
      {bridge->add_subcommand("check", "Whether there is one, and if not, why"),
       Verb::kBridgeCheck}};
  for (const auto& [command, verb] : verbs) {
    CLI::Option* python = command->add_option("--python", options.bridge.python,
                                              "The Python whose PyTorch is meant; python3 unless "
                                              "said");
    python->type_name("PATH");
    command->add_option("--torch", options.bridge.torch, "The folder of that PyTorch")
        ->excludes(python)
        ->type_name("FOLDER");
    if (verb == Verb::kBridgeBuild) {
      command
          ->add_flag("--background", options.bridge.background,
                     "Only when nobody else wants the processor")
          ->group("");
    }
  }
  return verbs;
}

// `optile cluster` and its commands, and `optile launch`.
Verbs add_several_machines(CLI::App& app, Options& options) {
  const ClusterCommands cluster = add_cluster(app, options.cluster, options.plan);
  add_socket(cluster.join, options);
  for (CLI::App* query : {cluster.status, cluster.plan, cluster.explain, cluster.top}) {
    add_query(query, options);
  }
  add_refreshing(cluster.top, options.top);
  add_socket(cluster.leave, options);
  CLI::App* launch = add_launch(app, options.launch);
  add_socket(launch, options);
  return {{cluster.join, Verb::kClusterJoin},
          {cluster.status, Verb::kClusterStatus},
          {cluster.leave, Verb::kClusterLeave},
          {cluster.plan, Verb::kClusterPlan},
          {cluster.explain, Verb::kClusterExplain},
          {cluster.top, Verb::kClusterTop},
          {launch, Verb::kLaunchNodes}};
}

CLI::App* add_simulate(CLI::App& app, Options& options) {
  CLI::App* simulate = app.add_subcommand(
      "simulate", "A step on a described machine: optile simulate --graph GRAPH [OPTIONS]");
  simulate
      ->add_option("--machine", options.simulation.machine,
                   "knl, epyc-2x96, xeon-snc, grace-144, hybrid, host, an XML file of lstopo, "
                   "or a synthetic description of hwloc; host unless said")
      ->type_name("MACHINE");
  simulate
      ->add_option("--graph", options.simulation.graph,
                   "Name of a network, or a file with a step graph")
      ->type_name("GRAPH")
      ->required();
  simulate
      ->add_option("--strategy", options.simulation.strategy,
                   "Who decides; an unknown name lists them")
      ->type_name("NAME");
  simulate->add_flag("--json", options.json, "Print the result as JSON");
  simulate
      ->add_option("--trace", options.simulation.trace, "Write the step's timeline as Chrome JSON")
      ->type_name("FILE");
  simulate
      ->add_option("--noise", options.simulation.noise,
                   "Spread of an op's run times: sigma of their logarithm")
      ->check(from_to(0, 1, "has to be from 0 to 1"))
      ->capture_default_str()
      ->type_name("SIGMA");
  simulate->add_option("--seed", options.simulation.seed, "Of the noise")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->type_name("N");
  return simulate;
}

CLI::App* add_graph(CLI::App& app, Options& options) {
  CLI::App* graph = app.add_subcommand(
      "graph", "The graph of a run's step: optile graph RUN --model MODEL -o FILE");
  add_socket(graph, options);
  graph
      ->add_option("RUN", options.query.client,
                   "Number of the client, or its program's name; the latest unless said")
      ->check(check_name);
  graph
      ->add_option("--model", options.graph.model,
                   "The model with its ops, as optile.step_ops.save() writes it")
      ->type_name("MODEL")
      ->required();
  graph->add_option("-o,--output", options.graph.output, "The file to write")
      ->type_name("FILE")
      ->required();
  return graph;
}

const CLI::App* command_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* known : app.get_subcommands(nullptr)) {
    if (known->get_name() == name) return known;
  }
  return nullptr;
}

// The first words name what to do; CLI11 would only say that something is missing.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with("-")) return "";
  const CLI::App* command = command_of(app, words.front());
  if (command == nullptr) return "unknown command " + words.front() + kSeeHelp;
  const std::string second = words.size() > 1 ? words[1] : "";
  const bool has_commands = command->get_require_subcommand_min() > 0;
  if (!has_commands || second == "-h" || second == "--help") return "";
  if (command_of(*command, second) != nullptr) return "";
  std::string known;
  for (const CLI::App* one : command->get_subcommands(nullptr)) {
    known += (known.empty() ? "" : ", ") + one->get_name();
  }
  return words.front() + " needs one of " + known + "; see optile " + words.front() + " --help";
}

// True where there is something to do; else help or the version is in `parsed`.
base::Result<bool> parse_words(CLI::App& app, std::vector<std::string> words, Parsed& parsed) {
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
    return true;
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    if (app.exit(error, out, err) != 0) {
      return base::Error{base::ErrorKind::kInvalid, std::string(error.what()) + kSeeHelp};
    }
    parsed.exit_code = 0;
    parsed.text = out.str();
    return false;
  }
}

base::Status check_undo(const Options& options) {
  if (options.verb != Verb::kUndo) return {};
  const auto against = [](const char* what) {
    return base::Error{base::ErrorKind::kInvalid, std::string(what) + "; see optile undo --help"};
  };
  const auto named = static_cast<int>(options.query.all) +
                     static_cast<int>(!options.query.client.empty()) +
                     static_cast<int>(!options.query.program.empty());
  if (named > 1) return against("name one of --client, --program and --all");
  if (options.query.op.empty()) return {};
  if (options.query.all) return against("--all is every op already");
  return options.query.revoke ? against("an op cannot be revoked alone; name its program instead")
                              : base::Status();
}

}  // namespace

base::Result<Parsed> parse_options(const std::vector<std::string>& arguments) {
  Parsed parsed;
  Options& options = parsed.options;
  std::vector<std::string> words = arguments;
  options.command = split_command(words);
  const bool separated = words.size() < arguments.size();

  CLI::App app("optile: runs each operator of a program at the right width", "optile");
  app.set_version_flag("--version", std::string("optile ") + OPTILE_VERSION);
  app.require_subcommand(1);
  CLI::App* run = add_run(app, options);
  CLI::App* baseline = add_baseline(app, options);
  CLI::App* status = app.add_subcommand("status", "The daemon and the programs it tunes");
  CLI::App* ops = app.add_subcommand("ops", "The ops of a program: time, width, reason");
  CLI::App* explain = app.add_subcommand("explain", "Why an op runs at its width");
  CLI::App* machine = app.add_subcommand("machine", "Cores, tiles and what the kernel grants");
  CLI::App* undo = app.add_subcommand(
      "undo",
      "Back to programs' default widths, now and in later runs: --program, --client, --op, --all");
  const Verbs leases = add_leases(app, options);
  CLI::App* metrics =
      app.add_subcommand("metrics", "The daemon's metrics, as Prometheus reads them");
  CLI::App* stop =
      app.add_subcommand("stop", "End the daemon; programs run on with their last plan");
  CLI::App* doctor = add_doctor(app, options);
  CLI::App* top = add_top(app, options);
  CLI::App* simulate = add_simulate(app, options);
  CLI::App* graph = add_graph(app, options);
  const Verbs placing = add_placing(app, options);
  const Verbs bridging = add_bridge(app, options);
  const Verbs several = add_several_machines(app, options);
  for (CLI::App* query : {status, ops, explain, machine}) add_query(query, options);
  for (CLI::App* plain : {metrics, stop}) add_socket(plain, options);
  add_undo(undo, options);
  for (CLI::App* query : {ops, explain, undo}) add_client(query, options);
  explain->add_option("OP", options.query.op, "Id of an op, or how its name begins")->required();

  const std::string unknown = unknown_command(app, words);
  if (!unknown.empty()) return base::Error{base::ErrorKind::kInvalid, unknown};
  const base::Result<bool> goes_on = parse_words(app, words, parsed);
  if (!goes_on.ok()) return goes_on.error();
  if (!goes_on.value()) return parsed;
  if (const base::Status agree = check_numerics(options); !agree.ok()) return agree.error();
  take_launch_words(options);
  Verbs verbs = {
      {run, Verb::kRun},         {baseline, Verb::kBaseline}, {status, Verb::kStatus},
      {ops, Verb::kOps},         {explain, Verb::kExplain},   {machine, Verb::kMachine},
      {metrics, Verb::kMetrics}, {undo, Verb::kUndo},         {stop, Verb::kStop},
      {doctor, Verb::kDoctor},   {top, Verb::kTop},           {simulate, Verb::kSimulate},
      {graph, Verb::kGraph}};
  verbs.insert(verbs.end(), leases.begin(), leases.end());
  verbs.insert(verbs.end(), placing.begin(), placing.end());
  verbs.insert(verbs.end(), bridging.begin(), bridging.end());
  verbs.insert(verbs.end(), several.begin(), several.end());
  for (const auto& [app_of, verb] : verbs) {
    if (!app_of->parsed()) continue;
    options.verb = verb;
    const bool runs = verb == Verb::kRun || verb == Verb::kBaseline || verb == Verb::kLaunchNodes;
    if (!runs && verb != Verb::kDoctor) continue;
    const base::Status taken = take_command(*app_of, separated, runs, options.command);
    if (!taken.ok()) return taken.error();
  }
  if (const base::Status usable = check_undo(options); !usable.ok()) return usable.error();
  return parsed;
}

}  // namespace optile::cli
