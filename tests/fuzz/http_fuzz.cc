// Requests: raw bytes through the parser of the HTTP server, and targets and bodies straight into
// the API, with a client attached so that there is something to tell.
#include <array>

#include "tests/daemon/fixtures/running_daemon.h"
#include "tests/fuzz/served.h"

namespace {

using optile::base::UniqueFd;
using optile::daemon::ClientRegions;
using optile::daemon::FakeConnection;
using optile::fuzz::Bytes;
using optile::fuzz::require;

// With one op and a few events.
class WithClient {
 public:
  WithClient() : connection_(served_.attach_path()) {
    const optile_attach_request attach_request = optile::daemon::make_attach_request("program");
    connection_.send(&attach_request, sizeof attach_request);
    served_.poll();
    require(connection_.receive() == FakeConnection::Answer::kAttachReply, "a client is served");
    regions_ = ClientRegions(connection_.plan_fd(), connection_.client_fd());
    regions_.begin(UINT64_C(9000000000), 4);
    regions_.register_op(7, "aten::mm", "[8,8]");
    for (uint64_t i = 0; i < 8; ++i) {
      optile_event event{};
      event.kind = OPTILE_EVENT_OP;
      event.begin_ticks = UINT64_C(9000000000) + i * 1000;
      event.ticks = 500;
      event.width = 4;
      regions_.write(event);
    }
    served_.controller().drain();
  }
  optile::fuzz::Served& served() { return served_; }

 private:
  optile::fuzz::Served served_;
  FakeConnection connection_;
  ClientRegions regions_;
};

void ask_api(optile::fuzz::Served& served, Bytes& bytes) {
  static constexpr std::array<const char*, 4> kMethods = {"GET", "POST", "PUT", ""};
  optile::daemon::HttpRequest request;
  request.method = kMethods[bytes.take<uint8_t>() % kMethods.size()];
  request.target = bytes.text(bytes.take<uint16_t>());
  request.body = bytes.text(SIZE_MAX);
  const optile::daemon::HttpResponse response = served.api().answer(request);
  require(response.status >= 200 && response.status < 500, "an answer has a status of ours");
  require(optile::daemon::Json::accept(response.body), "an answer is JSON");
}

void ask_socket(optile::fuzz::Served& served, Bytes& bytes) {
  UniqueFd fd(optile::daemon::connect_stream(served.http_path()));
  require(fd.valid(), "the daemon accepts connections");
  while (!bytes.empty()) {
    const std::string part = bytes.text(bytes.take<uint16_t>());
    if (send(fd.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
    served.poll();
  }
  shutdown(fd.get(), SHUT_WR);
  served.poll();
  std::array<char, 16> answer{};
  const ssize_t got = recv(fd.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  if (got > 0) require(std::memcmp(answer.data(), "HTTP/1.1", 8) == 0, "an answer is HTTP");
  fd.reset();
  served.poll();
  require(served.connections() == 0, "no connection outlives its peer");
}

std::string request(const std::string& text) {
  return optile::fuzz::Script().put(static_cast<uint16_t>(text.size())).text(text).bytes();
}

std::string call(uint8_t method, const std::string& target, const std::string& body) {
  return optile::fuzz::Script()
      .put(uint8_t{1})
      .put(method)
      .put(static_cast<uint16_t>(target.size()))
      .text(target)
      .text(body)
      .bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static WithClient with_client;
  Bytes bytes(data, size);
  if (bytes.take<uint8_t>() % 2 == 0) {
    ask_socket(with_client.served(), bytes);
  } else {
    ask_api(with_client.served(), bytes);
    with_client.served().controller().history().batches().flush(true);
  }
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  const std::string launch =
      R"({"openmp":"auto","wait":"active","blas":"keep","blas_provider":"openblas",)"
      R"("uses_openmp":true,"resizes_teams":false,"libomp_path":"/l","libomp_suitable":true,)"
      R"("user_environment":{"OMP_NUM_THREADS":"2"},"budget_cores":3,"executable":"/p",)"
      R"("program":"p","arguments":["p","--steps"]})";
  const std::string socket(1, '\0');
  return {call(0, "/v1/status", ""),
          call(0, "/v1/clients/1", ""),
          call(0, "/v1/ops?client=1", ""),
          call(0, "/v1/ops/0000000000000007/explain?client=1", ""),
          call(0, "/v1/ops/aten%3A%3Amm/explain", ""),
          call(0, "/v1/machine", ""),
          call(0, "/v1/runs/run-program/report", ""),
          call(1, "/v1/launch", launch),
          socket + request("GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n"),
          socket + request("POST /v1/launch HTTP/1.1\r\nHost: x\r\nContent-Le") +
              request("ngth: 2\r\n\r\n{}GET /v1/ops HTTP/1.1\r\n\r\n"),
          socket + request("POST /v1/launch HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "2\r\n{}\r\n0\r\n\r\n"),
          socket + request("GET / HTTP/1.0\r\nContent-Length: 99999999999\r\n\r\n")};
}
