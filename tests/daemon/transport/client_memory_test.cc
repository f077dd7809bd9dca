#include "daemon/transport/client_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "daemon/client/plan_page_writer.h"
#include "tests/daemon/fixtures/fake_client.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

class ClientMemoryTest : public testing::Test {
 protected:
  ClientMemoryTest() : memory_(ClientMemory::make().value()), fds_(memory_.take_descriptors()) {}
  ClientMemory memory_;
  ClientMemory::Descriptors fds_;
};

TEST_F(ClientMemoryTest, RegionsCannotBeResized) {
  for (const int fd : {fds_.plan.get(), fds_.client.get()}) {
    EXPECT_EQ(ftruncate(fd, 0), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(ftruncate(fd, off_t{1} << 30), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);  // and the seals are sealed
    EXPECT_EQ(errno, EPERM);
  }
}

TEST_F(ClientMemoryTest, PlanCannotBeMappedForWriting) {
  void* mapped = mmap(nullptr, sizeof(optile_plan_region), PROT_READ | PROT_WRITE, MAP_SHARED,
                      fds_.plan.get(), 0);
  EXPECT_EQ(mapped, MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  const char byte = 1;
  EXPECT_EQ(pwrite(fds_.plan.get(), &byte, 1, 0), -1);
  // A read-only mapping cannot be turned into a writable one either.
  void* readable =
      mmap(nullptr, sizeof(optile_plan_region), PROT_READ, MAP_SHARED, fds_.plan.get(), 0);
  ASSERT_NE(readable, MAP_FAILED);
  EXPECT_EQ(mprotect(readable, sizeof(optile_plan_region), PROT_READ | PROT_WRITE), -1);
  munmap(readable, sizeof(optile_plan_region));
}

TEST_F(ClientMemoryTest, SidesSeeEachOthersWrites) {
  ClientRegions regions(fds_.plan.get(), fds_.client.get());
  ASSERT_TRUE(regions.valid());
  regions.begin(1, 4);
  EXPECT_EQ(memory_.client()->header.default_width, 4u);
  PlanPageWriter writer(memory_.plan());
  writer.set_tail(3, 99);
  EXPECT_EQ(regions.plan().tails[3], 99u);
  EXPECT_EQ(regions.plan().magic, OPTILE_ABI_MAGIC);
}

blkcnt_t blocks_of(const base::UniqueFd& fd) {
  struct stat found = {};
  EXPECT_EQ(fstat(fd.get(), &found), 0);
  return found.st_blocks * 512;
}

// fault: F49
TEST(ClientMemoryPages, AllocatedAtOnceUnderStrictOvercommit) {
  using Pages = ClientMemory::Pages;
  auto late = ClientMemory::make(Pages::kWhenWritten).value().take_descriptors();
  EXPECT_EQ(blocks_of(late.plan), 0);
  EXPECT_EQ(blocks_of(late.client), 0);
  auto all = ClientMemory::make(Pages::kAtOnce).value().take_descriptors();
  EXPECT_GE(blocks_of(all.plan), static_cast<blkcnt_t>(sizeof(optile_plan_region)));
  EXPECT_GE(blocks_of(all.client), static_cast<blkcnt_t>(sizeof(optile_client_region)));

  const TemporaryDirectory folder;
  const auto pages_for = [&](const std::string& text) {
    const std::string path = folder / "overcommit_memory";
    std::ofstream(path) << text;
    return ClientMemory::fitting_pages(path);
  };
  EXPECT_EQ(pages_for("2\n"), Pages::kAtOnce);
  EXPECT_EQ(pages_for("0\n"), Pages::kWhenWritten);
  EXPECT_EQ(pages_for("1\n"), Pages::kWhenWritten);
  EXPECT_EQ(pages_for(""), Pages::kWhenWritten);
  EXPECT_EQ(ClientMemory::fitting_pages(folder / "missing"), Pages::kWhenWritten);
}

TEST_F(ClientMemoryTest, MappingsOutliveDescriptors) {
  fds_.plan.reset();
  fds_.client.reset();
  EXPECT_EQ(memory_.client()->header.magic, 0u);
  memory_.plan()->heartbeat = 5;
  EXPECT_EQ(memory_.plan()->heartbeat, 5u);
}

}  // namespace
}  // namespace optile::daemon
