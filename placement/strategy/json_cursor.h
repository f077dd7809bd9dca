// A forward reader of JSON without a tree in memory: strategy problems have millions of numbers.
// nlohmann's SAX interface alone takes four times the instructions of the whole of read_iopddl with
// this, in the same memory. The first error stays, with line and column; everything after it
// answers "no more".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace optile::placement {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  bool ok() const { return error_.empty(); }
  base::Status status() const;

  // Consumes this character after white space, or fails with what was expected.
  bool take(char expected);
  // Whether this character is next; consumes nothing but white space.
  bool peek(char wanted);
  // After an element: true and past the comma, or false and past `closing`.
  bool another(char closing);
  // `[` or `{` and whether anything is in it: false and past `closing` when it is empty.
  bool open(char opening, char closing);
  // A string without escapes other than \" \\ and \/; the names of the format need no more.
  std::string text();
  // A whole number within 64 bits; 1e18 and 3.0 are numbers of JSON but not of this format.
  std::int64_t number();
  // Nothing but white space may follow.
  void end();
  void fail(const std::string& what);

 private:
  void skip_space();

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace optile::placement
