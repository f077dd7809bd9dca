#include "daemon/confinement.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/metrics/published_file.h"

namespace optile::daemon {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostSaid = 4096;  // more than there may be clients

}  // namespace

Confinement::Confinement(std::string file, Log& log) : file_(std::move(file)), log_(log) {
  if (!is_file_of_ours(file_)) return;
  std::ifstream stream(file_);
  const Json read = Json::parse(stream, nullptr, false);
  if (!read.is_array()) return;
  for (const Json& one : read) {
    try {
      earlier_.push_back({one.at("pid").get<int>(), one.at("start_ticks").get<uint64_t>(),
                          one.at("original").get<std::vector<int>>(),
                          one.at("units").get<std::vector<int>>()});
    } catch (const Json::exception&) {
      earlier_.clear();  // not written by us
      return;
    }
  }
}

const Confinement::Confined* Confinement::known(int pid, uint64_t start_ticks) const {
  const auto same = [&](const Confined& one) {
    return one.pid == pid && one.start_ticks == start_ticks;
  };
  const auto earlier = std::find_if(earlier_.begin(), earlier_.end(), same);
  if (earlier != earlier_.end()) return &*earlier;
  const auto said = std::find_if(said_.begin(), said_.end(), same);
  return said != said_.end() ? &*said : nullptr;
}

std::optional<std::vector<int>> Confinement::original_of(int pid) const {
  const auto mentioned = [pid](const Confined& one) { return one.pid == pid; };
  if (std::none_of(earlier_.begin(), earlier_.end(), mentioned)) return std::nullopt;
  const std::optional<uint64_t> start = start_of_process(pid);
  const Confined* found = start ? known(pid, *start) : nullptr;
  return found != nullptr ? std::optional(found->original) : std::nullopt;
}

void Confinement::came_with(int pid, const std::vector<int>& units) {
  if (units.empty() || original_of(pid)) return;
  const std::optional<uint64_t> start = start_of_process(pid);
  if (!start) return;
  std::erase_if(said_, [pid](const Confined& one) { return one.pid == pid; });
  if (said_.size() == kMostSaid) said_.pop_front();
  said_.push_back({pid, *start, units, {}});
}

// Null when the process is gone.
Confinement::Held* Confinement::hold(uint64_t client, int pid) {
  const auto known = held_.find(client);
  if (known != held_.end()) return &known->second;
  base::Result<ProcessEntry> process = ProcessEntry::open(pid);
  if (!process.ok()) return nullptr;
  const std::optional<ProcessStat> stat = process.value().stat();
  if (!stat) return nullptr;
  Confined record{pid, stat->start_ticks, {}, {}};
  Held& held = held_.emplace(client, Held{ThreadMasks(std::move(process).value()), record, false})
                   .first->second;
  if (const Confined* before = this->known(pid, stat->start_ticks)) {
    held.masks.resume(unit_set(before->original), unit_set(before->units));
  }
  return &held;
}

void Confinement::confine(uint64_t client, int pid, const std::vector<int>& units) {
  if (units.empty()) {
    const auto known = held_.find(client);
    // One that an earlier daemon held, and that is alone now.
    Held* held = known != held_.end() ? &known->second
                 : original_of(pid)   ? hold(client, pid)
                                      : nullptr;
    if (held == nullptr) return;
    held->masks.release();
    std::erase_if(earlier_, [&](const Confined& one) { return one.pid == held->record.pid; });
    held_.erase(client);
    save();
    return;
  }
  Held* held = hold(client, pid);
  if (held == nullptr) return;
  const base::Result<MaskOutcome> outcome = held->masks.confine(unit_set(units));
  if (held->record.units != units && held->masks.original()) {
    held->record.units = units;
    held->record.original = os_indices(*held->masks.original());
    save();
  }
  if ((outcome.ok() && outcome.value().holds()) || held->told) return;
  if (outcome.ok() && (outcome.value().gone || !outcome.value().settled)) return;
  held->told = true;
  log_.warn("client " + std::to_string(client) + " cannot be held to its cores: " +
            (outcome.ok() ? std::to_string(outcome.value().left_alone) +
                                " of its threads were placed by the program or its user"
                          : outcome.error().message));
}

// A file that cannot be written costs only what a killed daemon would have left behind.
void Confinement::save() const {
  Json all = Json::array();
  for (const auto& [client, held] : held_) {
    if (held.record.units.empty()) continue;
    all.push_back({{"pid", held.record.pid},
                   {"start_ticks", held.record.start_ticks},
                   {"original", held.record.original},
                   {"units", held.record.units}});
  }
  if (all.empty()) {
    unlink(file_.c_str());
  } else {
    (void)publish_file(file_, all.dump());
  }
}

}  // namespace optile::daemon
