// How long a thread of the program waits for others that compute: not for ever. It ends where what
// is waited for did not move for two spans of kSpanNs and the process computed next to nothing in
// the second: then those others wait themselves, perhaps for the one that waits here. Nor does it
// last for more than kMostSpans without a move, whatever is computed. Owned by the thread that
// waits.
#pragma once

#include <stdint.h>

namespace optile::preload {

class Patience {
 public:
  static constexpr long kSpanNs = 50'000'000;
  static constexpr int kMostSpans = 40;

  // `moves`: a count of what is waited for.
  explicit Patience(uint32_t moves) : seen_(moves) {}

  // Sleeps until `word` is another than `value`, or somebody wakes it, or a span is over. False: a
  // span was over. errno is lost.
  static bool sleep(uint32_t* word, uint32_t value);
  static void wake_one(uint32_t* word);  // keeps errno

  // A span is over. True: so is the patience.
  bool ends(uint32_t moves);

 private:
  uint32_t seen_;
  int64_t spent_ = -1;  // by the process; asked for once a span is over
  int in_vain_ = 0;
};

}  // namespace optile::preload
