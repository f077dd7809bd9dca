// What starts a program is parsed by itself: the options of every other command are 20 times as
// many, and take longer to make than the program may be held up.
#include "bindings/cli/run/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace optile::cli {
namespace {

void add_outputs(CLI::App* app, Options& options) {
  add_socket(app, options);
  app->add_option("--report", options.run.report,
                  "Write what happened as JSON when the program ended")
      ->type_name("FILE");
  app->add_flag("--summary", options.run.summary,
                "Print a short table to stderr when the program ended");
  app->add_option("--store", options.store,
                  "Where a daemon that is started here keeps what it learns")
      ->type_name("FILE");
  app->add_option("--patience", options.patience_ms,
                  "Milliseconds that the program's start may wait for each answer of the daemon")
      ->envname("OPTILE_PATIENCE")
      ->check(from_to(1, 60000, "has to be from 1 to 60000 milliseconds"))
      ->capture_default_str()
      ->type_name("MS");
  app->prefix_command();
}

CLI::Option* choose(CLI::App* app, const char* name, std::string& value, const char* text,
                    const std::vector<std::string>& words) {
  return app->add_option(name, value, text)->check(CLI::IsMember(words))->capture_default_str();
}

void add_torch_bridge(CLI::App* app, Options& options) {
  choose(app, "--torch-bridge", options.run.torch_bridge,
         "Whether PyTorch's ops are seen, through a bridge that is built where it is missing",
         {"auto", "off"})
      ->envname("OPTILE_TORCH_BRIDGE");
}

constexpr std::size_t kMostObjectsText = 500;  // characters that the shim takes

std::string check_regions(const std::string& text) {
  if (text == "observe" || text == "tune") return "";
  if (!text.starts_with("tune:")) {
    return "has to be observe, tune, or tune: and file names of objects, such as tune:libfoo.so";
  }
  if (text.size() > kMostObjectsText) return "names more objects than can be handed on";
  // Each of the names between commas.
  std::istringstream names(text.substr(5) + ",");
  std::size_t count = 0;
  for (std::string name; std::getline(names, name, ','); ++count) {
    if (name.empty()) return "has an empty name where an object's file name has to be";
    if (name.find('/') != std::string::npos) {
      return "wants an object's file name without its folder, not " + name;
    }
  }
  return count == 0 ? "names no object" : "";
}

// `before`: what the options left over in front of the "--".
std::vector<std::string> whole_command(std::vector<std::string> before, bool separated,
                                       const std::vector<std::string>& behind) {
  if (!before.empty() && separated) before.emplace_back("--");
  before.insert(before.end(), behind.begin(), behind.end());
  return before;
}

}  // namespace

void add_socket(CLI::App* app, Options& options) {
  app->add_option("--socket", options.socket, "Unix socket of the daemon")->type_name("PATH");
}

// CLI::Range would let "nan" pass.
std::function<std::string(const std::string&)> from_to(double least, double most,
                                                       const char* what) {
  return [least, most, what](const std::string& text) -> std::string {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool good = !text.empty() && *end == '\0' && number >= least && number <= most;
    return good ? "" : what;
  };
}

CLI::Option* add_share(CLI::App* app, const char* name, std::string& share) {
  return app
      ->add_option(name, share, "Weight of its progress when cores are divided; 1 unless said")
      ->check(from_to(0.001, 1000, "has to be from 0.001 to 1000"))
      ->type_name("N");
}

CLI::App* add_run(CLI::App& app, Options& options) {
  CLI::App* run =
      app.add_subcommand("run", "Run a program and tune it: optile run [OPTIONS] -- CMD");
  choose(run, "--mode", options.run.mode, "How far optile may go",
         {"observe", "advise", "tune", "freeze", "off"});
  choose(
      run, "--launch", options.run.launch.overall,
      "Whether anything may be chosen before the start: the OpenMP runtime, how its idle threads "
      "wait, how many threads BLAS has, what malloc keeps",
      {"auto", "keep"});
  choose(run, "--openmp", options.run.launch.openmp,
         "OpenMP runtime: keep the program's, or LLVM's", {"auto", "keep", "llvm"});
  choose(run, "--blas", options.run.launch.blas,
         "Whether the BLAS pool follows the width of its op", {"auto", "keep"});
  add_torch_bridge(run, options);
  choose(run, "--respect", options.run.respect,
         "How far numbers of threads that you set bind: cap = never wider, exact = no other, "
         "ignore = as if not set",
         {"cap", "exact", "ignore"});
  choose(run, "--numerics", options.run.numerics,
         "Whether results may differ in their last bits from those of an untouched run",
         {"any", "as-untuned"});
  choose(run, "--search", options.run.search, "How widths are searched", {"paper", "auto"});
  choose(run, "--strategy", options.run.strategy, "How widths are chosen from what was measured",
         {"1", "2", "3", "4", "look-ahead", "uniform", "auto"});
  run->add_option("--regions", options.run.regions,
                  "Whether OpenMP regions of the program's own get widths: observe, tune, or "
                  "tune:OBJECT,… for those of objects that you name")
      ->check(check_regions)
      ->capture_default_str()
      ->type_name("CHOICE");
  choose(run, "--counters", options.run.counters, "Which counters are read while profiling",
         {"auto", "software", "off"});
  add_share(run, "--share", options.run.share);
  choose(run, "--priority", options.run.priority, "Whether cores go to this program before others",
         {"normal", "batch"});
  run->add_option("--job", options.run.job,
                  "Processes of one job count as one program when cores are divided")
      ->type_name("NAME");
  add_outputs(run, options);
  return run;
}

