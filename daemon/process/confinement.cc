#include "daemon/process/confinement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/support/kept_entries.h"

namespace optile::daemon {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostConfined = 4096;  // more than there may be clients

}  // namespace

Confinement::Confinement(std::string file, Log& log, Later later, ThreadMasks::Kernel kernel,
                         std::function<bool()> may_write)
    : file_(std::move(file)),
      log_(log),
      later_(std::move(later)),
      kernel_(std::move(kernel)),
      may_write_(std::move(may_write)) {
  const bool ours = read_kept_entries(file_, [this](const Json& one) {
    Confined known{one.at("pid").get<int>(), one.at("start_ticks").get<uint64_t>(),
                   one.at("original").get<std::vector<int>>(),
                   one.at("units").get<std::vector<int>>(),
                   one.value("before", std::vector<std::vector<int>>())};
    if (start_of_process(known.pid) == known.start_ticks) earlier_.push_back(std::move(known));
  });
  if (!ours) earlier_.clear();
}

const Confinement::Confined* Confinement::known(int pid, uint64_t start_ticks) const {
  const auto same = [&](const Confined& one) {
    return one.pid == pid && one.start_ticks == start_ticks;
  };
  const auto earlier = std::find_if(earlier_.begin(), earlier_.end(), same);
  if (earlier != earlier_.end()) return &*earlier;
  const auto confined = std::find_if(confined_.begin(), confined_.end(), same);
  return confined != confined_.end() ? &*confined : nullptr;
}

std::vector<HeldProcess> Confinement::held_before() const {
  std::vector<HeldProcess> all;
  for (const Confined& one : earlier_) {
    if (start_of_process(one.pid) != one.start_ticks) continue;
    all.push_back({one.pid, one.units});
    // Killed between the file and the masks, it left the process where it was.
    UnitSet now;
    if (one.before.empty() || kernel_.get(one.pid, now) != 0) continue;
    const std::vector<int> units = os_indices(now);
    const bool ours = std::find(one.before.begin(), one.before.end(), units) != one.before.end();
    if (ours) all.back().units = units;
  }
  return all;
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
  std::erase_if(confined_, [pid](const Confined& one) { return one.pid == pid; });
  if (confined_.size() == kMostConfined) confined_.pop_front();
  confined_.push_back({pid, *start, units, {}, {}});
}

// Null when the process is gone.
Confinement::Held* Confinement::hold(uint64_t client, int pid) {
  const auto known = held_.find(client);
  if (known != held_.end()) return &known->second;
  base::Result<ProcessEntry> process = ProcessEntry::open(pid);
  if (!process.ok()) return nullptr;
  const std::optional<ProcessStat> stat = process.value().stat();
  if (!stat) return nullptr;
  Confined record{pid, stat->start_ticks, {}, {}, {}};
  ThreadMasks masks(std::move(process).value(), kernel_);
  if (read_binding_) {
    masks.read_bindings([this, client](int tid) { return read_binding_(client, tid); });
  }
  Held& held = held_.emplace(client, Held{std::move(masks), record}).first->second;
  if (const Confined* earlier = this->known(pid, stat->start_ticks)) {
    held.record.before = earlier->before;
    if (!earlier->units.empty()) {
      held.record.before.insert(held.record.before.begin(), earlier->units);
    }
    const UnitSet original = unit_set(earlier->original);
    held.masks.resume(original, {});
    for (auto mask = held.record.before.rbegin(); mask != held.record.before.rend(); ++mask) {
      held.masks.resume(original, unit_set(*mask));
    }
  }
  const auto cpuset = cpusets_.find(client);
  if (cpuset != cpusets_.end()) held.masks.note_cpuset(cpuset->second);
  return &held;
}

void Confinement::note_cpuset(uint64_t client, const std::vector<int>& units) {
  const UnitSet cpuset = unit_set(units);
  if (cpuset.none()) return;
  cpusets_[client] = cpuset;
  const auto held = held_.find(client);
  if (held != held_.end()) held->second.masks.note_cpuset(cpuset);
}

void Confinement::release(uint64_t client) {
  give_back(client, 0);
  cpusets_.erase(client);
}

