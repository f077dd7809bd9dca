// Connections that have not sent a request yet: how many there may be, all together and of one
// user. Plain counts; owned by the attach server.
#pragma once

#include <cstddef>
#include <map>

namespace optile::daemon {

class PendingHandshakes {
 public:
  // A start storm of a thousand programs waits here, nobody of them is turned away.
  static constexpr std::size_t kMost = 1280;
  static constexpr std::size_t kFewest = 32;

  // `descriptors`: that this process may have. Each connection is one, and a client about four.
  // `by_user`: one user may have three quarters of them, root without a limit of his own.
  PendingHandshakes(std::size_t descriptors, bool by_user);

  // False: there is no room for one more; nothing is counted then.
  bool add(unsigned uid);
  // One that was added has sent its request or is gone.
  void remove(unsigned uid);
  std::size_t count() const { return count_; }
  std::size_t most() const { return most_; }
  std::size_t most_of_user() const { return most_of_user_; }

 private:
  std::size_t most_;
  std::size_t most_of_user_;
  std::size_t count_ = 0;
  std::map<unsigned, std::size_t> of_user_;
};

}  // namespace optile::daemon
