/* A library with a static copy of ittnotify inside, as oneDNN is: it opens what
 * INTEL_LIBITTNOTIFY64 names when it first tells of something. Each build of it is a copy of its
 * own. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* What it called, and what it is called back with. */
struct fake_itt {
  /* To be set before the first task. */
  unsigned groups;
  unsigned long build;
  /* Asks for a domain, and switches it on where there is no collector. */
  void (*domain)(int creates);
  /* `info`: null as oneDNN before 3.12, which says nothing more. `end`: 0 forgets it. */
  void (*run)(int creates, const char* kind, const char* info, void (*work)(void), int end);
  /* A range of somebody else's domain in the same copy, as PyTorch's. */
  void (*range)(const char* name);
  /* Whether the collector put something in place of nothing, or left what opens it. */
  int (*tasks_are_told)(void);
  int (*metadata_are_told)(void);
  int (*is_unopened)(void);
  int (*ranges_told)(void);
};

#define FAKE_ITT_SYMBOL "fake_itt_library"
typedef struct fake_itt* (*fake_itt_fn)(void);

#ifdef __cplusplus
}
#endif
