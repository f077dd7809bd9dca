#include "bindings/cli/cluster/rank_command.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "daemon/cluster/node_record.h"

namespace optile::cli {
namespace {

using Words = std::vector<std::string>;

std::string file_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// python, python3, python3.11
bool is_python(const std::string& program) {
  constexpr std::string_view kPython = "python";
  const std::string file = file_of(program);
  return file.starts_with(kPython) &&
         file.find_first_not_of("0123456789.", kPython.size()) == std::string::npos;
}

// Where a Python program's own words begin: at its file, or at "-m" before its module. Nothing
// where there is no such thing: "-c TEXT", standard input, another program.
std::optional<std::size_t> begin_of_script(const Words& program) {
  if (!is_python(program.front())) return std::nullopt;
  for (std::size_t at = 1; at < program.size(); ++at) {
    const std::string& word = program[at];
    if (word == "-m") return at + 1 < program.size() ? std::optional(at) : std::nullopt;
    if (word == "-" || word.starts_with("-c")) return std::nullopt;
    if (!word.starts_with("-")) return at;
    if (word == "-W" || word == "-X") ++at;  // the next word belongs to it
  }
  return std::nullopt;
}

Words words_of_torchrun(const RankPlace& place, int max_restarts) {
  const std::string port = std::to_string(place.master_port);
  Words words = {
      "-m", "torch.distributed.run", "--nnodes", std::to_string(place.nodes), "--nproc-per-node",
      "1"};
  if (max_restarts == 0) {
    words.insert(words.end(), {"--node-rank", std::to_string(place.rank), "--master-addr",
                               place.master_address, "--master-port", port});
  } else {
    // With places that are given, as above, ranks that start again do not always find each other.
    words.insert(words.end(),
                 {"--rdzv-backend", "c10d", "--rdzv-endpoint", place.master_address + ":" + port,
                  "--rdzv-id", port, "--rdzv-conf", place.rank == 0 ? "is_host=1" : "is_host=0",
                  "--local-addr", place.address, "--max-restarts", std::to_string(max_restarts)});
  }
  return words;
}

}  // namespace

bool is_for_torchrun(const Words& program) {
  return begin_of_script(program).has_value();
}

RankCommand command_of_rank(const Words& program, const RankPlace& place,
                            const Torchrun& torchrun) {
  RankCommand command;
  // Else gloo takes what the machine's name means to the machine itself, often 127.0.1.1.
  if (!place.interface.empty()) command.variables[kGlooInterface] = place.interface;
  const std::optional<std::size_t> script = torchrun.used ? begin_of_script(program) : std::nullopt;
  if (!script) {
    command.words = program;
    command.variables.insert({{"RANK", std::to_string(place.rank)},
                              {"WORLD_SIZE", std::to_string(place.nodes)},
                              {"MASTER_ADDR", place.master_address},
                              {"MASTER_PORT", std::to_string(place.master_port)}});
    return command;
  }
  const auto begin = program.begin() + static_cast<std::ptrdiff_t>(*script);
  command.words.assign(program.begin(), begin);
  const Words launcher = words_of_torchrun(place, torchrun.max_restarts);
  command.words.insert(command.words.end(), launcher.begin(), launcher.end());
  command.words.insert(command.words.end(), begin, program.end());
  // Else torchrun's ranks meet at a place that depends on how often their machine's torchrun has
  // started them, which it counts for a loss of its own rank alone.
  if (torchrun.max_restarts > 0) command.variables["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
  return command;
}

std::string usual_job_name(const Words& program) {
  std::string name = file_of(program.front());
  if (const auto script = begin_of_script(program)) {
    const bool module = program[*script] == "-m";
    name = file_of(program[*script + (module ? 1 : 0)]);
  }
  constexpr std::size_t kLongest = 63;
  name.resize(std::min(name.size(), kLongest));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !daemon::is_cluster_name({c}); }, '-');
  return name.empty() ? "job" : name;
}

}  // namespace optile::cli
