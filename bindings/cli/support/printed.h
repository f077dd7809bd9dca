// Whether what a command printed has arrived: a full disk or a closed descriptor takes it silently.
#pragma once

namespace optile::cli {

// The exit code of a command that has printed all: `code`, or kOwnFailure, with the reason on
// stderr, where standard output could not be written. For the main thread, at the end.
int printed(int code);

}  // namespace optile::cli
