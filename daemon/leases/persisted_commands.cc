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
    Words words;
    words.pid = one.at("pid").get<int>();
    words.start_ticks = one.at("start_ticks").get<uint64_t>();
    if (!one.at("share").is_null()) words.share = one.at("share").get<double>();
    words.pin = one.at("pin").get<std::vector<int>>();
    words.paused = one.at("paused").get<bool>();
    words.lease = one.value("lease", std::vector<int>());
    words.fraction = one.value("fraction", 1.0);
    words.detached = one.at("detached").get<bool>();
    words.pin_bounded = one.at("bounded").get<bool>();
    words.pause_bounded = one.value("pause_bounded", words.pin_bounded);
    words_.push_back(std::move(words));
  });
  if (!ours) words_.clear();
}

void PersistedCommands::hear(int pid, const LeaseCommand& word) {
  const std::optional<uint64_t> start = start_of_process(pid);
  if (!start) return;
  auto found = std::find_if(words_.begin(), words_.end(), [&](const Words& one) {
    return one.pid == pid && one.start_ticks == *start;
  });
  if (found == words_.end()) {
    if (words_.size() == kMost) words_.erase(words_.begin());
    words_.push_back({});
    found = std::prev(words_.end());
    found->pid = pid;
    found->start_ticks = *start;
  }
  if (word.kind == Kind::kShare) found->share = word.share;
  if (word.kind == Kind::kPin) found->pin = word.cores;
  if (word.kind == Kind::kUnpin) found->pin.clear();
  if (word.kind == Kind::kPause) found->paused = true;
  if (word.kind == Kind::kResume) found->paused = false;
  if (word.kind == Kind::kPause || word.kind == Kind::kResume) {
    found->lease = word.cores;
    found->fraction = word.fraction;
  }
  if (word.kind == Kind::kDetach) found->detached = true;
  if (word.kind == Kind::kAttach) found->detached = false;
  if (word.kind == Kind::kPin) found->pin_bounded = word.bounded;
  if (word.kind == Kind::kPause) found->pause_bounded = word.bounded;
  save();
}

std::vector<LeaseCommand> PersistedCommands::of(int pid) const {
  std::vector<LeaseCommand> all;
  const auto mentioned = [pid](const Words& one) { return one.pid == pid; };
  if (std::none_of(words_.begin(), words_.end(), mentioned)) return all;
  const std::optional<uint64_t> start = start_of_process(pid);
  for (const Words& one : words_) {
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
  std::erase_if(words_, [](const Words& one) {
    const bool says_something = one.share || !one.pin.empty() || one.paused || one.detached;
    return !says_something || start_of_process(one.pid) != one.start_ticks;
  });
  if (file_.empty() || (may_write_ && !may_write_())) return;
  Json all = Json::array();
  for (const Words& one : words_) {
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
