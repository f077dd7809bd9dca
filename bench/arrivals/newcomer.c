/* Waits until its standard input ends, as that of hundreds more does at the same moment; then opens
 * a region now and then for some seconds and prints one line of microseconds: its first region, its
 * longest later one, and how long after the first one began it was attached, -1 for never, to a
 * tenth of a second: looking costs time, which a thousand of these would take from each other.
 *   newcomer SECONDS */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What the daemon gives is larger than anything else that comes meanwhile. */
enum { kPauseUs = 20000, kPausesALook = 5, kRegionPages = 256 };

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t region_us(void) {
  const int64_t begin = now_us();
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  return threads > 0 ? now_us() - begin : -1;
}

/* Pages that are mapped: the one look that costs a few microseconds only. */
static long mapped_pages(void) {
  char text[64] = "";
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  return size > 0 ? atol(text) : 0;
}

/* The shim has mapped what the daemon gave it, by name. */
static int is_attached(void) {
  char line[512];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 0;
  while (!found && fgets(line, sizeof line, maps) != NULL) {
    found = strstr(line, "memfd:optile-plan") != NULL;
  }
  fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 3;
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  const long pages = mapped_pages();
  const int64_t begin = now_us();
  const int64_t first = region_us();
  int64_t longest = 0;
  int64_t attached = -1;
  for (int pause = 1; now_us() - begin < (int64_t)(seconds * 1e6); ++pause) {
    usleep(kPauseUs);
    const int64_t took = region_us();
    if (took > longest) longest = took;
    if (attached >= 0 || pause % kPausesALook != 0) continue;
    if (mapped_pages() - pages >= kRegionPages && is_attached()) attached = now_us() - begin;
  }
  char text[128];
  const int size = snprintf(text, sizeof text, "%lld %lld %lld\n", (long long)first,
                            (long long)longest, (long long)attached);
  return write(STDOUT_FILENO, text, (size_t)size) == size ? 0 : 1;
}
