#include "daemon/transport/attach_server.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "bindings/abi/frames.h"
#include "daemon/transport/listening_socket.h"

namespace optile::daemon {
namespace {

using base::UniqueFd;
using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr int kAcceptsPerWake = 64;  // most have sent their request by then and are served
constexpr std::size_t kMaxForeignDescriptors = 8;

std::size_t most_descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

UniqueFd open_reserve() {
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// A descriptor that becomes readable when the process ends; invalid where the kernel has none.
UniqueFd process_end(int pid) {
  if (pid <= 0) return UniqueFd();
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// Whatever descriptors a peer sent along are closed: none are expected.
void close_received(const msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      close(fd);
    }
  }
}

// One packet into `buffer`; its true size, 0 at hang-up, negative errno.
ssize_t receive_packet(int fd, void* buffer, std::size_t size) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxForeignDescriptors * sizeof(int))> control{};
  iovec part{buffer, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
  if (received < 0) return -errno;
  close_received(message);
  return received;
}

bool send_attach_reply(int fd, uint64_t client, const ClientMemory::Descriptors& descriptors) {
  optile_attach_reply attach_reply{};
  attach_reply.header = {OPTILE_ABI_MAGIC, OPTILE_ABI_VERSION, OPTILE_FRAME_ATTACH_REPLY,
                         sizeof attach_reply, 0};
  attach_reply.client_id = client;
  attach_reply.plan_region_bytes = sizeof(optile_plan_region);
  attach_reply.client_region_bytes = sizeof(optile_client_region);
  const std::array<int, 2> fds = {descriptors.plan.get(), descriptors.client.get()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> control{};
  iovec part{&attach_reply, sizeof attach_reply};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
  return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof attach_reply;
}

void send_refusal(int fd, const std::string& reason) {
  optile_refused refused{};
  refused.header = {OPTILE_ABI_MAGIC, OPTILE_ABI_VERSION, OPTILE_FRAME_REFUSED, sizeof refused, 0};
  reason.copy(refused.reason, sizeof refused.reason - 1);
  // Best effort: a peer that does not read it learns from the hang-up.
  static_cast<void>(send(fd, &refused, sizeof refused, MSG_DONTWAIT | MSG_NOSIGNAL));
}

}  // namespace

class AttachServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(AttachServer& server, const Peer& peer)
      : server_(server),
        peer_(peer),
        socket_(server.io_),
        end_(server.io_),
        deadline_(server.io_) {}

  void start(UniqueFd fd) {
    const auto self = shared_from_this();
    error_code failed;
    socket_.assign(fd.get(), failed);
    if (failed) {
      refuse(fd.get(), "this daemon can watch no more connections: " + failed.message());
      return;
    }
    static_cast<void>(fd.release());
    readable();
    if (left_ || client_) return;
    deadline_.expires_after(kAttachRequestDeadline);
    deadline_.async_wait([self](const error_code& error) {
      if (!error && !self->client_) self->leave();
    });
  }

  // Idempotent; the owner forgets the connection and hears of the client's departure.
  void leave() {
    if (left_) return;
    left_ = true;
    const auto self = shared_from_this();
    error_code ignored;
    deadline_.cancel(ignored);
    socket_.close(ignored);
    end_.close(ignored);
    server_.forget(self);
    if (client_) server_.handlers_.depart(*client_);
  }

  bool attached() const { return client_.has_value(); }
  unsigned uid() const { return peer_.uid; }

 private:
  void wait() {
    const auto self = shared_from_this();
    socket_.async_wait(stream_descriptor::wait_read, [self](const error_code& error) {
      if (!error) self->readable();
    });
  }

  void readable() {
    // One byte more than an attach request, so that a longer packet is seen as such.
    std::array<char, sizeof(optile_attach_request) + 1> frame;
    const ssize_t size = receive_packet(socket_.native_handle(), frame.data(), frame.size());
    if (size == -EAGAIN || size == -EINTR) return wait();
    if (size <= 0 || client_) return leave();  // hang-up, or talk where silence was agreed
    base::Result<AttachRequest> attach_request =
        parse_attach_request(frame.data(), static_cast<std::size_t>(size));
    if (!attach_request.ok()) return refuse(socket_.native_handle(), attach_request.message());
    greet(std::move(attach_request).value());
  }

