// Two users of a machine, who exist only in tests.
#pragma once

namespace optile::daemon {

inline constexpr unsigned kAnna = 1000;
inline constexpr unsigned kBert = 1001;

}  // namespace optile::daemon
