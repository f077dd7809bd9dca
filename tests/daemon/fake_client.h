// The client's side of the protocol, in the test's own process: attaches over a real socket or gets
// its memory handed, registers ops, writes events, reads pages.
#pragma once

#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "bindings/abi/frames.h"
#include "daemon/client_memory.h"

namespace optile::daemon {

optile_hello make_hello(const std::string& program);

// The client's two mappings.
class ClientRegions {
 public:
  ClientRegions() = default;
  ClientRegions(int plan_fd, int client_fd);
  ClientRegions(ClientRegions&& other) noexcept;
  ClientRegions& operator=(ClientRegions&& other) noexcept;
  ~ClientRegions();

  bool valid() const { return plan_ != nullptr && client_ != nullptr; }
  const optile_plan_region& plan() const { return *plan_; }
  optile_client_region& client() { return *client_; }

  // Header with the monotonic clock, beginning at `attach_ns`.
  void begin(uint64_t attach_ns, int own_width);
  // Returns the op's id.
  uint32_t register_op(uint64_t key, const std::string& name, const std::string& shape);
  // False when the ring is full: dropped and counted.
  bool write(const optile_event& event, uint32_t thread = 0);

 private:
  const optile_plan_region* plan_ = nullptr;
  optile_client_region* client_ = nullptr;
};

// A connection to an attach socket. Never blocks: the test drives the daemon in between.
class FakeConnection {
 public:
  explicit FakeConnection(const std::string& attach_path);

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  bool say(const void* frame, std::size_t size);
  // What has arrived so far: nothing yet, hung up, refused (with reason), or welcome (with memory).
  enum class Heard { kNothing, kHangUp, kRefused, kWelcome };
  Heard listen();
  const std::string& reason() const { return reason_; }
  uint64_t client_id() const { return welcome_.client_id; }
  int plan_fd() const { return plan_fd_.get(); }
  int client_fd() const { return client_fd_.get(); }
  void hang_up() { fd_.reset(); }

 private:
  base::UniqueFd fd_;
  bool connected_ = false;
  std::string reason_;
  optile_welcome welcome_{};
  base::UniqueFd plan_fd_;
  base::UniqueFd client_fd_;
};

}  // namespace optile::daemon
