#include "bindings/preload/daemon_link/runqueue_pressure.h"

#include <fcntl.h>
#include <unistd.h>

#include "bindings/preload/support/own_descriptor.h"

namespace optile::preload {
namespace {

struct Text {
  char bytes[128];
};

Text read_text(const char* path) {
  Text text;
  text.bytes[0] = '\0';
  const int fd = beyond_standard(open(path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) return text;
  const ssize_t got = read(fd, text.bytes, sizeof text.bytes - 1);
  close(fd);
  text.bytes[got > 0 ? got : 0] = '\0';
  return text;
}

}  // namespace

RunqueuePressure runqueue_pressure_now(uint32_t usable) {
  RunqueuePressure crowd = {runnable_in(read_text("/proc/loadavg").bytes),
                            usable == 0 ? 1 : usable};
  // The kernel counts what runs anywhere. Its other processors are asked for only where it matters,
  // since that takes as long again.
  if (!crowd.is_one()) return crowd;
  const uint32_t online = processors_in(read_text("/sys/devices/system/cpu/online").bytes);
  if (online > crowd.processors) crowd.processors = online;
  return crowd;
}

}  // namespace optile::preload
