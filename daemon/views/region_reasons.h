// Why the width of a program's own region is left alone, in words. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace optile::daemon {

// `tuning`: of optile_region_tuning. Empty where it is tuned.
std::string region_reasons(uint32_t tuning);

}  // namespace optile::daemon
