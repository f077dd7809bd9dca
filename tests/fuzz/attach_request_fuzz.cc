// Packets on the attach socket: the decoder alone, then the whole way through AttachServer to an
// admitted client, with several packets, foreign descriptors and a hang-up at any point.
#include <algorithm>
#include <array>

#include "tests/fuzz/served.h"

namespace {

using optile::daemon::FakeConnection;
using optile::fuzz::Bytes;
using optile::fuzz::require;

constexpr std::size_t kMaxPackets = 8;
constexpr std::size_t kMaxDescriptors = 12;

void decode(const std::string& packet) {
  const optile::base::Result<optile::daemon::AttachRequest> attach_request =
      optile::daemon::parse_attach_request(packet.data(), packet.size());
  if (!attach_request.ok()) return require(!attach_request.message().empty(), "a refusal says why");
  require(packet.size() == sizeof(optile_attach_request), "only a whole attach request passes");
  for (const std::string* text :
       {&attach_request.value().run_id, &attach_request.value().arguments,
        &attach_request.value().executable, &attach_request.value().program}) {
    for (const char c : *text) require(c >= 0x20 && c <= 0x7e, "texts are clean");
  }
}

void send_packet(int fd, std::string packet, std::size_t descriptors) {
  std::array<int, kMaxDescriptors> passed;
  passed.fill(fd);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  iovec part{packet.data(), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    std::memcpy(CMSG_DATA(header), passed.data(), descriptors * sizeof(int));
  }
  static_cast<void>(sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static optile::fuzz::Served served;
  static const int first_free = dup(0);
  close(first_free);
  Bytes bytes(data, size);
  {
    FakeConnection connection(served.attach_path());
    require(connection.connected(), "the daemon accepts connections");
    for (std::size_t i = 0; i < kMaxPackets && !bytes.empty(); ++i) {
      const auto how = bytes.take<uint8_t>();
      const std::string packet = bytes.text(bytes.take<uint16_t>());
      decode(packet);
      send_packet(connection.fd(), packet, how % (kMaxDescriptors + 1));
      if ((how & 0x80) == 0) served.poll();
      if ((how & 0x40) != 0) connection.receive();
    }
    served.poll();
  }
  served.poll();
  require(served.pending() == 0, "no connection is waited for after its end");
  require(served.controller().client_count() == 0, "no client outlives its connection");
  const int lowest_free = dup(0);
  close(lowest_free);
  require(lowest_free == first_free, "no descriptor is kept");
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  optile_attach_request attach_request = optile::daemon::make_attach_request("program");
  const auto packet = [](const optile_attach_request& frame, uint8_t how) {
    const std::string text(reinterpret_cast<const char*>(&frame), sizeof frame);
    return Script().put(how).put(static_cast<uint16_t>(text.size())).text(text).bytes();
  };
  std::vector<std::string> seeds = {packet(attach_request, 0),
                                    packet(attach_request, 0x40) + packet(attach_request, 0),
                                    packet(attach_request, 0x83), std::string("\0\3\0abc", 6)};
  attach_request.mode = OPTILE_MODE_OBSERVE;
  std::fill(std::begin(attach_request.arguments), std::end(attach_request.arguments), '\xff');
  seeds.push_back(packet(attach_request, 0));
  return seeds;
}
