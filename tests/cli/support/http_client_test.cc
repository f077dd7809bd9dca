#include "bindings/cli/support/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fixtures/files.h"
#include "tests/cli/fixtures/one_answer.h"

namespace optile::cli {
namespace {

using base::ErrorKind;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kLong(60000);  // never reached

class HttpClientTest : public testing::Test {
 protected:
  base::Result<HttpAnswer> ask(milliseconds deadline = kLong) {
    return ask_daemon(socket_, "GET", "/v1/status", "", deadline);
  }
  base::Error refused(milliseconds deadline = kLong) {
    const auto answer = ask(deadline);
    EXPECT_FALSE(answer.ok());
    EXPECT_THAT(answer.message(), HasSubstr(socket_));
    return answer.error();
  }

  TemporaryDirectory folder_;
  std::string socket_ = folder_ / "s";
};

TEST_F(HttpClientTest, SendsRequestAndReadsAnswer) {
  OneAnswer daemon(socket_, 200, R"({"pid": 1})");
  const auto answer = ask_daemon(socket_, "POST", "/v1/launch", R"({"openmp": "keep"})", kLong);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.value().status, 200U);
  EXPECT_EQ(answer.value().body, R"({"pid": 1})");
  EXPECT_THAT(daemon.request(), HasSubstr("POST /v1/launch HTTP/1.1\r\n"));
  EXPECT_THAT(daemon.request(), HasSubstr("\r\n\r\n{\"openmp\": \"keep\"}"));
}

TEST_F(HttpClientTest, ReturnsErrorStatusAsAnswer) {
  const OneAnswer daemon(socket_, 404, "{}");
  const auto answer = ask();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().status, 404U);
}

TEST_F(HttpClientTest, MissingSocketMeansNoDaemon) {
  const base::Error error = refused();
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_THAT(error.message, HasSubstr("optile run"));
}

TEST_F(HttpClientTest, StaleSocketMeansNoDaemon) {
  bound_socket(socket_, false).reset();
  ASSERT_TRUE(std::filesystem::exists(socket_));
  EXPECT_EQ(refused().kind, ErrorKind::kNotFound);
}

TEST_F(HttpClientTest, GivesUpAtDeadline) {
  const base::UniqueFd silent = bound_socket(socket_, true);
  EXPECT_EQ(refused(milliseconds(20)).kind, ErrorKind::kUnavailable);
}

TEST_F(HttpClientTest, RejectsMalformedAnswers) {
  for (const char* bytes :
       {"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"}) {
    std::filesystem::remove(socket_);
    const OneAnswer daemon(socket_, std::string(bytes));
    EXPECT_EQ(refused().kind, ErrorKind::kUnavailable) << bytes;
  }
}

TEST_F(HttpClientTest, RejectsOverlongSocketPath) {
  socket_ = folder_ / std::string(200, 'x');
  EXPECT_EQ(refused().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace optile::cli
