#include "daemon/expected_arrivals.h"

#include <algorithm>

namespace optile::daemon {

void ExpectedArrivals::forget_late(std::chrono::milliseconds now) {
  for (auto& [user, expected] : by_user_) {
    while (!expected.empty() && now - expected.front().since > kPatience) expected.pop_front();
  }
  std::erase_if(by_user_, [](const auto& one) { return one.second.empty(); });
}

void ExpectedArrivals::expect(const Arrival& arrival, double share, std::chrono::milliseconds now) {
  forget_late(now);
  std::deque<Expected>& expected = by_user_[arrival.user];
  if (expected.size() == kMost) expected.pop_front();
  expected.push_back({arrival.executable, share, now});
}

void ExpectedArrivals::came(const Arrival& arrival, std::chrono::milliseconds now) {
  forget_late(now);
  const auto of_user = by_user_.find(arrival.user);
  if (of_user == by_user_.end()) return;
  std::deque<Expected>& expected = of_user->second;
  const auto found = std::find_if(expected.begin(), expected.end(), [&](const Expected& one) {
    return one.executable == arrival.executable;
  });
  if (found != expected.end()) expected.erase(found);
}

bool ExpectedArrivals::someone(std::chrono::milliseconds now) {
  forget_late(now);
  return !by_user_.empty();
}

double ExpectedArrivals::share(unsigned user, std::chrono::milliseconds now) {
  forget_late(now);
  const auto of_user = by_user_.find(user);
  if (of_user == by_user_.end()) return 0;
  double sum = 0;
  for (const Expected& one : of_user->second) sum += one.share;
  return sum;
}

double ExpectedArrivals::share_beside(const Arrival& arrival, std::chrono::milliseconds now) {
  const double all = share(arrival.user, now);
  const auto of_user = by_user_.find(arrival.user);
  if (of_user == by_user_.end()) return all;
  const auto found =
      std::find_if(of_user->second.begin(), of_user->second.end(),
                   [&](const Expected& one) { return one.executable == arrival.executable; });
  return found == of_user->second.end() ? all : all - found->share;
}

}  // namespace optile::daemon