void Confinement::confine(uint64_t client, int pid, const std::vector<int>& units) {
  if (units.empty()) return give_back(client, pid);
  wishes_.push_back({client, pid, units});
  do_soon();
}

// At once, since what comes next may read the mask of that process. As long as the file does not
// say so, the next daemon takes it for confined and finds that it has its own mask.
void Confinement::give_back(uint64_t client, int pid) {
  std::erase_if(wishes_, [client](const Wish& one) { return one.client == client; });
  const auto known = held_.find(client);
  // One that an earlier daemon held, and that is alone now.
  Held* held = known != held_.end() ? &known->second
               : original_of(pid)   ? hold(client, pid)
                                    : nullptr;
  if (held == nullptr) return;
  held->masks.give_back();
  if (report_mask_) report_mask_(client, {});
  if (held->given_back++ == 0) {
    Confined& record = held->record;
    std::erase_if(earlier_, [&](const Confined& one) { return one.pid == record.pid; });
    if (!record.units.empty()) record.before.insert(record.before.begin(), record.units);
    record.units.clear();  // so the file no longer says that it is held
    unsaved_ = true;
    do_soon();
  }
  if (pid <= 0 || held->given_back > kRepeats) held_.erase(client);
}

void Confinement::do_soon() {
  if (!later_) return flush();
  if (std::exchange(will_flush_, true)) return;
  later_([this] { flush(); });
}

// The file comes before the masks: whoever kills us between the two leaves a file that says too
// much, never a process whose mask nobody can explain.
void Confinement::flush() {
  will_flush_ = false;
  const std::vector<Wish> wishes = std::exchange(wishes_, {});
  for (const Wish& wish : wishes) {
    if (Held* held = hold(wish.client, wish.pid)) intend(*held, wish.units);
  }
  if (std::exchange(unsaved_, false)) write();
  for (const Wish& wish : wishes) {
    const auto held = held_.find(wish.client);
    if (held != held_.end()) carry_out(wish.client, held->second, wish.units);
  }
}

void Confinement::intend(Held& held, const std::vector<int>& units) {
  held.given_back = 0;
  Confined& record = held.record;
  if (record.units == units || !held.masks.prepare(unit_set(units)).ok()) return;
  if (!held.masks.original()) return;  // nothing of it will be moved
  record.original = os_indices(*held.masks.original());
  if (!record.units.empty()) record.before.insert(record.before.begin(), record.units);
  if (record.before.size() > OwnMasks::kMost) record.before.pop_back();
  record.units = units;
  unsaved_ = true;
}

void Confinement::carry_out(uint64_t client, Held& held, const std::vector<int>& units) {
  // Before, since what a thread starts may begin as soon as that thread is moved.
  if (report_mask_) report_mask_(client, units);
  const base::Result<MaskOutcome> outcome = held.masks.confine(unit_set(units));
  const bool are_set = outcome.ok() && held.masks.original();
  if (report_mask_ && !are_set) report_mask_(client, {});
  if (outcome.ok() && outcome.value().settled && units == held.record.units) {
    held.record.before.clear();
  }
  if ((outcome.ok() && outcome.value().holds()) || held.told) return;
  if (outcome.ok() && (outcome.value().gone || !outcome.value().settled)) return;
  held.told = true;
  log_.warn("client " + std::to_string(client) + " cannot be held to its cores: " +
            (outcome.ok() ? std::to_string(outcome.value().left_alone) +
                                " of its threads were placed by the program or its user"
                          : outcome.error().message));
}

void Confinement::write() const {
  if (may_write_ && !may_write_()) return;
  Json all = Json::array();
  std::set<int> written;
  const auto add = [&](const Confined& one) {
    if (one.units.empty()) return;
    written.insert(one.pid);
    Json entry = {{"pid", one.pid},
                  {"start_ticks", one.start_ticks},
                  {"original", one.original},
                  {"units", one.units}};
    if (!one.before.empty()) entry["before"] = one.before;
    all.push_back(std::move(entry));
  };
  for (const auto& [client, held] : held_) add(held.record);
  for (const Confined& one : earlier_) {
    if (!written.contains(one.pid)) add(one);  // it has not come back yet
  }
  write_kept_entries(file_, all);
}

}  // namespace optile::daemon
