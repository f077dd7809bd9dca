// A child that was forked without exec has one thread, and libgomp in it still believes in the team
// that its parent had: the child's next region would wait for threads that stayed behind, for ever.
// A team of one needs none of them, so that is the width that such a child starts with; what it
// then says itself holds. LLVM's runtime looks after its children, and programs that are only
// observed are left as they are.
#pragma once

namespace optile::preload {

// A region opens on this thread; `caller` as RegionScope has it. Asks the linker once a thread.
void note_team(const void* caller);

// In the child, on the thread that forked; asks nobody (probe_hooks.h).
void settle_forked_child();

}  // namespace optile::preload
