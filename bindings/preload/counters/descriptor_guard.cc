#include "bindings/preload/counters/descriptor_guard.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace optile::counters {
namespace {

// 0: no perf event.
uint64_t event_id(int fd) {
  uint64_t id = 0;
  return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

}  // namespace

void DescriptorGuard::look_before() {
  count_ = 0;
  first_ = eventfd(0, EFD_CLOEXEC);
  if (first_ < 0) return;
  close(first_);
  for (uint32_t i = 0; i < kNearby; ++i) before_[i] = event_id(first_ + static_cast<int>(i));
}

bool DescriptorGuard::look_after(uint32_t count) {
  if (first_ < 0 || count > OPTILE_GROUP_EVENTS) return false;
  uint32_t found = 0;
  for (uint32_t i = 0; i < kNearby; ++i) {
    const int fd = first_ + static_cast<int>(i);
    const uint64_t id = event_id(fd);
    if (id == 0 || id == before_[i]) continue;
    if (found == count) return false;
    ours_[found++] = {fd, id};
  }
  if (found != count) return false;
  count_ = count;
  for (uint32_t i = 0; i < count_; ++i) fcntl(ours_[i].fd, F_SETFD, FD_CLOEXEC);
  return true;
}

bool DescriptorGuard::intact() const {
  for (uint32_t i = 0; i < count_; ++i) {
    if (event_id(ours_[i].fd) != ours_[i].id) return false;
  }
  return true;
}

}  // namespace optile::counters
