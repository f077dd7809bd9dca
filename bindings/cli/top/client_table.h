// The clients as a table: who it is, what it has, how it does. Columns are as wide as what is in
// them; where there is no room for all, those that matter less go first. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/cli/top/letters.h"
#include "bindings/cli/top/picture.h"
#include "bindings/cli/top/snapshot.h"

namespace optile::cli {

struct TableView {
  const Snapshot& seen;
  const Letters& letters;
  uint64_t selected = 0;
  int columns = 80;  // 0 = every text whole
};

struct ClientTable {
  Line header;
  Picture rows;  // one of each client, in their order
};

ClientTable client_table(const TableView& view);

// "exploring 12", "tuned"; "stopped, pinned"; "trying 5 ops at widths 1,2".
std::string phase_text(const ClientSeen& client);
std::string state_text(const ClientSeen& client);
std::string doing_text(const ClientSeen& client);

}  // namespace optile::cli
