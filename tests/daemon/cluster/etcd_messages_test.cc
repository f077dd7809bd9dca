#include "daemon/cluster/etcd_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "daemon/cluster/etcd_endpoint.h"
#include "daemon/cluster/etcd_user.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

using testing::HasSubstr;

TEST(EtcdMessages, Base64GoesThereAndBack) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  std::string bytes;
  for (int c = 0; c < 256; ++c) {
    bytes += static_cast<char>(c);
    const auto back = from_base64(to_base64(bytes));
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(back.value(), bytes);
  }
  for (const char* wrong : {"Z", "Zg=", "Z===", "=Zg=", "Zg==Zg==", "Z*==", "Zg=v"}) {
    EXPECT_FALSE(from_base64(wrong).ok()) << wrong;
  }
}

TEST(EtcdMessages, PrefixEndsBehindItsLastKey) {
  EXPECT_EQ(range_request("")["key"], to_base64(std::string(1, '\0')));
  EXPECT_EQ(range_request("a/")["range_end"], to_base64("a0"));
  EXPECT_EQ(range_request("a\xff")["range_end"], to_base64("b"));
  EXPECT_EQ(range_request("\xff")["range_end"], to_base64(std::string(1, '\0')));
}

TEST(EtcdMessages, AnswersOfSomebodyElseAreErrors) {
  for (const char* text : {R"({})", R"([])", R"({"header": {"revision": "4"}, "kvs": 3})",
                           R"({"header": {"revision": "4"}, "kvs": [{"key": "*"}]})"}) {
    const auto json = nlohmann::json::parse(text);
    EXPECT_FALSE(read_range(json.is_object() ? json : nlohmann::json::object()).ok()) << text;
  }
  EXPECT_FALSE(read_granted(nlohmann::json::object()).ok());
  EXPECT_FALSE(read_committed(nlohmann::json::object()).ok());
  const auto ended = read_kept_alive({{"result", {{"ID", "3"}}}});
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, base::ErrorKind::kNotFound);
}

TEST(EtcdEndpoints, AreReadFromUrls) {
  const auto two = parse_etcd_endpoints("http://node0,http://[fe80::1]:99/");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two.value().size(), 2u);
  EXPECT_EQ(two.value()[0].url(), "http://node0:2379");
  EXPECT_EQ(two.value()[1].host, "fe80::1");
  EXPECT_EQ(two.value()[1].url(), "http://[fe80::1]:99");
  for (const char* wrong : {"", "node0", "http://", "http://a:0", "http://a:65536", "http://a/b",
                            "http://a b", "http://a,", "http://[a", "http://a:1:2"}) {
    EXPECT_FALSE(parse_etcd_endpoints(wrong).ok()) << wrong;
  }
  const auto secure = parse_etcd_endpoints("https://node0,https://[::1]");
  ASSERT_TRUE(secure.ok());
  EXPECT_TRUE(secure.value()[0].tls);
  EXPECT_EQ(secure.value()[1].url(), "https://[::1]:2379");
  EXPECT_FALSE(two.value()[0].tls);
  const auto mixed = parse_etcd_endpoints("https://a,http://b");
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(mixed.message(), HasSubstr("are mixed"));
}

TEST(EtcdUserFile, IsReadOnlyWhereNobodyElseMay) {
  const TemporaryDirectory folder;
  const std::string path = folder / "user";
  std::ofstream(path) << "optile:se:cret\n";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const auto user = read_etcd_user(path);
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user.value().name, "optile");
  EXPECT_EQ(user.value().password, "se:cret");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const auto open_to_group = read_etcd_user(path);
  ASSERT_FALSE(open_to_group.ok());
  EXPECT_EQ(open_to_group.error().kind, base::ErrorKind::kDenied);
  EXPECT_THAT(open_to_group.message(), HasSubstr("chmod 600"));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  std::ofstream(path, std::ios::trunc) << "nothing of the kind";
  EXPECT_FALSE(read_etcd_user(path).ok());
  EXPECT_FALSE(read_etcd_user(folder / "missing").ok());
}

}  // namespace
}  // namespace optile::daemon
