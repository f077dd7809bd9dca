#include "tests/preload/fakes/fake_tbb.h"

static int given = 0;

int fake_tbb_given(void);
int fake_tbb_given(void) {
  return given;
}

void FAKE_SPAWN(struct fake_task* task, void* context) {
  (void)task, (void)context;
  ++given;
}

void FAKE_SPAWN_TO_SLOT(struct fake_task* task, void* context, unsigned short slot) {
  (void)task, (void)context, (void)slot;
  ++given;
}
