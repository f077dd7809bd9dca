// Launches that claim at one etcd, which is played, as is the time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/cluster/memory_store.h"

namespace optile::daemon {

// Of RankClaim, or of GenerationClaim.
template <typename Claim>
class ClaimersTest : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kClaimStep{50};

  struct Claimer {
    Claimer(MemoryServer& server, typename Claim::Settings settings)
        : store(server), claim(std::make_unique<Claim>(store, std::move(settings))) {}
    const typename Claim::View& view() const { return claim->view(); }
    typename Claim::State state() const { return view().state; }
    int rank() const { return view().rank; }
    MemoryStore store;
    std::unique_ptr<Claim> claim;
  };

  // With a token, and names after it: t1, t2, ...
  Claimer& add_claimer(typename Claim::Settings settings) {
    settings.token = "t" + std::to_string(++tokens_);
    settings.keys.user = "u";
    settings.job = "train";
    settings.node = "on-" + settings.token;
    settings.address = "at-" + settings.token;
    settings.port = 7;
    claimers_.push_back(std::make_unique<Claimer>(server_, std::move(settings)));
    return *claimers_.back();
  }
  void kill(const Claimer& claimer) {
    std::erase_if(claimers_, [&](const auto& one) { return one.get() == &claimer; });
  }
  // As `optile launch` does at its end.
  void leave(const Claimer& claimer) {
    EXPECT_TRUE(server_.revoke_lease(claimer.claim->lease()).ok());
    kill(claimer);
  }
  void run(std::chrono::milliseconds time) {
    for (std::chrono::milliseconds passed{0}; passed < time; passed += kClaimStep) {
      server_.advance(kClaimStep);
      for (const auto& one : claimers_) {
        one->claim->tick(server_.now());
        while (one->store.deliver()) one->claim->tick(server_.now());
      }
    }
  }
  bool all_are(typename Claim::State state) const {
    return std::all_of(claimers_.begin(), claimers_.end(),
                       [&](const auto& one) { return one->state() == state; });
  }

  MemoryServer server_;
  std::vector<std::unique_ptr<Claimer>> claimers_;
  int tokens_ = 0;
};

}  // namespace optile::daemon
