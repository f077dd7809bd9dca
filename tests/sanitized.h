// Whether a sanitizer watches this build. Simulations run on fewer seeds there: that is enough to
// pass every line of what they simulate, and each takes up to thirty times as long.
#pragma once

namespace optile::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace optile::test
