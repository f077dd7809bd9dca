#include "bindings/cli/cluster/job_etcd.h"

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "bindings/cli/cluster/rank_start.h"
#include "bindings/cli/support/child_process.h"

namespace optile::cli {
namespace {

using std::chrono::milliseconds;
using EtcdClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStartPatience{60};
constexpr milliseconds kStartLook{20};
constexpr milliseconds kKeysLook{300};
constexpr int kLooksWithoutAnswer = 10;
constexpr const char* kLogFile = "/log";
constexpr const char* kLoopback = "127.0.0.1";
constexpr int kCannotStart = 1;

base::Error unavailable(const std::string& what) {
  return {base::ErrorKind::kUnavailable, what};
}

std::string folder_prefix() {
  return "optile-etcd-" + std::to_string(geteuid()) + "-";
}

std::filesystem::path temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  return named == nullptr || *named != '/' ? "/tmp" : named;
}

std::string find_in_path(const char* program) {
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::string file = rest.substr(0, end) + "/" + program;
    if (end > 0 && access(file.c_str(), X_OK) == 0) return file;
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return "";
}

// The descriptor of a folder of this account alone, locked; invalid where somebody else has it.
base::UniqueFd lock_folder(const std::string& folder) {
  base::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat is = {};
  if (!fd.valid() || fstat(fd.get(), &is) != 0 || is.st_uid != geteuid() ||
      flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    fd.reset();
  }
  return fd;
}

// Of jobs whose keeper and launch were killed at once: their lock is free.
void remove_leftovers(const std::filesystem::path& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(folder_prefix())) continue;
    const base::UniqueFd lock = lock_folder(entry.path());
    if (lock.valid()) std::filesystem::remove_all(entry.path(), ignored);
  }
}

struct LockedFolder {
  std::string path;
  base::UniqueFd lock;
};

// Mode 0700, as mkdtemp() makes it.
base::Result<LockedFolder> make_folder(const std::string& job) {
  const std::filesystem::path parent = temporary_folder();
  remove_leftovers(parent);
  // Between its making and its lock another launch may take it for a leftover: then another one.
  for (int tries = 0; tries < 10; ++tries) {
    std::string folder = parent / (folder_prefix() + job + "-XXXXXX");
    if (mkdtemp(folder.data()) == nullptr) {
      return base::errno_error("etcd's data needs a folder in " + parent.string(), errno);
    }
    base::UniqueFd lock = lock_folder(folder);
    if (lock.valid() && access(folder.c_str(), F_OK) == 0) {
      return LockedFolder{std::move(folder), std::move(lock)};
    }
  }
  return unavailable("no folder for etcd's data could be made in " + parent.string());
}

// A socket that listens, or that is connected, there; the errno where there is none.
int try_address(const std::string& address, int port, bool listening) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = listening ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) {
    return EADDRNOTAVAIL;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  const base::UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;  // as etcd does: a port whose connections have just ended is free
  if (listening) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int failed = listening
                         ? bind(fd.get(), found->ai_addr, found->ai_addrlen) || listen(fd.get(), 1)
                         : connect(fd.get(), found->ai_addr, found->ai_addrlen);
  return failed != 0 ? errno : 0;
}

