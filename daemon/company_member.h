// What the controller knows of a client that has a lease, for those who try how clients do best
// beside each other. Plain value.
#pragma once

#include <cstdint>
#include <string>

namespace optile::daemon {

struct CompanyMember {
  uint64_t client = 0;
  std::string program;  // program_text()
  unsigned uid = 0;
  bool settled = false;   // tuned, heard, running and not waiting
  bool searches = false;  // runs and does not wait, and is not settled yet
  bool widens = false;    // has ops as wide as its lease lets them be, and would have them wider
  uint32_t steps = 0;     // begun so far
};

}  // namespace optile::daemon
