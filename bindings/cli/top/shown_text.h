// Text as a terminal may show it. What others wrote (names of programs, reasons) may hold escapes,
// control characters, half a character or characters two columns wide: nothing of it may move the
// cursor or break a column. Pure but for the locale of the C library, which says how wide a
// character is.
#pragma once

#include <string>
#include <string_view>

namespace optile::cli {

// Longer ones are cut; no line of a terminal is.
inline constexpr std::size_t kMaxShownBytes = 4096;

// What cannot be shown is '?', what has no width of its own is left out. Without `utf8` all but
// ASCII is '?'.
std::string shown(std::string_view text, bool utf8);

// The others take text that shown() made.
int columns_of(std::string_view text);
// At most so many columns; where something is missing, '>' is its last.
std::string cut(std::string_view text, int columns);
// Exactly so many columns.
std::string fitted(std::string_view text, int columns, bool to_the_right = false);

}  // namespace optile::cli
