#include "daemon/leases/expected_arrivals.h"

#include <algorithm>

namespace optile::daemon {

void ExpectedArrivals::forget_late(std::chrono::milliseconds now) {
  for (auto& [user, expected] : by_user_) {
    while (!expected.empty() && now - expected.front().since > kPatience) expected.pop_front();
  }
  std::erase_if(by_user_, [](const auto& one) { return one.second.empty(); });
}

ExpectedArrivals::OfUser::iterator ExpectedArrivals::by_pid(OfUser& expected, int pid) {
  if (pid <= 0) return expected.end();
  return std::find_if(expected.begin(), expected.end(),
                      [pid](const Expected& one) { return one.pid == pid; });
}

ExpectedArrivals::OfUser::iterator ExpectedArrivals::by_program(OfUser& expected,
                                                                const std::string& executable) {
  return std::find_if(expected.begin(), expected.end(),
                      [&](const Expected& one) { return one.executable == executable; });
}

void ExpectedArrivals::expect(const Arrival& arrival, double share, std::chrono::milliseconds now) {
  forget_late(now);
  OfUser& expected = by_user_[arrival.user];
  const auto before = by_pid(expected, arrival.pid);
  if (before != expected.end()) expected.erase(before);
  if (expected.size() == kMost) expected.pop_front();
  expected.push_back({arrival.executable, arrival.pid, share, now});
}

void ExpectedArrivals::came(const Arrival& arrival, std::chrono::milliseconds now) {
  forget_late(now);
  const auto of_user = by_user_.find(arrival.user);
  if (of_user == by_user_.end()) return;
  OfUser& expected = of_user->second;
  auto found = by_pid(expected, arrival.pid);
  // A launcher that waits for its program has another pid than that.
  if (found == expected.end()) found = by_program(expected, arrival.executable);
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
  const auto found = arrival.pid > 0 ? by_pid(of_user->second, arrival.pid)
                                     : by_program(of_user->second, arrival.executable);
  return found == of_user->second.end() ? all : all - found->share;
}

}  // namespace optile::daemon
