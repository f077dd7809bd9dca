// A peer's text as the value of a label: one bad byte there would cost the whole page. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace optile::daemon {

inline constexpr std::size_t kMaxLabelBytes = 96;

// Valid UTF-8 of at most kMaxLabelBytes. What is no UTF-8 and what is a control character becomes
// '?', what is too long ends with "...", what is empty is "unknown".
std::string label_text(std::string_view text);

}  // namespace optile::daemon