std::string url_of(const std::string& address, int port) {
  const bool v6 = address.find(':') != std::string::npos;
  return "http://" + (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

std::vector<std::string> command_of(const std::string& etcd, const std::string& folder,
                                    const JobEtcd::Settings& settings) {
  const std::string peers = url_of(kLoopback, free_port());
  const std::string clients = url_of(settings.address, settings.port);
  return {etcd,
          "--name=optile",
          "--data-dir=" + folder + "/data",
          "--listen-client-urls=" + clients,
          "--advertise-client-urls=" + clients,
          "--listen-peer-urls=" + peers,
          "--initial-advertise-peer-urls=" + peers,
          "--initial-cluster=optile=" + peers};
}

void redirect(const char* file, int flags, std::initializer_list<int> to) {
  const int fd = open(file, flags | O_CLOEXEC, 0600);
  for (const int one : to) dup2(fd, one);
}

[[noreturn]] void become_etcd(const std::vector<std::string>& command, const std::string& folder,
                              pid_t keeper) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(kCannotStart);  // it died before
  unsetenv("LD_PRELOAD");
  std::vector<std::string> of_etcd;  // its options by another way than ours
  for (char** one = environ; *one != nullptr; ++one) {
    if (std::strncmp(*one, "ETCD_", 5) == 0) of_etcd.emplace_back(*one);
  }
  for (const std::string& one : of_etcd) unsetenv(one.substr(0, one.find('=')).c_str());
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  redirect((folder + kLogFile).c_str(), O_WRONLY | O_CREAT | O_APPEND, {1, 2});
  execv(command.front().c_str(), argument_vector(command).data());
  _exit(kCannotStart);
}

// The keeper's life: until the launch has ended, or etcd has.
[[noreturn]] void keep(const std::vector<std::string>& command, const LockedFolder& folder,
                       int lifeline) {
  setsid();  // what a terminal sends is not for it
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  redirect("/dev/null", O_RDWR, {0, 1, 2});
  const pid_t self = getpid();
  const pid_t etcd = fork();
  if (etcd == 0) become_etcd(command, folder.path, self);
  const int ended = etcd < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, etcd, 0));
  pollfd awaited[] = {{lifeline, POLLIN, 0}, {ended, POLLIN, 0}};
  while (ended >= 0 && poll(awaited, 2, -1) < 0 && errno == EINTR) {
  }
  if (etcd > 0) kill(etcd, SIGKILL);
  if (etcd > 0) waitpid(etcd, nullptr, 0);
  // Of an etcd that ended by itself the launch still reads the log.
  if (awaited[0].revents == 0) _exit(kCannotStart);
  std::error_code ignored;
  std::filesystem::remove_all(folder.path, ignored);
  _exit(0);
}

std::string last_line_of_log(const std::string& folder) {
  std::ifstream log(folder + kLogFile);
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it says nothing" : last;
}

}  // namespace

base::Result<std::unique_ptr<JobEtcd>> JobEtcd::start(const Settings& settings) {
  const std::string program = find_in_path("etcd");
  if (program.empty()) {
    return base::Error{base::ErrorKind::kNotFound,
                       "--etcd auto needs etcd on the job's first node, and there is none in PATH "
                       "here: install it (Debian: etcd-server), or name one that runs"};
  }
  if (const int taken = try_address(settings.address, settings.port, true); taken != 0) {
    return unavailable("the job's etcd cannot listen at " +
                       url_of(settings.address, settings.port) + ": " + std::strerror(taken) +
                       "; start the step again, or name an etcd that runs by --etcd http://...");
  }
  base::Result<LockedFolder> folder = make_folder(settings.job);
  if (!folder.ok()) return folder.error();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::errno_error("no pipe for the job's etcd", errno);
  base::UniqueFd theirs(ends[0]), ours(ends[1]);
  const std::vector<std::string> command = command_of(program, folder.value().path, settings);
  const pid_t keeper = fork();
  if (keeper == 0) {
    ours.reset();
    keep(command, folder.value(), theirs.get());
  }
  if (keeper < 0) return base::errno_error("no process for the job's etcd", errno);
  std::unique_ptr<JobEtcd> etcd(new JobEtcd(folder.value().path, std::move(ours), keeper));
  const std::string asked = settings.address == "0.0.0.0" ? kLoopback : settings.address;
  const auto end = EtcdClock::now() + kStartPatience;
  while (etcd->runs() && EtcdClock::now() < end) {
    if (try_address(asked, settings.port, false) == 0) return etcd;
    std::this_thread::sleep_for(kStartLook);
  }
  return unavailable("the job's etcd does not begin: " + last_line_of_log(etcd->folder()));
}

JobEtcd::JobEtcd(std::string folder, base::UniqueFd lifeline, pid_t keeper)
    : folder_(std::move(folder)), lifeline_(std::move(lifeline)), keeper_(keeper) {}

JobEtcd::~JobEtcd() {
  lifeline_.reset();
  if (keeper_ > 0) waitpid(keeper_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool JobEtcd::runs() const {
  if (keeper_ > 0 && waitpid(keeper_, nullptr, WNOHANG) != 0) keeper_ = 0;
  return keeper_ > 0;
}

void wait_until_keys_are_gone(const daemon::EtcdStore::Settings& etcd, const std::string& prefix) {
  boost::asio::io_context io;
  daemon::EtcdStore store(io, etcd);
  int unanswered = 0;
  bool gone = false;
  while (!gone && unanswered < kLooksWithoutAnswer) {
    store.get(prefix, [&](const base::Result<daemon::KeyRange>& range) {
      gone = range.ok() && range.value().entries.empty();
      unanswered = range.ok() ? 0 : unanswered + 1;
    });
    io.restart();
    io.run();
    if (!gone) std::this_thread::sleep_for(kKeysLook);
  }
}

}  // namespace optile::cli
