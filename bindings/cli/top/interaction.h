// What the keys do: which client is selected, what is being asked, which pane is open. Pure: keys
// in, wishes out; whoever shows the picture fulfils them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/cli/options.h"
#include "bindings/cli/support/json_fields.h"
#include "bindings/cli/top/snapshot.h"

namespace optile::cli {

// A printable ASCII character, or one of these.
enum Key : int {
  kKeyOther = 256,
  kKeyUp,
  kKeyDown,
  kKeyPageUp,
  kKeyPageDown,
  kKeyEnter,
  kKeyEscape,
  kKeyBackspace,
  kKeyResize
};

struct Wish {
  enum class Kind { kNone, kQuit, kExplain, kIssue };
  Kind kind = Kind::kNone;
  uint64_t client = 0;  // of kExplain
  Json command;         // of kIssue: what /v1/leases is sent
};

class Interaction {
 public:
  // Of an answer that is being typed.
  static constexpr std::size_t kMaxAnswer = 200;

  Wish on_key(int key, const Snapshot& seen);
  // After each look: the first client where nobody, or somebody who is gone, is selected.
  void follow(const Snapshot& seen);

  // 0 = nobody.
  uint64_t selected() const { return selected_; }
  // For the bottom line until the next key.
  void show_message(std::string message) { message_ = std::move(message); }
  void open_pane(std::string title, std::vector<std::string> lines);

  struct Pane {
    std::string title;
    std::vector<std::string> lines;
    std::size_t first = 0;  // line that is shown first
  };
  // Null: the clients are shown.
  const Pane* pane() const { return pane_open_ ? &pane_ : nullptr; }
  // What is asked with what was typed so far; else the message; else the keys.
  std::string bottom_line() const;
  bool asking() const { return asked_ != Asked::kNothing; }

 private:
  enum class Asked { kNothing, kShare, kPin, kDetach };
  Wish on_answer(int key);
  Wish on_pane_key(int key);
  Wish on_command_key(int key, const ClientSeen& client);
  void move(const Snapshot& seen, int by);
  void ask(Asked what, const ClientSeen& client);
  Wish issue(Verb verb) const;

  uint64_t selected_ = 0;
  std::string message_;
  Asked asked_ = Asked::kNothing;
  uint64_t asked_client_ = 0;  // who it is about, whoever is selected when it is answered
  std::string question_;
  std::string answer_;
  bool pane_open_ = false;
  Pane pane_;
};

}  // namespace optile::cli
