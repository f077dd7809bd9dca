#include "daemon/others_load.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace optile::daemon {

using std::chrono::milliseconds;

void OthersLoad::add(double cores, milliseconds passed) {
  const double seconds = std::chrono::duration<double>(passed).count();
  core_seconds_ += std::max(0.0, cores) * seconds;
  seconds_ += seconds;
}

double OthersLoad::cores() const {
  return seconds_ > 0 ? core_seconds_ / seconds_ : 0;
}

std::string OthersLoad::text(int of_cores) const {
  if (of_cores <= 0 || cores() < kNotable * of_cores) return "";
  char text[96];
  std::snprintf(text, sizeof text, "others kept %.1f of %d cores busy on average", cores(),
                of_cores);
  return text;
}

bool OthersLoadWatch::is_due(milliseconds now, std::size_t clients) const {
  const milliseconds spacing = kSpacing + static_cast<int64_t>(clients) * kSpacingOfClient;
  return read_ && (!latest_ || now - read_at_ >= spacing);
}

void OthersLoadWatch::look(milliseconds now, const std::vector<Party>& parties) {
  if (!read_ || parties.empty()) {
    latest_.reset();
    return;
  }
  std::vector<int> pids;
  std::map<std::string, std::set<int>> runs;
  for (const Party& party : parties) {
    pids.push_back(party.pid);
    if (!party.run.empty()) runs[party.run].insert(party.pid);
  }
  LoadReading reading = read_(pids);
  for (const Party& party : parties) {
    if (!latest_ || !was_there(*latest_, reading, party.pid)) continue;
    const std::set<int> own = party.run.empty() ? std::set<int>{party.pid} : runs.at(party.run);
    if (const auto cores = busy_beside(*latest_, reading, party.units, own)) {
      party.load->add(*cores, now - read_at_);
    }
  }
  latest_ = std::move(reading);
  read_at_ = now;
}

}  // namespace optile::daemon
