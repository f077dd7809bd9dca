// When the budgets of attached programs are read again: everybody's once a second, a few at a time,
// so that nobody else waits for long while hundreds of processes are looked at. Plain numbers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace optile::daemon {

inline constexpr std::chrono::nanoseconds kBudgetRound = std::chrono::seconds(1);
inline constexpr std::size_t kBudgetsATurn = 16;

// From one turn to the next with so many clients.
constexpr std::chrono::nanoseconds budget_turns_every(std::size_t clients) {
  const std::size_t turns = (clients + kBudgetsATurn - 1) / kBudgetsATurn;
  return kBudgetRound / std::max<std::size_t>(1, turns);
}

}  // namespace optile::daemon
