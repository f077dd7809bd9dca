// optiled: reads its command line, gets out of the way of whoever started it, serves.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "daemon/config.h"
#include "daemon/daemon.h"
#include "daemon/metrics/metric_catalogue.h"
#include "optile_version.h"

namespace {

using optile::daemon::Config;
using optile::daemon::Daemon;
using optile::daemon::ExternalLoadPolicy;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitAlreadyRunning = 3;

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "optiled: %s\n", message.c_str());
  return code;
}

// Nothing of whoever started us stays open: a pipe held here would keep its reader waiting.
void close_inherited() {
#ifdef SYS_close_range
  syscall(SYS_close_range, 3U, ~0U, 0U);
#endif
}

void detach_standard_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  if (null > 2) close(null);
}

// Until the loop handles them: a signal that comes while the sockets are made must not leave them
// behind.
void hold_signals() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGINT);
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

// Each client takes a few; what the hard limit allows is there to be used.
void take_all_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

int serve(const Config& given) {
  const optile::base::Result<Config> config = optile::daemon::complete(given);
  if (!config.ok()) return complain(config.message(), kExitUsage);
  if (const std::string system = optile::daemon::taken_over_by(config.value()); !system.empty()) {
    return complain("the system daemon serves this machine at " + system +
                        "; for a daemon apart from it name a socket with --socket",
                    kExitAlreadyRunning);
  }
  optile::base::Result<std::unique_ptr<Daemon>> daemon = Daemon::start(config.value());
  if (!daemon.ok()) return complain(daemon.message(), kExitFailure);
  if (daemon.value() == nullptr) {
    return complain("another daemon already serves " + config.value().socket +
                        "; name another socket with --socket",
                    kExitAlreadyRunning);
  }
  if (!config.value().foreground) detach_standard_streams();
  if (chdir("/") != 0) return kExitFailure;
  daemon.value()->run();
  return 0;
}

void add_metrics(CLI::App& app, Config& config) {
  app.add_option("--metrics-listen", config.metrics.listen,
                 "Serve /metrics over TCP to this machine; port 0 = any free one")
      ->option_text("127.0.0.1:PORT");
  app.add_option("--metrics-discovery", config.metrics.discovery,
                 "Tell Prometheus the port in this file, as long as the daemon runs")
      ->option_text("FILE");
  app.add_option("--metrics-textfile", config.metrics.textfile,
                 "Write the metrics here too, for node_exporter's textfile collector")
      ->option_text("FILE.prom");
  app.add_flag("--metrics-programs", config.metrics.programs,
               "Name programs and ops there, for everybody to read; else they are without names");
}

void add_cluster(CLI::App& app, Config& config) {
  app.add_option("--cluster-etcd", config.cluster.endpoints,
                 "Join the cluster of this etcd: https://HOST:PORT or http://, several with commas")
      ->option_text("URL");
  app.add_option("--cluster-name", config.cluster.name, "Of this node; the machine's unless said")
      ->option_text("NAME");
  app.add_option("--cluster-address", config.cluster.address,
                 "By which other nodes reach this one; the machine's name unless said")
      ->option_text("ADDRESS");
  app.add_flag("!--cluster-no-probes", config.cluster.probes,
               "Measure no links to other nodes, and listen at no port of the address for theirs");
  app.add_option("--cluster-user-file", config.cluster.user_file,
                 "NAME:PASSWORD for etcd, in a file that nobody else may read")
      ->option_text("FILE");
  app.add_option("--cluster-cacert", config.cluster.tls.cacert,
                 "The CA of etcd's certificate, in PEM; those that the machine trusts unless said")
      ->option_text("FILE");
  app.add_option("--cluster-cert", config.cluster.tls.cert,
                 "Our certificate for etcd, in PEM, where etcd asks for one")
      ->option_text("FILE");
  app.add_option("--cluster-key", config.cluster.tls.key,
                 "The key of --cluster-cert, in a file that nobody else may read")
      ->option_text("FILE");
}

void add_log(CLI::App& app, Config& config) {
  app.add_option("--log", config.log, "Log file; by default beside the socket")
      ->option_text("FILE");
}

}  // namespace

int main(int argc, char** argv) {
  Config config;
  long idle_exit_seconds = 0;
  bool print_catalogue = false;
  CLI::App app("optiled: watches and tunes the programs that `optile run` starts");
  app.add_option("--socket", config.socket, "Unix socket of the API; attaching goes to PATH.attach")
      ->option_text("PATH");
  app.add_option("--store", config.store, "Where what was learned is kept; :memory: for nowhere")
      ->option_text("FILE");
  app.add_option("--idle-exit", idle_exit_seconds, "End after so long without clients; 0 = never")
      ->option_text("SECONDS")
      ->check(CLI::Range(0L, 31536000L));
  app.add_option("--external-load", config.external_load,
                 "yield: leave the cores to others that they keep busy (default); ignore: do not")
      ->option_text("yield|ignore")
      ->envname("OPTILE_EXTERNAL_LOAD")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ExternalLoadPolicy>{
          {"yield", ExternalLoadPolicy::kYield}, {"ignore", ExternalLoadPolicy::kIgnore}}));
  app.add_option("--max-clients", config.max_clients,
                 "Programs attached at once; four fifths of them of one user with --system")
      ->option_text("N")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--machine", config.machine,
                 "Plan for a described machine instead, as simulate takes it: for measurements")
      ->option_text("MACHINE");
  add_log(app, config);
  add_metrics(app, config);
  add_cluster(app, config);
  app.add_flag("--print-metric-catalogue", print_catalogue, "Print every metric as JSON and end");
  app.add_flag("--system", config.system,
               "Serve the programs of several users, in /run/optile and /var/lib/optile");
  app.add_option("--group", config.group, "With --system: who may use the sockets")
      ->option_text("GROUP");
  app.add_option("--admin-group", config.admin_group,
                 "With --system: who may look into and change everybody's programs, as root may")
      ->option_text("GROUP");
  app.add_flag("--foreground", config.foreground, "Log to the terminal too");
  app.set_version_flag("--version", "optiled " OPTILE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return complain(std::string(error.what()) + "; see optiled --help", kExitUsage);
  }
  if (print_catalogue) {
    std::puts(optile::daemon::metric_catalogue_json().c_str());
    return 0;
  }
  config.idle_exit = std::chrono::seconds(idle_exit_seconds);
  umask(077);
  hold_signals();
  take_all_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is one more disk that is full
  if (!config.foreground) close_inherited();
  try {
    return serve(config);
  } catch (const std::exception& error) {  // out of memory, or a library's surprise
    return complain(error.what(), kExitFailure);
  }
}
