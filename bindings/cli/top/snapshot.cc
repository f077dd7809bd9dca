#include "bindings/cli/top/snapshot.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "bindings/abi/api_fields.h"
#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

constexpr double kLargest = 1e15;     // of whole numbers: far below what a double holds exactly
constexpr std::size_t kClockAt = 11;  // in 2026-01-31T12:34:56Z
constexpr std::size_t kClockSize = 8;

uint64_t count_of(const Json& object, const char* key) {
  return static_cast<uint64_t>(std::clamp(number_of(object, key), 0.0, kLargest));
}

bool flag_of(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  return value.is_boolean() && value.get<bool>();
}

Json part_of(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  return value.is_object() ? value : Json::object();
}

// Numbers of cores, or widths; what is none is left out.
std::vector<int> numbers_of(const Json& object, const char* key) {
  std::vector<int> numbers;
  for (const Json& one : list_of(object, key)) {
    if (numbers.size() == kMaxDrawnCores) break;
    if (!one.is_number_integer()) continue;
    const auto number = one.get<int64_t>();
    if (number >= 0 && number < INT32_MAX) numbers.push_back(static_cast<int>(number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// From the program on, without its folder: neither says much, nor an interpreter before it.
std::string command_of(const std::string& program, const std::string& arguments) {
  const std::size_t at = arguments.find(program);
  const std::string command = at == std::string::npos ? program : arguments.substr(at);
  const std::size_t folder = program.rfind('/');
  return folder == std::string::npos ? command : command.substr(folder + 1);
}

class Reader {
 public:
  Reader(const Answers& answers, bool utf8) : answers_(answers), utf8_(utf8) {}

  Snapshot read() {
    Snapshot seen;
    read_head(seen);
    read_tiles(seen);
    read_clients(seen);
    for (const Json& one : list_of(answers_.leases, field::kRecent)) {
      std::string at = text(one, field::kAt);
      if (at.size() >= kClockAt + kClockSize) at = at.substr(kClockAt, kClockSize);
      seen.recent.push_back({std::move(at), text(one, field::kText)});
    }
    return seen;
  }

 private:
  std::string text(const Json& object, const char* key) const {
    return shown(text_of(object, key), utf8_);
  }

  void read_head(Snapshot& seen) const {
    const Json machine = part_of(answers_.status, field::kMachine);
    const Json budget = part_of(answers_.leases, field::kBudget);
    seen.daemon_pid = static_cast<int64_t>(count_of(answers_.status, field::kPid));
    seen.version = text(answers_.status, field::kVersion);
    seen.machine = text(machine, field::kName);
    seen.numa_nodes = std::max<uint64_t>(1, count_of(machine, field::kNumaNodes));
    seen.budget_cores = count_of(budget, field::kCores);
    seen.limited_by = text(budget, field::kLimitedBy);
    seen.leased_cores = number_of(answers_.leases, field::kHeldCores);
    seen.lent_cores = count_of(answers_.leases, field::kLentCores);
    seen.left_to_others = count_of(answers_.leases, field::kLeftToOthers);
    seen.cause = text(answers_.leases, field::kCause);
  }

  void read_tiles(Snapshot& seen) const {
    const std::vector<int> units =
        numbers_of(part_of(answers_.leases, field::kBudget), field::kUnits);
    const std::set<int> granted(units.begin(), units.end());
    for (const Json& one : list_of(answers_.machine, field::kTiles)) {
      TileSeen tile;
      tile.numa_node =
          static_cast<int>(std::min<uint64_t>(count_of(one, field::kNumaNode), INT32_MAX));
      for (const Json& core : list_of(one, field::kCores)) {
        if (seen.cores == kMaxDrawnCores) break;
        const std::vector<int> of_core = numbers_of(core, field::kUnits);
        const bool usable = std::any_of(of_core.begin(), of_core.end(),
                                        [&](int unit) { return granted.contains(unit); });
        const auto number = std::min<uint64_t>(count_of(core, field::kCore), INT32_MAX);
        tile.cores.push_back({static_cast<int>(number), usable});
        ++seen.cores;
      }
      if (!tile.cores.empty()) seen.tiles.push_back(std::move(tile));
    }
  }

  void read_clients(Snapshot& seen) const {
    const Json leases = list_of(answers_.leases, field::kClients);
    std::map<uint64_t, const Json*> by_client;
    for (const Json& lease : leases) by_client[count_of(lease, field::kId)] = &lease;
    std::set<uint64_t> detached;
    for (const Json& one : list_of(answers_.leases, field::kUnleased)) {
      if (flag_of(one, field::kDetached)) detached.insert(count_of(one, field::kId));
    }
    for (const Json& one : list_of(answers_.status, field::kClients)) {
      if (seen.clients.size() == kMaxDrawnClients) break;
      ClientSeen client = read_client(one);
      const auto lease = by_client.find(client.id);
      if (lease != by_client.end()) read_lease(*lease->second, client);
      client.detached = !client.leased && detached.contains(client.id);
      seen.clients.push_back(std::move(client));
    }
    std::stable_sort(seen.clients.begin(), seen.clients.end(),
                     [](const ClientSeen& a, const ClientSeen& b) { return a.id < b.id; });
  }

  ClientSeen read_client(const Json& one) const {
    ClientSeen client;
    client.id = count_of(one, field::kId);
    client.pid = static_cast<int64_t>(count_of(one, field::kPid));
    client.command = command_of(text(one, field::kProgram), text(one, field::kArguments));
    client.mode = text(one, field::kMode);
    client.state = text(one, field::kState);
    client.phase = text(one, field::kPhase);
    client.whole_program = flag_of(one, field::kWholeProgram);
    client.steps = count_of(one, field::kSteps);
    client.sampled_steps = count_of(one, field::kSampledSteps);
    client.decision = text(one, field::kDecision);
    const Json rate = one.value(field::kStepsPerSecond, Json());
    if (rate.is_number()) client.steps_per_second = rate.get<double>();
    const Json widths = part_of(one, field::kWidths);
    client.least_width =
        static_cast<int>(std::min<uint64_t>(count_of(widths, field::kLeast), 1U << 20U));
    client.most_width =
        static_cast<int>(std::min<uint64_t>(count_of(widths, field::kMost), 1U << 20U));
    const Json trials = part_of(one, field::kTrials);
    client.trial_ops = count_of(trials, field::kOps);
    client.trial_widths = numbers_of(trials, field::kWidths);
    return client;
  }

  void read_lease(const Json& lease, ClientSeen& client) const {
    client.leased = true;
    client.cores = numbers_of(lease, field::kCores);
    client.fraction = number_of(lease, field::kFraction);
    client.lends = numbers_of(lease, field::kLends);
    client.borrows = number_of(lease, field::kBorrowed) > 0;
    client.wide = !text_of(lease, field::kTeam).empty();
    client.share = number_of(lease, field::kShare);
    client.priority = text(lease, field::kPriority);
    client.idle = flag_of(lease, field::kIdle);
    client.paused = flag_of(lease, field::kPaused);
    client.pinned = flag_of(lease, field::kPinned);
    client.late = flag_of(lease, field::kLate);
    client.reason = text(lease, field::kReason);
    const Json progress = part_of(lease, field::kProgress);
    if (progress.contains(field::kValue)) client.progress = number_of(progress, field::kValue);
    client.progress_measured = flag_of(progress, field::kMeasured);
  }

  const Answers& answers_;
  bool utf8_;
};

}  // namespace

const ClientSeen* Snapshot::find(uint64_t id) const {
  const auto found =
      std::find_if(clients.begin(), clients.end(), [&](const auto& one) { return one.id == id; });
  return found == clients.end() ? nullptr : &*found;
}

base::Result<Snapshot> read_snapshot(const Answers& answers, bool utf8) try {
  return Reader(answers, utf8).read();
} catch (const Json::exception&) {  // a field of another kind than ours
  return base::Error{base::ErrorKind::kInvalid,
                     "the daemon's answer cannot be read; it may be of another version: "
                     "optile stop"};
}

}  // namespace optile::cli
