// What a program is started with, and the pieces of its command line that other commands share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace optile::cli {

constexpr const char* kSeeHelp = "; see optile --help";

// Of `optile run` and `optile baseline`. Nothing for any other command, for help, and where
// something is wrong: parse_options() says what.
std::optional<Options> parse_run(const std::vector<std::string>& arguments);

CLI::App* add_run(CLI::App& app, Options& options);
CLI::App* add_baseline(CLI::App& app, Options& options);
void add_socket(CLI::App* app, Options& options);
CLI::Option* add_share(CLI::App* app, const char* name, std::string& share);

// Checks that a word is a number between the two; else it is wrong because of `what`.
std::function<std::string(const std::string&)> from_to(double least, double most, const char* what);

// Takes the program's words, behind the first "--", from `arguments`.
std::vector<std::string> split_command(std::vector<std::string>& arguments);
// The program of a command that takes one, in `command`, which holds what stood behind the "--".
base::Status take_command(const CLI::App& app, bool separated, bool required,
                          std::vector<std::string>& command);
base::Status check_numerics(const Options& options);
// What was typed about the launch, and what follows from the mode.
void take_launch_words(Options& options);

}  // namespace optile::cli
