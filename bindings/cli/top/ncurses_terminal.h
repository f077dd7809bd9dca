// The terminal through ncurses; the one file that knows it is the source of this header. At most
// one at a time: ncurses and signals are the whole process's. While it is open, SIGINT, SIGTERM,
// SIGHUP and SIGQUIT end a wait instead of the process, and a crash puts the terminal back first.
#pragma once

#include <memory>

#include "base/result.h"
#include "bindings/cli/top/terminal.h"

namespace optile::cli {

class NcursesTerminal : public Terminal {
 public:
  // kUnavailable: this terminal cannot move its cursor, or nobody knows it.
  static base::Result<std::unique_ptr<NcursesTerminal>> open();
  ~NcursesTerminal() override;
  NcursesTerminal(const NcursesTerminal&) = delete;
  NcursesTerminal& operator=(const NcursesTerminal&) = delete;

  Size size() const override;
  void show(const Picture& picture) override;
  Event wait(std::chrono::milliseconds most) override;

  // As it was before open().
  void close();
  // After close(): 0; does not return where a signal asked us to end.
  int end_as_asked() const;

 private:
  struct State;
  NcursesTerminal();
  void take_signals();

  std::unique_ptr<State> state_;
};

}  // namespace optile::cli
