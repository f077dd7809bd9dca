#include "bindings/cli/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/error_code.hpp>
#include <cctype>

namespace optile::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Unix = asio::local::stream_protocol;

constexpr std::uint64_t kMaxAnswerBytes = std::uint64_t{64} << 20;

// The four asynchronous steps of one request, each started by the end of the one before.
class Exchange {
 public:
  Exchange(asio::io_context& loop, http::request<http::string_body> request)
      : stream_(loop), request_(std::move(request)) {
    parser_.body_limit(kMaxAnswerBytes);
  }

  void start(const std::string& socket, std::chrono::milliseconds deadline) {
    stream_.expires_after(deadline);
    stream_.async_connect(Unix::endpoint(socket), [this](beast::error_code error) {
      if (failed(error)) return;
      http::async_write(stream_, request_, [this](beast::error_code wrong, std::size_t) {
        if (failed(wrong)) return;
        http::async_read(stream_, buffer_, parser_,
                         [this](beast::error_code last, std::size_t) { failed(last); });
      });
    });
  }

  beast::error_code error() const { return error_; }
  HttpAnswer answer() { return {parser_.get().result_int(), std::move(parser_.get().body())}; }

 private:
  bool failed(beast::error_code error) {
    error_ = error;
    return static_cast<bool>(error);
  }

  beast::basic_stream<Unix> stream_;
  http::request<http::string_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
  beast::error_code error_ = asio::error::timed_out;
};

}  // namespace

std::string path_component(const std::string& text) {
  static const char* digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

base::Result<HttpAnswer> ask_daemon(const std::string& socket, const std::string& method,
                                    const std::string& target, const std::string& body,
                                    std::chrono::milliseconds deadline) {
  try {
    asio::io_context loop;
    http::request<http::string_body> request(http::string_to_verb(method), target, 11);
    request.set(http::field::host, "optiled");
    request.set(http::field::content_type, "application/json");
    request.keep_alive(false);
    request.body() = body;
    request.prepare_payload();
    Exchange exchange(loop, std::move(request));
    exchange.start(socket, deadline);
    loop.run();
    if (!exchange.error()) return exchange.answer();
    const bool nobody = exchange.error() == asio::error::connection_refused ||
                        exchange.error() == boost::system::errc::no_such_file_or_directory;
    if (nobody) {
      return base::Error{base::ErrorKind::kNotFound,
                         "no daemon answers on " + socket +
                             "; `optile run` starts one, or start optiled yourself"};
    }
    return base::Error{
        base::ErrorKind::kUnavailable,
        "the daemon on " + socket + " does not answer: " + exchange.error().message()};
  } catch (const std::exception& error) {
    return base::Error{base::ErrorKind::kInvalid, socket + ": " + error.what()};
  }
}

}  // namespace optile::cli
