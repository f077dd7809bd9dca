// The client's side of the line to the daemon: connecting, mapping the two shared regions, noticing
// that the daemon is gone, re-attaching. Called at op boundaries, and until the first op where the
// program makes threads (whole_program.h); there is no thread of ours. The first one waits for a
// moment (FirstWait), or, in a RunqueuePressure, leaves it to a later one; no other one waits.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"
#include "bindings/preload/actuators/default_width_source.h"
#include "bindings/preload/children/started_mask.h"
#include "bindings/preload/core/op_registry.h"
#include "bindings/preload/daemon_link/attach_request.h"
#include "bindings/preload/daemon_link/attach_wait.h"
#include "bindings/preload/daemon_link/runqueue_pressure.h"
#include "bindings/preload/daemon_link/whole_program.h"
#include "bindings/preload/runtimes/other_manager.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/shared_memory/liveness_futex.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/host_log.h"
#include "bindings/preload/support/own_descriptor.h"
#include "bindings/preload/support/process_words.h"
#include "bindings/preload/support/shim_clock.h"
#include "bindings/preload/support/uncancelled.h"

namespace optile::preload {
namespace {

__extension__ using Wide = unsigned __int128;  // products of two 64-bit times

constexpr uint64_t kNsPerSecond = 1000000000;
constexpr uint64_t kFirstRetryNs = kNsPerSecond / 10;
constexpr uint64_t kCrowdedRetryNs = kNsPerSecond / 50;  // there is one, without room for us now
constexpr uint64_t kLastRetryNs = 10 * kNsPerSecond;
constexpr uint32_t kMostDoublings = 10;
// A look whether the attach reply has come costs one system call.
constexpr uint64_t kFirstLookNs = kNsPerSecond / 1000;
constexpr uint64_t kLastLookNs = 16 * kFirstLookNs;
constexpr uint64_t kLivenessNs = kNsPerSecond;

enum class Stage { kIdle, kWaitingForAttachReply, kAttached, kGaveUp };
enum class Reached { kNobody, kCrowd, kDaemon };

// Everything below is touched only by the one thread that holds `busy`.
struct Line {
  Stage stage = Stage::kIdle;
  int fd = -1;
  dev_t device = 0;  // of our socket: a program may close all descriptors and reuse the number
  ino_t inode = 0;
  bool rate_is_asked = false;
  bool met = false;    // the first op or region, which may wait
  bool whole = false;  // attached, or about to be, by a thread and no op
  optile_whole_program whole_kind = OPTILE_WHOLE_RUNS;
  bool hears_forks = false;
  uint64_t whole_due = 0;  // as attaching_due, for who is attached so
  uint32_t failures = 0;   // since it was attached
  uint64_t look_ns = kFirstLookNs;
  uint64_t attach_reply_deadline_ns = 0;
  int used = 0;
  uint64_t start_ticks = 0;
  uint64_t start_ns = 0;
};

Line line;
Attachment attachments[kMaxAttachments];
uint64_t ticks_per_ns_q16 = 0;  // ticks per nanosecond, times 65536; 0 = not known yet
int busy = 0;

uint64_t to_ticks(uint64_t ns) {
  if (!counter_is_used()) return ns;
  const uint64_t rate = ticks_per_ns_q16 == 0 ? UINT64_C(65536) : ticks_per_ns_q16;
  return static_cast<uint64_t>((static_cast<Wide>(ns) * rate) >> 16);
}

void due_in(uint64_t ns) {
  __atomic_store_n(&attaching_due, ticks() + to_ticks(ns), __ATOMIC_RELAXED);
}

bool fd_is_ours() {
  struct stat found = {};
  return line.fd >= 0 && fstat(line.fd, &found) == 0 && found.st_dev == line.device &&
         found.st_ino == line.inode;
}

uint64_t some_number() {
  return base::mix64(ticks() ^ (static_cast<uint64_t>(getpid()) << 32)) >> 16;
}

void drop_line() {
  if (fd_is_ours()) close(line.fd);
  line.fd = -1;
}

void hang_up() {
  drop_line();
  line.stage = line.used < kMaxAttachments ? Stage::kIdle : Stage::kGaveUp;
}

void back_off(const char* why, Reached reached = Reached::kNobody) {
  hang_up();
  if (line.failures == 0 && !line.whole) log_line("not attached, running on by itself", why);
  const bool crowded = reached == Reached::kCrowd;
  uint64_t pause = (crowded ? kCrowdedRetryNs : kFirstRetryNs) << line.failures;
  if (pause > kLastRetryNs) pause = kLastRetryNs;
  // Keeps many clients of a restarted daemon apart, and those of a crowd altogether.
  const uint64_t jitter = some_number() % ((crowded ? pause : pause / 4) + 1);
  due_in(pause + jitter);
  if (line.failures < kMostDoublings) ++line.failures;
}

uint64_t ticks_per_second() {
  if (!counter_is_used()) return kNsPerSecond;
  return static_cast<uint64_t>((static_cast<Wide>(ticks_per_ns_q16) * kNsPerSecond) >> 16);
}

// Both clocks at one moment: the reading whose two counter reads lie closest together, since a page
// fault between them would show in the rate of a program that attaches early.
void read_both_clocks(uint64_t* counter, uint64_t* ns) {
  uint64_t narrowest = UINT64_MAX;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const uint64_t before = ticks();
    const uint64_t now = base::monotonic_ns();
    const uint64_t after = ticks();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    *counter = before + (after - before) / 2;
    *ns = now;
  }
}

// Since the start: good enough to say when something is due.
void measure_clock() {
  if (!counter_is_used() || line.rate_is_asked) return;
  uint64_t now_ticks = 0;
  uint64_t now_ns = 0;
  read_both_clocks(&now_ticks, &now_ns);
  if (now_ns <= line.start_ns) return;
  const uint64_t passed = now_ticks - line.start_ticks;
  ticks_per_ns_q16 =
      static_cast<uint64_t>((static_cast<Wide>(passed) << 16) / (now_ns - line.start_ns));
}

// What the processor says itself is better. In a virtual machine the question takes longer than all
// else at the first region, so that only who is attached asks.
void ask_for_rate() {
  if (!counter_is_used() || line.rate_is_asked) return;
  line.rate_is_asked = true;
  const uint64_t stated = base::cpu_counter_stated_hz();
  if (stated == 0) return;
  ticks_per_ns_q16 = static_cast<uint64_t>((static_cast<Wide>(stated) << 16) / kNsPerSecond);
}

// Whose a folder is that nobody else can put a socket into. A system daemon has an account of its
// own, and in a container even root outside may have another number.
bool folder_belongs_to(const char* socket_path, uid_t uid) {
  char folder[sizeof(sockaddr_un::sun_path)];
  snprintf(folder, sizeof folder, "%s", socket_path);
  char* slash = strrchr(folder, '/');
  if (slash == nullptr || slash == folder) return false;
  *slash = '\0';
  struct stat found = {};
  return stat(folder, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == uid &&
         (found.st_mode & 022) == 0;
}

bool server_is_trusted(const char* attach_path, bool named) {
  struct ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(line.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid == 0 || peer.uid == geteuid()) return true;
  return named && folder_belongs_to(attach_path, peer.uid);
}

// A full queue is told at once where nobody wants to wait for room in it.
Reached connect_to(const char* attach_path) {
  if (attach_path[0] == '\0') return Reached::kNobody;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", attach_path);
  if (connect(line.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    return Reached::kDaemon;
  }
  return errno == EAGAIN || errno == EWOULDBLOCK ? Reached::kCrowd : Reached::kNobody;
}

Reached connect_and_greet() {
  line.fd = beyond_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (line.fd < 0) return Reached::kNobody;
  struct stat mine = {};
  if (fstat(line.fd, &mine) != 0) {
    close(line.fd);
    line.fd = -1;
    return Reached::kNobody;
  }
  line.device = mine.st_dev;
  line.inode = mine.st_ino;
  // The machine's daemon where it lets us in, else the user's.
  const Environment& told = environment();
  Reached reached = connect_to(told.system_attach_path);
  const bool by_system = reached != Reached::kNobody;
  if (!by_system) reached = connect_to(told.attach_path);
  if (reached != Reached::kDaemon) return reached;
  const char* path = by_system ? told.system_attach_path : told.attach_path;
  if (!server_is_trusted(path, by_system || told.socket_is_given)) {
    log_line("the daemon's socket belongs to another user", path);
    return Reached::kNobody;
  }
  // One thread at a time is here, on a stack that may be small.
  static optile_attach_request attach_request;
  fill_attach_request(&attach_request, line.whole ? line.whole_kind : OPTILE_WHOLE_NOT);
  const ssize_t sent = send(line.fd, &attach_request, sizeof attach_request, MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(sizeof attach_request) ? Reached::kDaemon : Reached::kNobody;
}

// The two descriptors of an attach reply; -1 where there is none. Anything else that came is
// closed.
struct Received {
  optile_attach_reply attach_reply = {};
  ssize_t bytes = -1;
  int fds[2] = {-1, -1};
};

Received receive_attach_reply() {
  Received got;
  char control[CMSG_SPACE(sizeof(int) * 2)] = {};
  iovec part = {&got.attach_reply, sizeof got.attach_reply};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  got.bytes = recvmsg(line.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got.bytes < 0) return got;
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr;
       part_of = CMSG_NXTHDR(&message, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count && i < 2; ++i) {
      memcpy(&got.fds[i], CMSG_DATA(part_of) + i * sizeof(int), sizeof(int));
    }
  }
  return got;
}

bool attach_reply_is_valid(const Received& got) {
  const optile_frame_header& header = got.attach_reply.header;
  return got.bytes == static_cast<ssize_t>(sizeof(optile_attach_reply)) &&
         header.magic == OPTILE_ABI_MAGIC && header.abi_version == OPTILE_ABI_VERSION &&
         header.kind == OPTILE_FRAME_ATTACH_REPLY && header.bytes == sizeof(optile_attach_reply) &&
         got.attach_reply.plan_region_bytes == sizeof(optile_plan_region) &&
         got.attach_reply.client_region_bytes == sizeof(optile_client_region) && got.fds[0] >= 0 &&
         got.fds[1] >= 0;
}

// A file that can shrink under us would kill the host with SIGBUS: only sealed ones are mapped.
bool is_sealed(int fd, uint64_t bytes) {
  struct stat found = {};
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &found) == 0 &&
         static_cast<uint64_t>(found.st_size) >= bytes;
}

void* map_region(int fd, uint64_t bytes, int protection) {
  if (!is_sealed(fd, bytes)) return nullptr;
  void* region = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (region == MAP_FAILED) return nullptr;
  madvise(region, bytes, MADV_DONTFORK);
  return region;
}

void fill_client_header(optile_client_region* client) {
  optile_client_header& header = client->header;
  header.clock_kind = counter_is_used() ? OPTILE_CLOCK_CPU_COUNTER : OPTILE_CLOCK_MONOTONIC_NS;
  header.ticks_per_second = ticks_per_second();
  header.attach_ticks = ticks();
  header.default_width_source = default_width_source();
  header.fallbacks = fallbacks_so_far();
  // Nobody needs to ask for what was switched off.
  if (environment().highest_counters == OPTILE_COUNTERS_NONE) header.counter_errno = ECANCELED;
  header.abi_version = OPTILE_ABI_VERSION;
  optile_store32(&header.magic, OPTILE_ABI_MAGIC);
}

bool adopt_regions(const Received& got) {
  const auto* plan = static_cast<const optile_plan_region*>(
      map_region(got.fds[0], sizeof(optile_plan_region), PROT_READ));
  if (plan == nullptr) return false;
  auto* client = static_cast<optile_client_region*>(
      map_region(got.fds[1], sizeof(optile_client_region), PROT_READ | PROT_WRITE));
  if (client == nullptr) {
    munmap(const_cast<optile_plan_region*>(plan), sizeof(optile_plan_region));
    return false;
  }
  if (optile_load32(&plan->magic) != OPTILE_ABI_MAGIC ||
      optile_load32(&plan->abi_version) != OPTILE_ABI_VERSION) {
    munmap(const_cast<optile_plan_region*>(plan), sizeof(optile_plan_region));
    munmap(client, sizeof(optile_client_region));
    return false;
  }
  Attachment& next = attachments[line.used++];
  next = {plan, client};
  hold_life(client);
  ask_for_rate();
  fill_client_header(client);
  replay_registrations(client);
  __atomic_store_n(&own_words().attached, &next, __ATOMIC_RELEASE);
  return true;
}

void after_fork_in_parent() {
  if (attachment() != nullptr && !line.whole) add_fallback(OPTILE_FALLBACK_FORKED);
}

void hear_forks() {
  if (line.hears_forks) return;
  line.hears_forks = true;
  pthread_atfork(note_mask_for_child, after_fork_in_parent, note_forked_child);
}

// The number is somebody else's by now: nothing of theirs is read, or closed.
void forget_line() {
  line.fd = -1;
  back_off("the program closed our connection");
}

void finish_attaching() {
  if (!fd_is_ours()) return forget_line();
  Received got = receive_attach_reply();
  const bool nothing_yet =
      got.bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (nothing_yet) {
    if (base::monotonic_ns() > line.attach_reply_deadline_ns) {
      back_off("the daemon does not answer");
    } else {
      due_in(line.look_ns);
      line.look_ns = line.look_ns * 2 < kLastLookNs ? line.look_ns * 2 : kLastLookNs;
    }
    return;
  }
  const bool valid = attach_reply_is_valid(got);
  const bool adopted = valid && adopt_regions(got);
  for (int fd : got.fds) {
    if (fd >= 0) close(fd);
  }
  if (!adopted) {
    // Whoever is too many is not told so: that would need the daemon's time as well.
    if (got.bytes <= 0) return back_off("the daemon hung up", Reached::kCrowd);
    back_off(valid ? "what the daemon sent cannot be mapped" : "the daemon speaks another version");
    return;
  }
  line.stage = Stage::kAttached;
  line.failures = 0;
  due_in(kLivenessNs);
}

void wait_for_attach_reply(FirstWait wait) {
  pollfd attach_reply = {line.fd, POLLIN, 0};
  for (;;) {
    const int slice = wait.next_ms(base::monotonic_ns());
    if (slice == 0) return;
    const int ready = poll(&attach_reply, 1, slice);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
  }
}

// Once, at the first op or region. True where this is no moment to attach: nobody in a crowd waits,
// connects or says anything; each comes back at a later boundary, at a moment of its own.
bool meet_the_first() {
  line.met = true;
  hear_forks();
  const RunqueuePressure crowd = runqueue_pressure_now(usable_units());
  if (!crowd.is_one()) return false;
  due_in(crowd.put_off_ns(some_number()));
  return true;
}

void begin_attaching(bool waits) {
  wipe_words_in_children();  // from here on there is something to keep from them
  if (notice_other_manager()) add_fallback(OPTILE_FALLBACK_OTHER_MANAGER);
  const FirstWait wait(base::monotonic_ns());
  const Reached reached = connect_and_greet();
  if (reached != Reached::kDaemon) {
    const bool crowded = reached == Reached::kCrowd;
    back_off(crowded ? "the daemon's queue is full" : "no daemon on the socket", reached);
    return;
  }
  line.stage = Stage::kWaitingForAttachReply;
  line.attach_reply_deadline_ns = base::monotonic_ns() + 5 * kNsPerSecond;
  line.look_ns = kFirstLookNs;
  if (line.whole && line.whole_kind == OPTILE_WHOLE_SIZES_POOLS) {
    // Once in a program's life, and what comes too late is worth nothing.
    pollfd attach_reply = {line.fd, POLLIN, 0};
    poll(&attach_reply, 1, static_cast<int>(kMostReplyWaitMs));
  } else if (waits) {
    wait_for_attach_reply(wait);
  }
  finish_attaching();
}

void start_attaching() {
  measure_clock();
  const bool waits = !line.met;
  if (waits && meet_the_first()) return;
  begin_attaching(waits);
}

void start_attaching_whole() {
  // The last attachment is left to ops.
  if (line.used + 1 >= kMaxAttachments) return due_in(kLastRetryNs);
  measure_clock();
  hear_forks();
  if (runqueue_pressure_now(usable_units()).is_one()) return due_in(kFirstRetryNs);
  line.whole = true;
  begin_attaching(true);
}

// An op begins: it attaches as if nobody had attached before. The op is counted there, so that the
// daemon knows why that one goes.
void leave_whole() {
  const Attachment* attached = attachment();
  if (attached != nullptr)
    __atomic_fetch_add(&attached->client->header.progress, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&own_words().attached, static_cast<const Attachment*>(nullptr),
                   __ATOMIC_RELEASE);
  line.whole = false;
  line.failures = 0;
  hang_up();
}

void check_liveness() {
  char byte = 0;
  if (!fd_is_ours()) return forget_line();
  const ssize_t got = recv(line.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
    back_off("the daemon is gone; its last plan stays");
    return;
  }
  if (notice_other_manager()) {
    // The daemon is to give it no lease: it comes back as one that is only watched, and where it
    // may not come back any more, the daemon is to forget it.
    add_fallback(OPTILE_FALLBACK_OTHER_MANAGER);
    hang_up();
    due_in(0);
    return;
  }
  due_in(kLivenessNs);
}

void carry_on(void (*start)()) {
  switch (line.stage) {
    case Stage::kIdle:
      start();
      break;
    case Stage::kWaitingForAttachReply:
      finish_attaching();
      break;
    case Stage::kAttached:
      check_liveness();
      break;
    case Stage::kGaveUp:
      __atomic_store_n(&attaching_due, UINT64_MAX, __ATOMIC_RELAXED);
      break;
  }
}

void maintain() {
  const Uncancelled uncancelled;
  if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0) return;
  const int kept_errno = errno;
  if (line.whole) leave_whole();
  carry_on(start_attaching);
  errno = kept_errno;
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

// The daemon takes the hang-up of a connection as the parent's death: a forked child gives up its
// copy. Another thread of the parent may have been attaching.
bool leave_to_parent() {
  drop_line();
  if (line.met) return false;
  line.whole = false;
  line.stage = Stage::kIdle;
  line.failures = 0;
  line.whole_due = 0;
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  return true;
}

constexpr DaemonLink kLink = {maintain, leave_to_parent};

__attribute__((constructor)) void note_start() {
  read_both_clocks(&line.start_ticks, &line.start_ns);
  use_daemon_link(kLink);
}

}  // namespace

// The next op is to find that something is due, whatever is due here.
void attach_as_whole_program(optile_whole_program kind) {
  if (!is_of_launcher() || is_forked_child()) return;
  const Uncancelled uncancelled;
  if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0) return;
  const int kept_errno = errno;
  const bool anew = kind == OPTILE_WHOLE_SIZES_POOLS;
  if (!line.met && (anew || ticks() >= line.whole_due)) {
    // A thread of it has attached it already.
    if (anew && line.whole) leave_whole();
    line.whole_kind = kind;
    carry_on(start_attaching_whole);
    // Its pools are made without that mask now.
    if (anew && line.stage == Stage::kWaitingForAttachReply) leave_whole();
    line.whole_due = __atomic_exchange_n(&attaching_due, UINT64_C(0), __ATOMIC_RELAXED);
  }
  errno = kept_errno;
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

}  // namespace optile::preload
