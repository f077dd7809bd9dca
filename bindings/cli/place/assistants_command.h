// `optile place assistants`: an assistant for each device of a program that runs, over lines of
// JSON (docs/reference/placement_formats.md). The program writes what it runs and what it measures,
// and reads which nodes the assistants would hand over.
#pragma once

#include <iosfwd>

namespace optile::cli {

// Until the end of `in`; each line of the answer is there as soon as its sample is. Returns the
// program's exit code: that of a refusal, with the line's number, where a line is none of these.
int assist_devices(std::istream& in, std::ostream& out);

}  // namespace optile::cli
