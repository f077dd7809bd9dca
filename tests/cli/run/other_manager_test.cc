#include "bindings/cli/run/other_manager.h"

#include <gtest/gtest.h>

namespace optile::cli {
namespace {

TEST(OtherManager, IsFoundInPreloadListOrNeededLibraries) {
  EXPECT_EQ(other_manager("", {}), "");
  EXPECT_EQ(other_manager("/x/libdlb_mpi.so", {}), "libdlb_mpi.so");
  EXPECT_EQ(other_manager("mine.so:/opt/likwid/lib/liblikwidpin.so", {}), "liblikwidpin.so");
  EXPECT_EQ(other_manager("mine.so libdlb.so", {}), "libdlb.so");
  EXPECT_EQ(other_manager("", {"libc.so.6", "libtcm.so.1"}), "libtcm.so.1");
  EXPECT_EQ(other_manager("libtcmalloc.so.4", {"liblikwid.so.5", "libgomp.so.1"}), "");
}

}  // namespace
}  // namespace optile::cli
