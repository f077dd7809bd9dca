#include "tests/daemon/fake_client.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <utility>

namespace optile::daemon {
namespace {

template <std::size_t kSize>
void put(char (&field)[kSize], const std::string& text) {
  text.copy(field, kSize - 1);
}

}  // namespace

optile_hello make_hello(const std::string& program) {
  optile_hello hello{};
  hello.header = {OPTILE_ABI_MAGIC, OPTILE_ABI_VERSION, OPTILE_FRAME_HELLO, sizeof hello, 0};
  hello.pid = 4711;
  put(hello.run_id, "run-" + program);
  put(hello.executable, "/usr/bin/" + program);
  put(hello.program, program);
  put(hello.arguments, program + " --steps 3");
  put(hello.version, "0.1.0");
  return hello;
}

ClientRegions::ClientRegions(int plan_fd, int client_fd) {
  void* plan = mmap(nullptr, sizeof(optile_plan_region), PROT_READ, MAP_SHARED, plan_fd, 0);
  void* client =
      mmap(nullptr, sizeof(optile_client_region), PROT_READ | PROT_WRITE, MAP_SHARED, client_fd, 0);
  if (plan != MAP_FAILED) plan_ = static_cast<const optile_plan_region*>(plan);
  if (client != MAP_FAILED) client_ = static_cast<optile_client_region*>(client);
}

ClientRegions::ClientRegions(ClientRegions&& other) noexcept
    : plan_(std::exchange(other.plan_, nullptr)), client_(std::exchange(other.client_, nullptr)) {}

ClientRegions& ClientRegions::operator=(ClientRegions&& other) noexcept {
  std::swap(plan_, other.plan_);
  std::swap(client_, other.client_);
  return *this;
}

ClientRegions::~ClientRegions() {
  if (plan_ != nullptr) munmap(const_cast<optile_plan_region*>(plan_), sizeof *plan_);
  if (client_ != nullptr) munmap(client_, sizeof *client_);
}

void ClientRegions::begin(uint64_t attach_ns, int own_width) {
  optile_client_header& header = client_->header;
  header.clock_kind = OPTILE_CLOCK_MONOTONIC_NS;
  header.ticks_per_second = UINT64_C(1000000000);
  header.attach_ticks = attach_ns;
  header.own_width = static_cast<uint32_t>(own_width);
  header.own_width_source = OPTILE_WIDTH_LAUNCHER;
  std::strcpy(header.runtime_path, "/usr/lib/libgomp.so.1");
  optile_store32(&header.runtime, OPTILE_RUNTIME_LIBGOMP);
  header.abi_version = OPTILE_ABI_VERSION;
  optile_store32(&header.magic, OPTILE_ABI_MAGIC);
}

uint32_t ClientRegions::register_op(uint64_t key, const std::string& name,
                                    const std::string& shape) {
  const uint32_t id = client_->header.registry_count;
  optile_op_record& record = client_->ops[id];
  record.key = key;
  record.probe = OPTILE_PROBE_TORCH;
  put(record.name, name);
  put(record.shape, shape);
  optile_store32(&client_->header.registry_count, id + 1);
  return id;
}

bool ClientRegions::write(const optile_event& event, uint32_t thread) {
  optile_thread_slot& slot = client_->threads[thread];
  if (slot.tid == 0) optile_store32(&slot.tid, 100 + thread);
  if (slot.head - optile_load64(&plan_->tails[thread]) == OPTILE_RING_EVENTS) {
    optile_store64(&slot.dropped, slot.dropped + 1);
    return false;
  }
  slot.ring[slot.head % OPTILE_RING_EVENTS] = event;
  optile_store64(&slot.head, slot.head + 1);
  return true;
}

FakeConnection::FakeConnection(const std::string& attach_path)
    : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  attach_path.copy(address.sun_path, sizeof address.sun_path - 1);
  connected_ = connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

bool FakeConnection::say(const void* frame, std::size_t size) {
  return send(fd_.get(), frame, size, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(size);
}

FakeConnection::Heard FakeConnection::listen() {
  alignas(8) std::array<char, 1024> frame{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 2)> control{};
  iovec part{frame.data(), frame.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return errno == EAGAIN ? Heard::kNothing : Heard::kHangUp;
  if (size == 0) return Heard::kHangUp;
  optile_frame_header header;
  std::memcpy(&header, frame.data(), sizeof header);
  if (header.kind == OPTILE_FRAME_REFUSED) {
    optile_refused refused;
    std::memcpy(&refused, frame.data(), sizeof refused);
    reason_ = refused.reason;
    return Heard::kRefused;
  }
  std::memcpy(&welcome_, frame.data(), sizeof welcome_);
  const cmsghdr* received = CMSG_FIRSTHDR(&message);
  if (received != nullptr && received->cmsg_len == CMSG_LEN(sizeof(int) * 2)) {
    std::array<int, 2> fds{};
    std::memcpy(fds.data(), CMSG_DATA(received), sizeof fds);
    plan_fd_.reset(fds[0]);
    client_fd_.reset(fds[1]);
  }
  return Heard::kWelcome;
}

}  // namespace optile::daemon
