#include "daemon/confinement.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/metrics/published_file.h"

namespace optile::daemon {
namespace {

using Json = nlohmann::json;

// Nobody else may tell us what our clients' masks were.
bool is_ours(const std::string& path) {
  struct stat found = {};
  return lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

}  // namespace

Confinement::Confinement(std::string file, Log& log) : file_(std::move(file)), log_(log) {
  if (!is_ours(file_)) return;
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

std::optional<std::vector<int>> Confinement::original_of(int pid) const {
  for (const Confined& one : earlier_) {
    if (one.pid != pid) continue;
    const base::Result<ProcessEntry> process = ProcessEntry::open(pid);
    if (!process.ok()) return std::nullopt;
    const std::optional<ProcessStat> stat = process.value().stat();
    if (stat && stat->start_ticks == one.start_ticks) return one.original;
  }
  return std::nullopt;
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
  for (const Confined& one : earlier_) {
    if (one.pid != pid || one.start_ticks != stat->start_ticks) continue;
    held.masks.resume(unit_set(one.original), unit_set(one.units));
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
