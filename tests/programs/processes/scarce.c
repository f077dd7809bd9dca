/* Runs out of something that the shim would like to have, before its first region, and later has it
 * again: "descriptors" (all that the limit allows are open) or "memory" (no address space is left
 * for more than its own threads). Its own descriptors must stay as they are. A line when it has
 * nothing left; then, for every byte that it reads, a few regions and a line, with plenty. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kRegions = 200, kMost = 64, kSpare = 3 << 20 };

static long lost_regions(void) {
  long lost = 0;
  for (int region = 0; region < kRegions; region++) {
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    if (threads != omp_get_max_threads()) lost++;
  }
  return lost;
}

static long run_without_descriptors(void) {
  struct rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  const struct rlimit few = {kMost, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  int opened[kMost];
  int count = 0;
  while (count < kMost && (opened[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) count++;
  long surprises = lost_regions();
  struct stat null;
  stat("/dev/null", &null);
  for (int i = 0; i < count; i++) {
    struct stat mine;
    if (fstat(opened[i], &mine) != 0 || mine.st_rdev != null.st_rdev) surprises++;
    close(opened[i]);
  }
  setrlimit(RLIMIT_NOFILE, &before);
  return surprises + (count == 0);
}

static long address_space(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static long run_without_memory(void) {
  struct rlimit before;
  getrlimit(RLIMIT_AS, &before);
  const struct rlimit little = {(rlim_t)address_space() + kSpare, before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  const long surprises = lost_regions();
  setrlimit(RLIMIT_AS, &before);
  return surprises;
}

int main(int argc, char** argv) {
  const int memory = argc > 1 && strcmp(argv[1], "memory") == 0;
  const long surprises = memory ? run_without_memory() : run_without_descriptors();
  printf("nothing left: %ld surprises\n", surprises);
  fflush(stdout);
  while (getchar() != EOF) {
    printf("%s\n", lost_regions() == 0 ? "ran" : "lost a region");
    fflush(stdout);
  }
  return surprises == 0 ? 0 : 1;
}
