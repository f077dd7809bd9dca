// Which letter stands for which client: it keeps its letter while it is attached. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bindings/cli/top/snapshot.h"

namespace optile::cli {

class Letters {
 public:
  // Those that are gone give their letters back, new ones get the first that are free.
  void follow(const std::vector<ClientSeen>& clients);
  // Numbers begin again with another daemon.
  void forget() { places_.clear(); }

  // A to Z, then AA to ZZ; "?" for who is not there.
  std::string of(uint64_t client) const;
  // 0, 1, …: for colours.
  int place_of(uint64_t client) const;
  // Columns of the longest in use.
  int columns() const;

 private:
  std::map<uint64_t, int> places_;
};

}  // namespace optile::cli
