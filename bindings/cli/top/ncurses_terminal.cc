#include "bindings/cli/top/ncurses_terminal.h"

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

namespace optile::cli {
namespace {

constexpr std::array kAsking = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kEscapeDelayMs = 50;
constexpr std::array<short, 6> kTerminalColours = {COLOR_CYAN, COLOR_YELLOW,  COLOR_GREEN,
                                                   COLOR_BLUE, COLOR_MAGENTA, COLOR_RED};

volatile sig_atomic_t asked_by = 0;  // the signal that asked us to end

// What a crash needs to put the terminal back; only what a signal handler may use.
termios modes_before;
bool modes_known = false;
std::array<char, 256> leave_screen;
std::size_t leave_screen_size = 0;

void on_asking(int signal) {
  asked_by = signal;
}

void on_crash(int signal) {
  if (modes_known) {
    const ssize_t written = write(STDOUT_FILENO, leave_screen.data(), leave_screen_size);
    (void)written;  // nothing else can be done about it
    tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
  }
  raise(signal);  // the handler was for once: the default follows
}

// What the terminal understands by that; null where it does not.
const char* terminal_word(const char* name) {
  const char* word = tigetstr(name);
  return reinterpret_cast<intptr_t>(word) == -1 ? nullptr : word;
}

// The terminal's own words for leaving: attributes off, cursor back, the screen from before.
void remember_way_back() {
  std::string words;
  for (const char* name : {"sgr0", "cnorm", "rmkx", "rmcup"}) {
    const char* word = terminal_word(name);
    if (word == nullptr) continue;
    words += word;
    // What a terminal of old needs to wait for, such as "$<5>", is for others to read.
    words.resize(std::min(words.size(), words.find("$<")));
  }
  leave_screen_size = std::min(words.size(), leave_screen.size());
  std::copy_n(words.begin(), leave_screen_size, leave_screen.begin());
}

bool may_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && has_colors();
}

attr_t attributes_of(const Style& style, bool coloured) {
  attr_t attributes = A_NORMAL;
  if (style.bold) attributes |= A_BOLD;
  if (style.reverse) attributes |= A_REVERSE;
  if (style.dim) attributes |= A_DIM;
  if (coloured && style.colour > 0) {
    const int pair = 1 + (style.colour - 1) % static_cast<int>(kTerminalColours.size());
    attributes |= static_cast<attr_t>(COLOR_PAIR(pair));
  }
  return attributes;
}

int key_of(int key) {
  switch (key) {
    case KEY_UP:
      return kKeyUp;
    case KEY_DOWN:
      return kKeyDown;
    case KEY_PPAGE:
      return kKeyPageUp;
    case KEY_NPAGE:
      return kKeyPageDown;
    case KEY_ENTER:
    case '\r':
    case '\n':
      return kKeyEnter;
    case 27:
      return kKeyEscape;
    case KEY_BACKSPACE:
    case 127:
    case '\b':
      return kKeyBackspace;
    case KEY_RESIZE:
      return kKeyResize;
    default:
      return key >= ' ' && key < 127 ? key : kKeyOther;
  }
}

}  // namespace

struct NcursesTerminal::State {
  SCREEN* screen = nullptr;
  bool coloured = false;
  bool open = false;
  bool signals_taken = false;
  sigset_t while_waiting{};  // blocked then; what asks us to end comes only there
  sigset_t before{};
  std::array<struct sigaction, kAsking.size()> asking_before{};
  std::array<struct sigaction, kCrashes.size()> crashes_before{};
};

NcursesTerminal::NcursesTerminal() : state_(std::make_unique<State>()) {}

NcursesTerminal::~NcursesTerminal() {
  close();
}

base::Result<std::unique_ptr<NcursesTerminal>> NcursesTerminal::open() {
  std::unique_ptr<NcursesTerminal> terminal(new NcursesTerminal());
  State& state = *terminal->state_;
  const char* name = std::getenv("TERM");
  const std::string what = std::string("this terminal (TERM=") + (name == nullptr ? "" : name) +
                           ") cannot show a moving picture; here is one that does not move";
  modes_known = tcgetattr(STDIN_FILENO, &modes_before) == 0;
  state.screen = newterm(nullptr, stdout, stdin);
  if (state.screen == nullptr) return base::Error{base::ErrorKind::kUnavailable, what};
  state.open = true;
  if (terminal_word("cup") == nullptr) return base::Error{base::ErrorKind::kUnavailable, what};
  remember_way_back();
  terminal->take_signals();
  state.coloured = may_colour();
  if (state.coloured) {
    start_color();
    use_default_colors();
    for (std::size_t i = 0; i < kTerminalColours.size(); ++i) {
      init_pair(static_cast<short>(i + 1), kTerminalColours[i], -1);
    }
  }
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapeDelayMs);
  curs_set(0);
  return terminal;
}

void NcursesTerminal::take_signals() {
  State& state = *state_;
  state.signals_taken = true;
  asked_by = 0;
  sigset_t held;
  sigemptyset(&held);
  for (std::size_t i = 0; i < kAsking.size(); ++i) {
    sigaction(kAsking[i], nullptr, &state.asking_before[i]);
    struct sigaction ours = {};
    ours.sa_handler = on_asking;
    // ncurses has set its own for two of them; what was ignored (nohup) stays so.
    if (state.asking_before[i].sa_handler == SIG_IGN) continue;
    sigaction(kAsking[i], &ours, nullptr);
    sigaddset(&held, kAsking[i]);
  }
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    struct sigaction ours = {};
    ours.sa_handler = on_crash;
    ours.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigaction(kCrashes[i], &ours, &state.crashes_before[i]);
  }
  sigaddset(&held, SIGWINCH);
  pthread_sigmask(SIG_BLOCK, &held, &state.before);
  state.while_waiting = state.before;
}

Size NcursesTerminal::size() const {
  return {getmaxx(stdscr), getmaxy(stdscr)};
}

void NcursesTerminal::show(const Picture& picture) {
  werase(stdscr);
  for (std::size_t row = 0; row < picture.size(); ++row) {
    if (wmove(stdscr, static_cast<int>(row), 0) == ERR) break;
    for (const Span& span : picture[row]) {
      wattrset(stdscr, static_cast<int>(attributes_of(span.style, state_->coloured)));
      waddnstr(stdscr, span.text.c_str(), static_cast<int>(span.text.size()));
    }
  }
  wattrset(stdscr, A_NORMAL);
  wrefresh(stdscr);
}

Terminal::Event NcursesTerminal::wait(std::chrono::milliseconds most) {
  Event event;
  // ncurses may hold keys that it has read already.
  int key = wgetch(stdscr);
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  if (key == ERR) {
    const timespec patience = {most.count() / 1000, most.count() % 1000 * 1000000};
    ppoll(&input, 1, &patience, &state_->while_waiting);
    key = wgetch(stdscr);
  }
  const bool hung_up = (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  event.closed = asked_by != 0 || hung_up;
  if (key != ERR) event.key = key_of(key);
  return event;
}

void NcursesTerminal::close() {
  State& state = *state_;
  if (!state.open) return;
  state.open = false;
  endwin();
  delscreen(state.screen);
  modes_known = false;
  if (!state.signals_taken) return;
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    sigaction(kCrashes[i], &state.crashes_before[i], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &state.before, nullptr);
}

int NcursesTerminal::end_as_asked() const {
  const int signal = asked_by;
  if (signal == 0) return 0;
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  sigaction(signal, &by_default, nullptr);
  raise(signal);
  return 128 + signal;
}

}  // namespace optile::cli