  void greet(AttachRequest attach_request) {
    attach_request.pid = peer_.pid;  // what it says of itself may be a pid of somebody else here
    attach_request.uid = peer_.uid;
    base::Result<Admission> admission = server_.handlers_.arrive(std::move(attach_request));
    if (!admission.ok()) return refuse(socket_.native_handle(), admission.message());
    error_code ignored;
    deadline_.cancel(ignored);
    client_ = admission.value().client;
    server_.pending_.remove(peer_.uid);
    if (!send_attach_reply(socket_.native_handle(), *client_, admission.value().descriptors)) {
      return leave();
    }
    watch_process();
    wait();
  }

  void watch_process() {
    UniqueFd end = process_end(peer_.pid);
    if (!end.valid()) return;
    error_code failed;
    end_.assign(end.get(), failed);
    if (failed) return;  // its hang-up tells
    static_cast<void>(end.release());
    const auto self = shared_from_this();
    end_.async_wait(stream_descriptor::wait_read, [self](const error_code& error) {
      if (!error) self->leave();
    });
  }

  void refuse(int fd, const std::string& reason) {
    ++server_.refused_;
    server_.log_.warn("refused a client (pid " + std::to_string(peer_.pid) + "): " + reason);
    send_refusal(fd, reason);
    leave();
  }

  AttachServer& server_;
  Peer peer_;
  stream_descriptor socket_;
  stream_descriptor end_;
  boost::asio::steady_timer deadline_;
  std::optional<uint64_t> client_;
  bool left_ = false;
};

AttachServer::AttachServer(boost::asio::io_context& io, UniqueFd listening, Rights rights,
                           Handlers handlers, Log& log)
    : io_(io),
      listening_(io, listening.release()),
      retry_(io),
      reserve_(open_reserve()),
      rights_(rights),
      handlers_(std::move(handlers)),
      log_(log),
      pending_(most_descriptors(), rights.system()) {
  wait();
}

AttachServer::~AttachServer() {
  stop();
}

void AttachServer::stop() {
  if (stopped_) return;
  stopped_ = true;
  error_code ignored;
  listening_.close(ignored);
  retry_.cancel(ignored);
  const std::set<std::shared_ptr<Connection>> all = connections_;
  for (const std::shared_ptr<Connection>& connection : all) connection->leave();
}

void AttachServer::wait() {
  listening_.async_wait(stream_descriptor::wait_read, [this](const error_code& error) {
    if (!error && !stopped_) accept_some();
  });
}

void AttachServer::accept_some() {
  for (int i = 0; i < kAcceptsPerWake; ++i) {
    if (!accept_one()) return;
  }
  wait();
}

// False when there is nothing more to accept for now; the next wait is set up then.
bool AttachServer::accept_one() {
  UniqueFd fd(accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    switch (errno) {
      case EAGAIN:
        wait();
        return false;
      case EINTR:
      case ECONNABORTED:
        return true;
      default:
        shed();
        return false;
    }
  }
  const Peer peer = peer_of(fd.get());
  // Closed by its owner.
  if (!rights_.may_connect(peer) || !pending_.add(peer.uid)) return true;
  const auto connection = std::make_shared<Connection>(*this, peer);
  connections_.insert(connection);
  connection->start(std::move(fd));
  return true;
}

// No descriptor left: the reserve makes room to accept one peer and close it, so that it knows and
// the socket does not stay readable. Then a pause, so that we never spin.
void AttachServer::shed() {
  reserve_.reset();
  UniqueFd refused(accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
  refused.reset();
  reserve_ = open_reserve();
  retry_.expires_after(kAcceptRetry);
  retry_.async_wait([this](const error_code& error) {
    if (!error && !stopped_) accept_some();
  });
}

void AttachServer::forget(const std::shared_ptr<Connection>& connection) {
  if (connections_.erase(connection) != 0 && !connection->attached()) {
    pending_.remove(connection->uid());
  }
}

}  // namespace optile::daemon