CLI::App* add_baseline(CLI::App& app, Options& options) {
  CLI::App* baseline = app.add_subcommand(
      "baseline", "Run a program untouched and record it: optile baseline [OPTIONS] -- CMD");
  add_torch_bridge(baseline, options);
  add_outputs(baseline, options);
  return baseline;
}

// Everything behind the first "--" is the program's, whatever it looks like. (Where the program was
// named before it, the "--" itself is the program's too: see whole_command.)
std::vector<std::string> split_command(std::vector<std::string>& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator == arguments.end()) return {};
  std::vector<std::string> command(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return command;
}

// The program of a command that takes one, in `command`, which holds what stood behind the "--".
base::Status take_command(const CLI::App& app, bool separated, bool required,
                          std::vector<std::string>& command) {
  const std::vector<std::string> before = app.remaining();
  if (!before.empty() && before.front().starts_with("-")) {
    return base::Error{base::ErrorKind::kInvalid, "unknown option " + before.front() +
                                                      "; see optile " + app.get_name() + " --help"};
  }
  command = whole_command(before, separated, command);
  if (required && command.empty()) {
    return base::Error{base::ErrorKind::kInvalid,
                       "no program to run: optile " + app.get_name() + " [OPTIONS] -- CMD"};
  }
  return {};
}

// What was asked for by name would change what an untouched run computes.
base::Status check_numerics(const Options& options) {
  if (!options.run.as_untuned()) return {};
  const auto against = [](const char* option, const char* why) {
    return base::Error{base::ErrorKind::kInvalid, std::string("--numerics as-untuned and ") +
                                                      option + " contradict each other: " + why +
                                                      kSeeHelp};
  };
  if (options.run.launch.openmp == "llvm") {
    return against("--openmp llvm", "another OpenMP runtime may divide work in another way");
  }
  if (options.run.respect == "ignore") {
    return against("--respect ignore", "an untouched run obeys the numbers that you set");
  }
  if (options.run.regions != "observe") {
    return against("--regions tune", "what a region computes at another width is not known");
  }
  return {};
}

void keep_launch(RunOptions& run) {
  for (std::string* choice :
       {&run.launch.openmp, &run.launch.wait, &run.launch.blas, &run.launch.heap}) {
    if (*choice == "auto") *choice = "keep";
  }
}

void keep_what_was_not_chosen(RunOptions& run) {
  if (run.changes_nothing() || run.launch.overall == "keep") keep_launch(run);
}

void keep_bits(RunOptions& run) {
  if (!run.as_untuned()) return;
  for (std::string* choice : {&run.launch.openmp, &run.launch.blas, &run.launch.heap}) {
    if (*choice == "auto") *choice = "keep";
  }
}

void take_launch_words(Options& options) {
  options.run.typed_launch = options.run.launch;
  keep_what_was_not_chosen(options.run);
  keep_bits(options.run);
}

std::optional<Options> parse_run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return std::nullopt;
  Options options;
  std::vector<std::string> words = arguments;
  options.command = split_command(words);
  const bool separated = words.size() < arguments.size();
  const std::string& verb = arguments.front();
  if (verb != "run" && verb != "baseline") return std::nullopt;
  options.verb = verb == "run" ? Verb::kRun : Verb::kBaseline;
  CLI::App app;
  app.require_subcommand(1);
  const CLI::App* chosen =
      options.verb == Verb::kRun ? add_run(app, options) : add_baseline(app, options);
  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::ParseError&) {
    return std::nullopt;
  }
  if (!check_numerics(options).ok()) return std::nullopt;
  take_launch_words(options);
  if (!take_command(*chosen, separated, true, options.command).ok()) return std::nullopt;
  return options;
}

}  // namespace optile::cli
