#include "daemon/cluster/link_probe.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

namespace optile::daemon {
namespace {

using boost::asio::ip::tcp;
using ProbeClock = std::chrono::steady_clock;
using ProbeError = boost::system::error_code;
using std::chrono::duration;

constexpr int kPings = 4;
constexpr std::size_t kFirstTransfer = std::size_t{4} << 10;
constexpr std::size_t kLongestTransfer = std::size_t{1} << 20;
constexpr std::size_t kGrowth = 4;
// A longer transfer than this says no more, and would be in the way of others on a narrow link.
constexpr duration<double> kLongEnough{0.02};
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::chrono::seconds kPauseOfFailure{1};

double seconds_since(ProbeClock::time_point begin) {
  return duration<double>(ProbeClock::now() - begin).count();
}

}  // namespace

// One connection. Owns itself until it has ended.
class ProbeResponder::Answering : public std::enable_shared_from_this<Answering> {
 public:
  Answering(tcp::socket socket, std::function<void()> ended)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), ended_(std::move(ended)) {}
  ~Answering() { ended_(); }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  void begin() {
    timer_.expires_after(kProbeTime);
    timer_.async_wait([self = shared_from_this()](const ProbeError& error) {
      if (!error) self->end();
    });
    read();
  }

  void end() {
    ProbeError ignored;
    socket_.close(ignored);
    timer_.cancel();
  }

 private:
  void read() {
    socket_.async_read_some(
        boost::asio::buffer(received_),
        [self = shared_from_this()](const ProbeError& error, std::size_t bytes) {
          const std::size_t before = self->total_ / kProbeBlockBytes;
          self->total_ += bytes;
          if (error || self->total_ > kMaxProbeBytes) return self->end();
          const std::size_t blocks = self->total_ / kProbeBlockBytes - before;
          if (blocks == 0) return self->read();
          self->answer(blocks);
        });
  }

  void answer(std::size_t blocks) {
    boost::asio::async_write(socket_, boost::asio::buffer(answers_, blocks),
                             [self = shared_from_this()](const ProbeError& error, std::size_t) {
                               if (error) return self->end();
                               self->read();
                             });
  }

  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::function<void()> ended_;
  std::size_t total_ = 0;
  std::array<char, kReadBytes> received_;
  const std::array<char, kReadBytes / kProbeBlockBytes + 1> answers_ = {};
};

struct ProbeResponder::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& io, Limits allowed) : limits(allowed), acceptor(io), pause(io) {}

  void accept() {
    acceptor.async_accept([self = shared_from_this()](const ProbeError& error, tcp::socket socket) {
      if (!self->acceptor.is_open()) return;
      if (error) return self->accept_later();
      self->take(std::move(socket));
      self->accept();
    });
  }

  // No descriptor is left, say.
  void accept_later() {
    pause.expires_after(kPauseOfFailure);
    pause.async_wait([self = shared_from_this()](const ProbeError& error) {
      if (!error) self->accept();
    });
  }

  void take(tcp::socket socket) {
    ProbeError error;
    const tcp::endpoint from = socket.remote_endpoint(error);
    const auto now = ProbeClock::now();
    if (now - minute_began >= std::chrono::minutes(1)) {
      minute_began = now;
      in_minute = 0;
    }
    if (error || !let_through.contains(from.address()) || at_once >= limits.at_once ||
        in_minute >= limits.a_minute) {
      return;  // the socket closes
    }
    ++at_once;
    ++in_minute;
    socket.set_option(tcp::no_delay(true), error);
    auto answering = std::make_shared<Answering>(std::move(socket),
                                                 [self = shared_from_this()] { --self->at_once; });
    std::erase_if(open, [](const auto& one) { return one.expired(); });
    open.push_back(answering);
    answering->begin();
  }

  const Limits limits;
  tcp::acceptor acceptor;
  boost::asio::steady_timer pause;
  std::set<Address> let_through;
  std::vector<std::weak_ptr<Answering>> open;
  ProbeClock::time_point minute_began;
  int in_minute = 0;
  int at_once = 0;
};

ProbeResponder::ProbeResponder(boost::asio::io_context& io, Limits limits)
    : state_(std::make_shared<State>(io, limits)) {}

ProbeResponder::~ProbeResponder() {
  ProbeError ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
  for (const auto& one : state_->open) {
    if (const auto answering = one.lock()) answering->end();
  }
}

