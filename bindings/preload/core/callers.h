// What the object around a piece of the program is bound to, as far as ops ask it each time:
// whether the thread is a worker of a region of that object's own runtime. Remembered for each
// object, also where there is no runtime, since asking takes the linker's lock. Any thread.
#pragma once

namespace optile::preload {

using InParallel = int (*)();

// omp_in_parallel() as the object around `caller` is bound to it; null where it is bound to none.
InParallel in_parallel_of(const void* caller);

// True inside a region of the runtime that `caller` is bound to.
bool is_on_a_worker(const void* caller);

}  // namespace optile::preload
