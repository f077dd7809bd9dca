/* Jumps at a function's end leave whoever called that function as the one to return to. */
#include <stddef.h>

#include "tests/preload/fakes/fake_tbb.h"

static void* const table[3] = {NULL}; /* nobody looks at what they do */
static struct fake_task task = {table};

void give(void);
void give_to_slot(void);

void give(void) {
  FAKE_SPAWN(&task, NULL);
}

void give_to_slot(void) {
  FAKE_SPAWN_TO_SLOT(&task, NULL, 1);
}
