#include "bindings/cli/cluster/cluster_options.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "bindings/cli/run/run_options.h"
#include "daemon/cluster/node_record.h"
#include "daemon/cluster/rank_claim.h"

namespace optile::cli {
namespace {

std::string check_cluster_name(const std::string& text) {
  return daemon::is_cluster_name(text)
             ? ""
             : "has to be letters, digits, '.', '_' and '-', at most 63 of them";
}

// N, or MIN:MAX.
std::string take_nodes(const std::string& text, LaunchOptions& options) {
  const std::size_t colon = text.find(':');
  const auto number = [](const std::string& word) {
    int value = 0;
    const char* end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? value : 0;
  };
  options.nodes = number(colon == std::string::npos ? text : text.substr(colon + 1));
  options.least_nodes = colon == std::string::npos ? 0 : number(text.substr(0, colon));
  const int least = colon == std::string::npos ? options.nodes : options.least_nodes;
  const bool good = least >= 1 && least <= options.nodes && options.nodes <= daemon::kMaxRanks;
  return good ? "" : "has to be N or MIN:MAX, of 1 to " + std::to_string(daemon::kMaxRanks);
}

// Alike for both: which etcd, and who we are there.
void add_etcd(CLI::App* app, std::string& etcd, std::string& user_file, daemon::EtcdTlsFiles& tls) {
  app->add_option("--etcd", etcd,
                  "Where etcd answers: https://HOST:PORT or http://, several with commas")
      ->envname("OPTILE_ETCD")
      ->type_name("URL");
  app->add_option("--user-file", user_file,
                  "NAME:PASSWORD for etcd, in a file that nobody else may read")
      ->type_name("FILE");
  app->add_option("--cacert", tls.cacert,
                  "The CA of etcd's certificate, in PEM; those that the machine trusts unless said")
      ->envname("OPTILE_ETCD_CACERT")
      ->type_name("FILE");
  app->add_option("--cert", tls.cert, "Our certificate for etcd, in PEM, where etcd asks for one")
      ->envname("OPTILE_ETCD_CERT")
      ->type_name("FILE");
  app->add_option("--key", tls.key, "The key of --cert, in a file that nobody else may read")
      ->envname("OPTILE_ETCD_KEY")
      ->type_name("FILE");
}

void add_address(CLI::App* app, std::string& address) {
  app->add_option("--address", address,
                  "By which other nodes reach this one; that towards etcd unless said")
      ->type_name("ADDRESS");
}

}  // namespace

ClusterCommands add_cluster(CLI::App& app, NodeOptions& options, PlanQuery& query) {
  CLI::App* cluster =
      app.add_subcommand("cluster", "Several machines: who is there, and what runs there how");
  cluster->require_subcommand(1);
  const ClusterCommands commands = {
      cluster->add_subcommand("join", "Make this machine's daemon a node of a cluster"),
      cluster->add_subcommand("status", "The nodes, the leader and etcd, as this node sees them"),
      cluster->add_subcommand("leave", "Take this machine's daemon out of the cluster"),
      cluster->add_subcommand("plan", "Jobs, and by which plan their ranks divide the work"),
      cluster->add_subcommand("explain", "Why a stage, or a rank, has its part of the work"),
      cluster->add_subcommand("top", "Nodes with their jobs as they change, and which is slow")};
  for (CLI::App* command : {commands.plan, commands.explain}) {
    command->add_option("--job", query.job, "Only of this job")
        ->check(check_cluster_name)
        ->type_name("JOB");
  }
  commands.explain->add_option("STAGE", query.stage, "Number of the stage or rank, or its node")
      ->required();
  add_etcd(commands.join, options.etcd, options.user_file, options.tls);
  commands.join->add_option("--name", options.name, "Of this node; the machine's unless said")
      ->check(check_cluster_name)
      ->type_name("NAME");
  add_address(commands.join, options.address);
  commands.join->add_flag("!--no-probes", options.probes,
                          "Measure no links to other nodes, and listen at no port for theirs");
  return commands;
}

CLI::App* add_launch(CLI::App& app, LaunchOptions& options) {
  CLI::App* launch = app.add_subcommand(
      "launch", "One rank of a program, typed on every node: optile launch --nodes N -- CMD");
  launch
      ->add_option_function<std::string>(
          "--nodes",
          [&options](const std::string& text) {
            const std::string wrong = take_nodes(text, options);
            if (!wrong.empty()) throw CLI::ValidationError("--nodes", wrong);
          },
          "How many nodes the program runs on, with --etcd auto all of the job of Slurm; with "
          "MIN:MAX it starts again on those that are left where one is lost")
      ->type_name("N|MIN:MAX");
  launch->add_flag("--grow", options.grows,
                   "With --nodes MIN:MAX, take in a node that comes later at once; otherwise it "
                   "waits until one is lost");
  add_etcd(launch, options.etcd, options.user_file, options.tls);
  launch
      ->add_option("--name", options.job,
                   "Of the job, the same on every node; the program's unless said")
      ->check(check_cluster_name)
      ->type_name("JOB");
  add_address(launch, options.address);
  launch->add_option("--wait", options.wait_seconds, "How long to wait for the other nodes")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str()
      ->type_name("SECONDS");
  CLI::Option* itself =
      launch->add_flag("!--no-torchrun", options.torchrun,
                       "Start a Python program itself, with RANK, WORLD_SIZE, MASTER_ADDR and "
                       "MASTER_PORT, and not by torch.distributed.run");
  launch
      ->add_option("--max-restarts", options.max_restarts,
                   "How often torchrun starts all ranks again where one is lost")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str()
      ->type_name("N")
      ->excludes(itself);
  launch->prefix_command();
  return launch;
}

}  // namespace optile::cli
