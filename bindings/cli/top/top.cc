#include "bindings/cli/top/top.h"

#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

#include "base/daemon_choice.h"
#include "bindings/cli/top/ncurses_terminal.h"

namespace optile::cli {
namespace {

using std::chrono::milliseconds;

int fail(const std::string& message) {
  std::cerr << "optile: " << message << "\n";
  return 1;
}

void take(Scene& scene, Snapshot seen) {
  // Another daemon counts its clients anew.
  if (seen.daemon_pid != scene.seen.daemon_pid) {
    scene.letters.forget();
  }
  scene.unreachable.clear();
  scene.seen = std::move(seen);
  scene.letters.follow(scene.seen.clients);
}

class Loop {
 public:
  Loop(const TopLoop& loop, Snapshot first) : loop_(loop) {
    take(scene_, std::move(first));
    interaction_.follow(scene_.seen);
    next_look_ = loop_.now() + loop_.interval;
  }

  void run() {
    while (true) {
      if (loop_.now() >= next_look_) look();
      loop_.terminal.show(draw(scene_, interaction_, loop_.terminal.size()));
      const milliseconds left = std::max(milliseconds(0), next_look_ - loop_.now());
      const Terminal::Event event = loop_.terminal.wait(left);
      if (event.closed) return;
      if (!event.key) continue;
      if (!fulfil(interaction_.on_key(*event.key, scene_.seen))) return;
    }
  }

 private:
  void look() {
    base::Result<Snapshot> seen = loop_.source.look();
    if (seen.ok()) {
      take(scene_, std::move(seen).value());
      interaction_.follow(scene_.seen);
    } else {
      scene_.unreachable = seen.message();
    }
    next_look_ = loop_.now() + loop_.interval;
  }

  // False: to end.
  bool fulfil(const Wish& wish) {
    switch (wish.kind) {
      case Wish::Kind::kNone:
        return true;
      case Wish::Kind::kQuit:
        return false;
      case Wish::Kind::kExplain:
        explain(wish.client);
        return true;
      case Wish::Kind::kIssue:
        if (const base::Status done = loop_.source.issue(wish.command); !done.ok()) {
          interaction_.show_message(done.message());
        }
        look();
        return true;
    }
    return true;
  }

  void explain(uint64_t id) {
    const ClientSeen* client = scene_.seen.find(id);
    if (client == nullptr) return;
    base::Result<std::vector<std::string>> lines = loop_.source.explain(*client);
    if (lines.ok()) {
      interaction_.open_pane(scene_.letters.of(id) + " explained", std::move(lines).value());
    } else {
      interaction_.show_message(lines.message());
    }
  }

  const TopLoop& loop_;
  Scene scene_;
  Interaction interaction_;
  milliseconds next_look_{0};
};

milliseconds monotonic_now() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

int print_once(Snapshot seen) {
  Scene scene;
  take(scene, std::move(seen));
  std::fputs(plain_picture(scene).c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : fail("the picture cannot be written");
}

}  // namespace

void run_loop(const TopLoop& loop, Snapshot first) {
  Loop(loop, std::move(first)).run();
}

int watch(const Options& options) {
  // Only what a character is: numbers stay as programs read them.
  std::setlocale(LC_CTYPE, "");
  const bool utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const std::string named = base::choose_daemon(base::runtime_environment(), options.socket).socket;
  std::error_code failed;
  const std::string socket = std::filesystem::absolute(named, failed).string();
  if (failed) return fail(named + ": " + failed.message());
  const std::unique_ptr<TopSource> source = make_socket_source(socket, utf8);
  base::Result<Snapshot> first = source->look();
  if (!first.ok()) return fail(first.message());
  const bool live = !options.top.once && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  if (!live) return print_once(std::move(first).value());
  base::Result<std::unique_ptr<NcursesTerminal>> terminal = NcursesTerminal::open();
  if (!terminal.ok()) {
    std::cerr << "optile: " << terminal.message() << "\n";
    return print_once(std::move(first).value());
  }
  const milliseconds interval(static_cast<int64_t>(options.top.interval_seconds * 1000));
  run_loop({*terminal.value(), *source, interval, monotonic_now}, std::move(first).value());
  terminal.value()->close();
  return terminal.value()->end_as_asked();
}

}  // namespace optile::cli
