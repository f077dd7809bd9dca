#include "daemon/load/co_runner_load.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace optile::daemon {

using std::chrono::milliseconds;

void CoRunnerLoad::add(double cores, milliseconds passed) {
  const double seconds = std::chrono::duration<double>(passed).count();
  core_seconds_ += std::max(0.0, cores) * seconds;
  seconds_ += seconds;
}

double CoRunnerLoad::cores() const {
  return seconds_ > 0 ? core_seconds_ / seconds_ : 0;
}

std::string CoRunnerLoad::text(int of_cores) const {
  if (of_cores <= 0 || cores() < kNotable * of_cores) return "";
  char text[96];
  std::snprintf(text, sizeof text, "others kept %.1f of %d cores busy on average", cores(),
                of_cores);
  return text;
}

// What a run did is added up once, however many clients it has.
void CoRunnerLoadWatch::share_out(const LoadReading& before, const LoadReading& after,
                                  milliseconds passed, const std::vector<Party>& parties) {
  std::map<std::string, double> ticks_of_run;
  std::set<int> counted;  // a process may be several clients
  for (const Party& party : parties) {
    const bool is_first = counted.insert(party.pid).second;
    ticks_of_run[party.run] += is_first ? client_ticks(before, after, party.pid) : 0;
  }
  const double unattached = unattached_ticks(before, after);
  for (const Party& party : parties) {
    if (!was_there(before, after, party.pid)) continue;
    const double own =
        party.run.empty() ? client_ticks(before, after, party.pid) : ticks_of_run.at(party.run);
    if (const auto cores = busy_beside(before, after, party.units, own + unattached)) {
      party.load->add(*cores, passed);
    }
  }
}

bool CoRunnerLoadWatch::is_due(milliseconds now, std::size_t clients) const {
  const milliseconds spacing = kSpacing + static_cast<int64_t>(clients) * kSpacingOfClient;
  return read_ && (!latest_ || now - read_at_ >= spacing);
}

void CoRunnerLoadWatch::look(milliseconds now, const std::vector<Party>& parties) {
  if (!read_ || parties.empty()) {
    latest_.reset();
    return;
  }
  std::vector<int> pids;
  pids.reserve(parties.size());
  for (const Party& party : parties) pids.push_back(party.pid);
  LoadReading reading = read_(pids);
  if (latest_) share_out(*latest_, reading, now - read_at_, parties);
  latest_ = std::move(reading);
  read_at_ = now;
}

}  // namespace optile::daemon
