#include "daemon/cluster/etcd_tls.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

#include "daemon/cluster/credential_file.h"

namespace optile::daemon {
namespace {

namespace ssl = boost::asio::ssl;
using TlsError = boost::system::error_code;

// Of RFC 8446, section 6; OpenSSL's reason for one that was received is 1000 more.
enum class TlsAlert {
  kNone = 0,
  kHandshakeFailure = 40,
  kNoCertificate = 41,
  kBadCertificate = 42,
  kUnsupportedCertificate = 43,
  kCertificateRevoked = 44,
  kCertificateExpired = 45,
  kCertificateUnknown = 46,
  kUnknownCa = 48,
  kAccessDenied = 49,
  kProtocolVersion = 70,
  kCertificateRequired = 116,
};

// What this library within OpenSSL (ERR_LIB_...) says; 0 = it is none of its errors.
int reason_of(const TlsError& error, int library) {
  const auto code = static_cast<unsigned>(error.value());
  if (error.category() != boost::asio::error::get_ssl_category()) return 0;
  return ERR_GET_LIB(code) == library ? ERR_GET_REASON(code) : 0;
}

TlsAlert alert_of(int reason) {
  return static_cast<TlsAlert>(reason > SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : 0);
}

bool is_about_certificate(TlsAlert alert) {
  switch (alert) {
    case TlsAlert::kNoCertificate:
    case TlsAlert::kBadCertificate:
    case TlsAlert::kUnsupportedCertificate:
    case TlsAlert::kCertificateRevoked:
    case TlsAlert::kCertificateExpired:
    case TlsAlert::kCertificateUnknown:
    case TlsAlert::kUnknownCa:
    case TlsAlert::kAccessDenied:
    case TlsAlert::kCertificateRequired:
      return true;
    default:
      return false;
  }
}

bool is_of_no_tls(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_PACKET_LENGTH_TOO_LONG || reason == SSL_R_BAD_RECORD_TYPE;
}

bool is_end_of_connection(const TlsError& error) {
  return error == boost::asio::error::eof || error == boost::asio::error::connection_reset ||
         error == boost::asio::error::broken_pipe || error == ssl::error::stream_truncated;
}

// What is wrong with etcd's certificate.
std::string text_of_verification(long result, const std::string& host, const std::string& cacert) {
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate, or its CA's, has expired: have it renewed";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet: look at this machine's clock";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate is not for " + host +
             ": name etcd as its certificate does (the subject's alternative names), or have one "
             "issued that has " +
             host + " too";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return cacert.empty() ? "its certificate is of no CA that this machine trusts: name the CA's "
                              "certificate, --cacert FILE"
                            : "its certificate is of no CA in " + cacert +
                                  ": name the CA that etcd's certificate is of, --cacert FILE";
    default:
      return std::string("its certificate is not accepted: ") +
             X509_verify_cert_error_string(result);
  }
}

std::string text_of_refusal(TlsAlert alert, const std::string& cert) {
  if (cert.empty()) {
    return "it asks for a certificate of ours: name one that its CA has issued, --cert FILE --key "
           "FILE";
  }
  const char* why = alert == TlsAlert::kCertificateExpired   ? " as expired"
                    : alert == TlsAlert::kCertificateRevoked ? " as revoked"
                    : alert == TlsAlert::kUnknownCa          ? " as of an unknown CA"
                                                             : "";
  return "it refuses our certificate " + cert + why +
         ": it has to be valid, and of the CA that etcd is told (--trusted-ca-file)";
}

base::Error unusable(const std::string& path, const std::string& what, const TlsError& error) {
  return base::invalid(path + " cannot be used as " + what + ": " + error.message());
}

base::Status add_cacert(ssl::context& context, const std::string& path) {
  TlsError error;
  if (path.empty()) {
    context.set_default_verify_paths(error);
    if (error) return unusable("what this machine trusts", "CA", error);
    return {};
  }
  base::Result<std::string> text = read_credential_file(path, CredentialKind::kCertificate);
  if (!text.ok()) return text.error();
  context.add_certificate_authority(boost::asio::buffer(text.value()), error);
  if (error) return unusable(path, "the CA's certificate in PEM", error);
  return {};
}

base::Status add_own_certificate(ssl::context& context, const EtcdTlsFiles& files) {
  if (files.cert.empty()) return {};
  base::Result<std::string> cert = read_credential_file(files.cert, CredentialKind::kCertificate);
  if (!cert.ok()) return cert.error();
  base::Result<std::string> key = read_credential_file(files.key, CredentialKind::kPrivateKey);
  if (!key.ok()) return key.error();
  TlsError error;
  context.use_certificate_chain(boost::asio::buffer(cert.value()), error);
  if (error) return unusable(files.cert, "our certificate in PEM", error);
  // Nobody is there to be asked for it.
  if (key.value().find("ENCRYPTED") != std::string::npos) {
    return base::invalid(files.key + " is encrypted: a key without a passphrase is needed");
  }
  context.use_private_key(boost::asio::buffer(key.value()), ssl::context::pem, error);
  OPENSSL_cleanse(key.value().data(), key.value().size());
  if (reason_of(error, ERR_LIB_X509) == X509_R_KEY_VALUES_MISMATCH) {
    return base::invalid(files.key + " is the key of another certificate than " + files.cert);
  }
  if (error) return unusable(files.key, "its key in PEM", error);
  return {};
}

// A name without the dot that may end it, an address without the interface behind it.
std::string verified_name(const std::string& host, bool is_address) {
  if (is_address) return host.substr(0, host.find('%'));
  return host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
}

}  // namespace

