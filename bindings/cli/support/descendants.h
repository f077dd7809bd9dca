// What a program that has ended left running, below the process that started it. Linux alone.
#pragma once

namespace optile::cli {

// From here on processes whose parent ends become this process's children.
void adopt_orphans();

// Ends all that runs below this process, hard, but for what optile itself has detached. With
// `reaps`, it waits for the end of each: for a caller that waits for no child in another thread.
void end_descendants(bool reaps);

}  // namespace optile::cli
