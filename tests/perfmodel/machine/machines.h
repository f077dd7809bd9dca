// Machines for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "perfmodel/machine/machine.h"

namespace optile::perfmodel {

// An empty machine, and a failure, where the description is none.
inline Machine read(const std::string& description) {
  auto machine = make_machine_source(description)->read();
  EXPECT_TRUE(machine.ok()) << (machine.ok() ? "" : machine.message());
  return machine.ok() ? machine.value() : Machine{};
}

// Knights Landing, the machine of the paper: pairs of cores as tiles.
inline Machine knl() {
  return read("pack:1 l2:34 core:2 pu:4");
}

}  // namespace optile::perfmodel