bool EtcdTls::Stamp::operator==(const Stamp& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
}

base::Result<std::shared_ptr<EtcdTls>> EtcdTls::read(const EtcdTlsFiles& files) {
  const std::shared_ptr<EtcdTls> tls(new EtcdTls(files));
  if (base::Status taken = tls->take_files(); !taken.ok()) return taken.error();
  return tls;
}

std::vector<EtcdTls::Stamp> EtcdTls::look_at_files() const {
  std::vector<Stamp> stamps;
  for (const std::string& path : {files_.cacert, files_.cert, files_.key}) {
    struct stat found {};
    if (path.empty() || stat(path.c_str(), &found) != 0) {
      stamps.emplace_back();
    } else {
      stamps.push_back({found.st_dev, found.st_ino, found.st_size, found.st_ctim});
    }
  }
  return stamps;
}

base::Status EtcdTls::take_files() {
  stamps_ = look_at_files();
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  TlsError error;
  context->set_verify_mode(ssl::verify_peer, error);
  if (error) return unusable("OpenSSL", "what verifies certificates", error);
  if (base::Status added = add_cacert(*context, files_.cacert); !added.ok()) return added;
  if (base::Status added = add_own_certificate(*context, files_); !added.ok()) return added;
  context_ = std::move(context);
  return {};
}

bool EtcdTls::read_changed() {
  return look_at_files() != stamps_ && take_files().ok();
}

std::unique_ptr<EtcdTls::Stream> EtcdTls::make_stream(boost::beast::tcp_stream& lower,
                                                      const std::string& host) const {
  auto stream = std::make_unique<Stream>(lower, *context_);
  SSL* const handle = stream->native_handle();
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(handle);
  TlsError no_address;
  boost::asio::ip::make_address(host, no_address);
  const std::string name = verified_name(host, !no_address);
  // As etcdctl does: what stands in the subject itself is no host's name.
  X509_VERIFY_PARAM_set_hostflags(
      wanted, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool set = no_address ? X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), 0) == 1 &&
                                    SSL_set_tlsext_host_name(handle, name.c_str()) == 1
                              : X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1;
  return set ? std::move(stream) : nullptr;
}

EtcdTlsFailure EtcdTls::explain(const TlsError& error, Stream& stream,
                                const std::string& host) const {
  const int reason = reason_of(error, ERR_LIB_SSL);
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    const long result = SSL_get_verify_result(stream.native_handle());
    return {text_of_verification(result, host, files_.cacert), true};
  }
  const TlsAlert alert = alert_of(reason);
  // Of older ones that want a certificate of ours.
  const bool asked_us = alert == TlsAlert::kHandshakeFailure && files_.cert.empty();
  if (is_about_certificate(alert) || asked_us) return {text_of_refusal(alert, files_.cert), true};
  // An etcd without TLS answers nothing to what is none of its protocols.
  const bool ended = is_end_of_connection(error);
  if (is_of_no_tls(reason) || (ended && SSL_is_init_finished(stream.native_handle()) == 0)) {
    return {
        "there is no TLS at that port: have etcd serve https://, or name it by http:// in a "
        "network that you trust"};
  }
  if (alert == TlsAlert::kProtocolVersion || reason == SSL_R_UNSUPPORTED_PROTOCOL) {
    return {"it speaks no TLS of version 1.2 or later"};
  }
  if (!ended) return {error.message()};
  return {files_.cert.empty() ? "it ended the connection without an answer; where it asks for a "
                                "certificate of ours, name it by --cert and --key"
                              : "it ended the connection without an answer; it may refuse our "
                                "certificate " +
                                    files_.cert};
}

}  // namespace optile::daemon
