#include "daemon/leases/persisted_commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/process/process_entry.h"
#include "daemon/support/kept_entries.h"

namespace optile::daemon {
namespace {

using Json = nlohmann::json;
using Kind = LeaseCommand::Kind;

constexpr std::size_t kMost = 1024;  // processes

}  // namespace

PersistedCommands::PersistedCommands(std::string file, std::function<bool()> may_write)
    : file_(std::move(file)), may_write_(std::move(may_write)) {
  if (!file_.empty()) read();
}

void PersistedCommands::read() {
  const bool ours = read_kept_entries(file_, [this](const Json& one) {
    Entry entry;
    entry.pid = one.at("pid").get<int>();
    entry.start_ticks = one.at("start_ticks").get<uint64_t>();
    if (!one.at("share").is_null()) entry.share = one.at("share").get<double>();
    entry.pin = one.at("pin").get<std::vector<int>>();
    entry.paused = one.at("paused").get<bool>();
    entry.lease = one.value("lease", std::vector<int>());
    entry.fraction = one.value("fraction", 1.0);
    entry.detached = one.at("detached").get<bool>();
    entry.pin_bounded = one.at("bounded").get<bool>();
    entry.pause_bounded = one.value("pause_bounded", entry.pin_bounded);
    entries_.push_back(std::move(entry));
  });
  if (!ours) entries_.clear();
}

void PersistedCommands::record(int pid, const LeaseCommand& command) {
  const std::optional<uint64_t> start = start_of_process(pid);
  if (!start) return;
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) {
    return one.pid == pid && one.start_ticks == *start;
  });
  if (found == entries_.end()) {
    if (entries_.size() == kMost) entries_.erase(entries_.begin());
    entries_.push_back({});
    found = std::prev(entries_.end());
    found->pid = pid;
    found->start_ticks = *start;
  }
  if (command.kind == Kind::kShare) found->share = command.share;
  if (command.kind == Kind::kPin) found->pin = command.cores;
  if (command.kind == Kind::kUnpin) found->pin.clear();
  if (command.kind == Kind::kPause) found->paused = true;
  if (command.kind == Kind::kResume) found->paused = false;
  if (command.kind == Kind::kPause || command.kind == Kind::kResume) {
    found->lease = command.cores;
    found->fraction = command.fraction;
  }
  if (command.kind == Kind::kDetach) found->detached = true;
  if (command.kind == Kind::kAttach) found->detached = false;
  if (command.kind == Kind::kPin) found->pin_bounded = command.bounded;
  if (command.kind == Kind::kPause) found->pause_bounded = command.bounded;
  save();
}

std::vector<LeaseCommand> PersistedCommands::commands_of(int pid) const {
  std::vector<LeaseCommand> all;
  const auto is_mentioned = [pid](const Entry& one) { return one.pid == pid; };
  if (std::none_of(entries_.begin(), entries_.end(), is_mentioned)) return all;
  const std::optional<uint64_t> start = start_of_process(pid);
  for (const Entry& one : entries_) {
    if (one.pid != pid || one.start_ticks != start) continue;
    if (one.detached) return {{0, Kind::kDetach, 1.0, {}, false}};
    if (one.share) all.push_back({0, Kind::kShare, *one.share, {}, false});
    if (!one.pin.empty()) all.push_back({0, Kind::kPin, 1.0, one.pin, one.pin_bounded});
    if (one.paused)
      all.push_back({0, Kind::kPause, 1.0, one.lease, one.pause_bounded, one.fraction});
  }
  return all;
}

void PersistedCommands::save() {
  std::erase_if(entries_, [](const Entry& one) {
    const bool is_in_force = one.share || !one.pin.empty() || one.paused || one.detached;
    return !is_in_force || start_of_process(one.pid) != one.start_ticks;
  });
  if (file_.empty() || (may_write_ && !may_write_())) return;
  Json all = Json::array();
  for (const Entry& one : entries_) {
    all.push_back({{"pid", one.pid},
                   {"start_ticks", one.start_ticks},
                   {"share", one.share ? Json(*one.share) : Json(nullptr)},
                   {"pin", one.pin},
                   {"paused", one.paused},
                   {"lease", one.lease},
                   {"fraction", one.fraction},
                   {"detached", one.detached},
                   {"bounded", one.pin_bounded},
                   {"pause_bounded", one.pause_bounded}});
  }
  write_kept_entries(file_, all);
}

}  // namespace optile::daemon
