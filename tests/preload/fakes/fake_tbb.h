/* Two copies of oneTBB that only count the tasks that are given to them, and for each a library
 * that gives them some. */
#ifndef OPTILE_TESTS_PRELOAD_FAKE_TBB_H_
#define OPTILE_TESTS_PRELOAD_FAKE_TBB_H_

struct fake_task {
  void* const* table; /* of virtual functions */
};

/* Of the copy: so many tasks were given to it. */
typedef int fake_tbb_given_fn(void);
/* Of the library: a task, and one to a slot, by its function's last call. */
typedef void fake_tbb_give_fn(void);

/* As oneTBB's headers have them called, by the names that their types come to. */
#define FAKE_SPAWN _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE
#define FAKE_SPAWN_TO_SLOT _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt

#ifdef __cplusplus
extern "C" {
#endif
void FAKE_SPAWN(struct fake_task* task, void* context);
void FAKE_SPAWN_TO_SLOT(struct fake_task* task, void* context, unsigned short slot);
#ifdef __cplusplus
}
#endif

#endif