base::Result<int> ProbeResponder::listen(const Address& address) {
  ProbeError error;
  const tcp::endpoint wanted(address, 0);
  state_->acceptor.open(wanted.protocol(), error);
  if (!error) state_->acceptor.bind(wanted, error);
  if (!error) state_->acceptor.listen(state_->limits.at_once, error);
  const tcp::endpoint found = error ? wanted : state_->acceptor.local_endpoint(error);
  if (error) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "links cannot be probed at " + address.to_string() + ": " + error.message()};
  }
  state_->accept();
  return found.port();
}

void ProbeResponder::let_through(std::set<Address> addresses) {
  state_->let_through = std::move(addresses);
}

// First the shortest round trip of single blocks, then transfers that grow until one is long
// enough, which is what counts: a connection that has just begun is slower.
class LinkProbe::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& io, Done done)
      : socket_(io), timer_(io), done_(std::move(done)), sent_(kLongestTransfer) {}

  void begin(const boost::asio::ip::address& own, const Endpoint& peer) {
    timer_.expires_after(kProbeTime);
    timer_.async_wait([self = shared_from_this()](const ProbeError& error) {
      if (!error) self->fail("it takes longer than a probe may");
    });
    ProbeError error;
    socket_.open(peer.protocol(), error);
    if (!error) socket_.bind({own, 0}, error);
    if (!error) socket_.set_option(tcp::no_delay(true), error);
    // Also where it fails: the caller is not called back from within.
    socket_.async_connect(peer, [self = shared_from_this(), error](const ProbeError& failed) {
      if (error) return self->fail(error.message());
      if (failed) return self->fail(failed.message());
      self->send(kProbeBlockBytes);
    });
  }

  void drop() {
    done_ = nullptr;
    close();
  }

 private:
  void send(std::size_t bytes) {
    began_ = ProbeClock::now();
    awaited_ = bytes / kProbeBlockBytes;
    boost::asio::async_write(socket_, boost::asio::buffer(sent_, bytes),
                             [self = shared_from_this()](const ProbeError& error, std::size_t) {
                               if (error) self->fail(error.message());
                             });
    receive(bytes);
  }

  void receive(std::size_t bytes) {
    socket_.async_read_some(
        boost::asio::buffer(received_),
        [self = shared_from_this(), bytes](const ProbeError& error, std::size_t count) {
          if (error) return self->fail(error.message());
          self->awaited_ -= std::min(count, self->awaited_);
          if (self->awaited_ > 0) return self->receive(bytes);
          self->answered(bytes, seconds_since(self->began_));
        });
  }

  void answered(std::size_t bytes, double seconds) {
    if (pings_ < kPings) {
      round_trip_ = pings_ == 0 ? seconds : std::min(round_trip_, seconds);
      return send(++pings_ < kPings ? kProbeBlockBytes : kFirstTransfer);
    }
    if (seconds < kLongEnough.count() && bytes < kLongestTransfer) return send(bytes * kGrowth);
    // At least half of it, so that a loopback has not any rate.
    const double on_the_way = std::max(seconds - round_trip_, seconds / 2);
    close();
    if (const Done done = std::exchange(done_, nullptr)) {
      done(ProbedLink{round_trip_ / 2, static_cast<double>(bytes) / on_the_way});
    }
  }

  void fail(const std::string& why) {
    close();
    if (const Done done = std::exchange(done_, nullptr)) {
      done(base::Error{base::ErrorKind::kUnavailable, why});
    }
  }

  void close() {
    ProbeError ignored;
    socket_.close(ignored);
    timer_.cancel();
  }

  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  Done done_;
  const std::vector<char> sent_;
  std::array<char, kLongestTransfer / kProbeBlockBytes> received_;
  ProbeClock::time_point began_;
  std::size_t awaited_ = 0;  // answers
  int pings_ = 0;
  double round_trip_ = 0;
};

LinkProbe::LinkProbe(boost::asio::io_context& io, const boost::asio::ip::address& own,
                     const Endpoint& peer, Done done)
    : exchange_(std::make_shared<Exchange>(io, std::move(done))) {
  exchange_->begin(own, peer);
}

LinkProbe::~LinkProbe() {
  exchange_->drop();
}

}  // namespace optile::daemon
