#include "daemon/cluster/etcd_store.h"

#include <utility>

#include "daemon/cluster/etcd_exchange.h"
#include "daemon/cluster/etcd_messages.h"
#include "daemon/cluster/etcd_tls.h"
#include "daemon/cluster/node_record.h"

namespace optile::daemon {
namespace {

using StoreJson = nlohmann::json;

// Codes of gRPC, which etcd's answers hold besides HTTP's.
constexpr int kCodeInvalid = 3;
constexpr int kCodeNotFound = 5;
constexpr int kCodeDenied = 7;
constexpr int kCodeFailedPrecondition = 9;
constexpr int kCodeUnauthenticated = 16;

constexpr std::size_t kMaxPlainText = 200;  // of an answer, for people

struct Refusal {
  int code = 0;
  std::string text;
};

Refusal refusal_in(const EtcdReply& reply) {
  const StoreJson json = StoreJson::parse(reply.body, nullptr, false);
  Refusal refusal = {0, "status " + std::to_string(reply.status)};
  if (!json.is_object()) {  // not of etcd's gateway itself
    if (!reply.body.empty()) refusal.text += ": " + printable(reply.body.substr(0, kMaxPlainText));
    return refusal;
  }
  if (const auto code = json.find("code"); code != json.end() && code->is_number_integer()) {
    refusal.code = code->get<int>();
  }
  if (const auto text = json.find("message"); text != json.end() && text->is_string()) {
    refusal.text = printable(text->get<std::string>());
  }
  return refusal;
}

bool is_about_user(const Refusal& refusal) {
  return refusal.text.find("user") != std::string::npos ||
         refusal.text.find("authentication") != std::string::npos;
}

base::Error error_of(const Refusal& refusal, const std::string& url) {
  const std::string text = "etcd at " + url + " refuses: " + refusal.text;
  if (refusal.code == kCodeNotFound) return {base::ErrorKind::kNotFound, text};
  // Where it asks for users and our certificate names one, it refuses both.
  if (refusal.text.find("CommonName") != std::string::npos) {
    return {base::ErrorKind::kDenied,
            text +
                "; use a certificate without a common name (CN), and name the user by a file "
                "(--user-file)"};
  }
  if (refusal.code == kCodeDenied || refusal.code == kCodeUnauthenticated ||
      (refusal.code == kCodeInvalid && is_about_user(refusal))) {
    return {base::ErrorKind::kDenied,
            text + "; name a file with its user and password (--user-file)"};
  }
  return {base::ErrorKind::kInvalid, text};
}

}  // namespace

// Lives as long as something is under way; what comes after the store's end is told to nobody.
class EtcdStore::Requests : public std::enable_shared_from_this<Requests> {
 public:
  struct Request {
    const char* target;
    std::string body;
    bool repeatable;  // asked twice it changes no more than asked once
    std::function<void(base::Result<StoreJson>)> done;
    std::size_t tried = 0;       // endpoints that did not answer
    std::string failures{};      // theirs
    bool by_certificate = true;  // all of them
    bool authenticated = false;
  };

  Requests(boost::asio::io_context& io, Settings settings)
      : connections_(io), settings_(std::move(settings)) {}

  void begin(Request request) { start(std::make_shared<Request>(std::move(request))); }
  void end() { ended_ = true; }
  std::string url() const { return settings_.endpoints[current_].url(); }

 private:
  using Shared = std::shared_ptr<Request>;

  void start(const Shared& request) {
    if (!settings_.user || !token_.empty() || needs_no_token_) return send(request);
    // A password may be any bytes.
    const StoreJson user = authenticate_request(*settings_.user);
    Request login = {
        "/v3/auth/authenticate", user.dump(-1, ' ', false, StoreJson::error_handler_t::replace),
        true,
        [this, request](const base::Result<StoreJson>& answer) { take_token(request, answer); }};
    login.authenticated = true;
    send(std::make_shared<Request>(std::move(login)));
  }

  void take_token(const Shared& request, const base::Result<StoreJson>& answer) {
    if (!answer.ok()) return request->done(answer.error());
    const StoreJson token = answer.value().value("token", StoreJson());
    token_ = token.is_string() ? token.get<std::string>() : "";
    needs_no_token_ = token_.empty();
    send(request);
  }

  void send(const Shared& request) {
    const std::size_t asked = current_;
    connections_.post({settings_.endpoints[asked], request->target, request->body, token_,
                       settings_.tls, request->repeatable},
                      settings_.timeout,
                      [self = shared_from_this(), request, asked](const EtcdReply& reply) {
                        if (!self->ended_) self->answered(request, asked, reply);
                      });
  }

