// Libraries whose own work is to say how many threads a program uses and where they run: DLB,
// likwid-pin, Intel's Thread Composability Manager. Two such masters in one process undo each
// other's work, so beside one of them the shim only watches.
#pragma once

namespace optile::preload {

// Looks at what is loaded, where something was since the last time. True where one is found for the
// first time. Takes the linker's lock; by the thread that maintains the attachment.
bool notice_other_manager();

}  // namespace optile::preload