  void answered(const Shared& request, std::size_t asked, const EtcdReply& reply) {
    // Certificates are renewed while we run.
    if (reply.by_certificate && settings_.tls->read_changed()) return send(request);
    // 5xx: it has no quorum, or ran out of time, and what it was told may yet happen.
    if (reply.status == 0 || reply.status >= 500) return unanswered(request, asked, reply);
    if (reply.status == 200) {
      StoreJson json = StoreJson::parse(reply.body, nullptr, false);
      if (json.is_object()) return request->done(std::move(json));
      EtcdReply strange;
      strange.failure = "its answer is no JSON";
      strange.may_have_arrived = true;
      return unanswered(request, asked, strange);
    }
    const Refusal refusal = refusal_in(reply);
    if (refusal.code == kCodeFailedPrecondition && is_about_user(refusal)) {
      return request->done(StoreJson::object());  // no user is needed there
    }
    // A token that has grown old.
    if (refusal.code == kCodeUnauthenticated && settings_.user && !request->authenticated) {
      request->authenticated = true;
      token_.clear();
      return start(request);
    }
    request->done(error_of(refusal, settings_.endpoints[asked].url()));
  }

  void unanswered(const Shared& request, std::size_t asked, const EtcdReply& reply) {
    // Another request may have gone on to the next one meanwhile.
    if (asked == current_) current_ = (current_ + 1) % settings_.endpoints.size();
    const bool lost = reply.may_have_arrived || reply.status != 0;
    const bool again = request->repeatable || !lost;
    const std::string why = reply.status == 0 ? reply.failure : refusal_in(reply).text;
    request->failures += (request->failures.empty() ? "etcd does not answer at " : ", at ") +
                         settings_.endpoints[asked].url() + ": " + why;
    request->by_certificate = request->by_certificate && reply.by_certificate;
    if (++request->tried < settings_.endpoints.size() && again) return send(request);
    request->done(base::Error{
        request->by_certificate ? base::ErrorKind::kDenied : base::ErrorKind::kUnavailable,
        request->failures});
  }

  EtcdConnections connections_;
  Settings settings_;
  std::string token_;
  bool needs_no_token_ = false;
  std::size_t current_ = 0;  // endpoint that answered last
  bool ended_ = false;
};

EtcdStore::EtcdStore(boost::asio::io_context& io, Settings settings)
    : requests_(std::make_shared<Requests>(io, std::move(settings))) {}

EtcdStore::~EtcdStore() {
  requests_->end();
}

void EtcdStore::get(const std::string& prefix, Callback<KeyRange> done) {
  requests_->begin({"/v3/kv/range", range_request(prefix).dump(), true,
                    [done = std::move(done)](const base::Result<StoreJson>& answer) {
                      done(answer.ok() ? read_range(answer.value()) : answer.error());
                    }});
}

void EtcdStore::commit(const Transaction& transaction, Callback<Committed> done) {
  requests_->begin({"/v3/kv/txn", transaction_request(transaction).dump(), false,
                    [done = std::move(done)](const base::Result<StoreJson>& answer) {
                      done(answer.ok() ? read_committed(answer.value()) : answer.error());
                    }});
}

// Asked twice, there are two; nobody holds the first, which ends by itself.
void EtcdStore::grant_lease(std::chrono::seconds ttl, Callback<GrantedClusterLease> done) {
  requests_->begin({"/v3/lease/grant", grant_request(ttl).dump(), true,
                    [done = std::move(done)](const base::Result<StoreJson>& answer) {
                      done(answer.ok() ? read_granted(answer.value()) : answer.error());
                    }});
}

void EtcdStore::keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) {
  requests_->begin({"/v3/lease/keepalive", lease_request_of(lease).dump(), true,
                    [done = std::move(done)](const base::Result<StoreJson>& answer) {
                      done(answer.ok() ? read_kept_alive(answer.value()) : answer.error());
                    }});
}

void EtcdStore::revoke_lease(ClusterLease lease, Callback<ClusterLease> done) {
  requests_->begin({"/v3/lease/revoke", lease_request_of(lease).dump(), true,
                    [done = std::move(done), lease](const base::Result<StoreJson>& answer) {
                      if (!answer.ok()) return done(answer.error());
                      done(lease);
                    }});
}

std::string EtcdStore::description() const {
  return requests_->url();
}

}  // namespace optile::daemon
