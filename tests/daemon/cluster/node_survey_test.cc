#include "daemon/cluster/node_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "daemon/cluster/reference_speed.h"

namespace optile::daemon {
namespace {

using boost::asio::ip::make_address;
using boost::asio::ip::tcp;
using testing::ElementsAre;
using testing::IsEmpty;

const boost::asio::ip::address kLoopback = make_address("127.0.0.1");

NodeRecord node(const std::string& name, int port = 1) {
  NodeRecord record;
  record.name = name;
  record.measured.probe_address = port == 0 ? "" : "127.0.0.1";
  record.measured.probe_port = port;
  return record;
}

std::vector<std::string> peers(const std::string& name, std::vector<NodeRecord> nodes) {
  std::vector<std::string> names;
  for (const NodeRecord& one : probed_peers(name, std::move(nodes))) names.push_back(one.name);
  return names;
}

TEST(ProbedPeers, AreTheNextOnesBehindByNameAndAround) {
  EXPECT_THAT(peers("b", {node("a"), node("b"), node("c"), node("d", 0)}), ElementsAre("c", "a"));
  NodeRecord named = node("a");
  named.measured.probe_address = "somewhere";
  NodeRecord later = node("c");
  later.protocol = kClusterProtocol + 1;
  EXPECT_THAT(peers("b", {named, node("b"), later}), IsEmpty());
  std::vector<NodeRecord> many;
  for (char name = 'a'; name < 'a' + 12; ++name) many.push_back(node(std::string(1, name)));
  EXPECT_THAT(peers("j", many), ElementsAre("k", "l", "a", "b", "c", "d", "e", "f"));
}

class ProbeTest : public testing::Test {
 protected:
  bool run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(150);
    while (!done() && std::chrono::steady_clock::now() < end) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(50));
    }
    return done();
  }
  base::Result<ProbedLink> probe(int port) {
    std::optional<base::Result<ProbedLink>> found;
    const LinkProbe probe(io_, kLoopback, {kLoopback, static_cast<unsigned short>(port)},
                          [&](const auto& link) { found = link; });
    EXPECT_FALSE(found) << "called back from within";
    EXPECT_TRUE(run_until([&] { return found.has_value(); }));
    return found.value_or(base::invalid("no end at all"));
  }
  // What an end that sends this gets, until the responder hangs up.
  std::size_t answers_to(int port, std::size_t bytes) {
    tcp::socket socket(io_);
    boost::system::error_code ended;
    bool done = false;
    std::size_t answers = 0;
    const std::vector<char> sent(bytes);
    std::vector<char> received(bytes / kProbeBlockBytes + 1);
    socket.connect({kLoopback, static_cast<unsigned short>(port)}, ended);
    boost::asio::async_write(socket, boost::asio::buffer(sent), [](const auto&, std::size_t) {});
    boost::asio::async_read(socket, boost::asio::buffer(received),
                            [&](const boost::system::error_code&, std::size_t count) {
                              answers = count;
                              done = true;
                            });
    EXPECT_TRUE(run_until([&] { return done; }));
    return answers;
  }

  boost::asio::io_context io_;
};

TEST_F(ProbeTest, FindsWhatTheLoopbackCanDo) {
  ProbeResponder responder(io_, {});
  const base::Result<int> port = responder.listen(kLoopback);
  ASSERT_TRUE(port.ok()) << port.message();
  responder.let_through({kLoopback});
  const base::Result<ProbedLink> link = probe(port.value());
  ASSERT_TRUE(link.ok()) << link.message();
  EXPECT_GT(link.value().latency_seconds, 0);
  EXPECT_LT(link.value().latency_seconds, 1);
  EXPECT_GT(link.value().bytes_per_second, 1e4);
}

TEST_F(ProbeTest, TakesNothingFromAnAddressThatIsNoMembers) {
  ProbeResponder responder(io_, {});
  const base::Result<int> port = responder.listen(kLoopback);
  ASSERT_TRUE(port.ok()) << port.message();
  EXPECT_FALSE(probe(port.value()).ok());
  responder.let_through({make_address("10.0.0.1")});
  EXPECT_FALSE(probe(port.value()).ok());
  EXPECT_EQ(answers_to(port.value(), kProbeBlockBytes), 0u);
}

TEST_F(ProbeTest, AnswersNoMoreThanAProbeHas) {
  ProbeResponder responder(io_, {});
  const base::Result<int> port = responder.listen(kLoopback);
  ASSERT_TRUE(port.ok()) << port.message();
  responder.let_through({kLoopback});
  EXPECT_LE(answers_to(port.value(), 2 * kMaxProbeBytes), kMaxProbeBytes / kProbeBlockBytes);
}

TEST_F(ProbeTest, HangsUpWhereThereAreTooMany) {
  ProbeResponder responder(io_, {4, 2});
  const base::Result<int> port = responder.listen(kLoopback);
  ASSERT_TRUE(port.ok()) << port.message();
  responder.let_through({kLoopback});
  for (const bool served : {true, true, false}) {
    EXPECT_EQ(probe(port.value()).ok(), served);
  }
}

TEST_F(ProbeTest, NobodyAnswers) {
  int port = 0;
  {
    ProbeResponder gone(io_, {});
    port = gone.listen(kLoopback).value();
  }
  EXPECT_FALSE(probe(port).ok());
  EXPECT_FALSE(ProbeResponder(io_, {}).listen(make_address("192.0.2.1")).ok());
}

TEST_F(ProbeTest, SurveysFindSpeedAndEachOther) {
  NodeSurvey a(io_, {"a", "127.0.0.1", true});
  NodeSurvey b(io_, {"b", "localhost", true});
  NodeSurvey silent(io_, {"c", "127.0.0.1", false});
  ASSERT_TRUE(run_until(
      [&] { return a.measurements().gflop_per_second && b.measurements().probe_port != 0; }));
  EXPECT_GT(*a.measurements().gflop_per_second, 0.01);
  EXPECT_EQ(a.measurements().interface, "");  // the loopback's is none
  EXPECT_EQ(silent.measurements().probe_port, 0);
  std::vector<NodeRecord> nodes = {node("a"), node("b"), node("c", 0)};
  nodes[0].measured = a.measurements();
  nodes[1].measured = b.measurements();
  for (NodeSurvey* one : {&a, &b, &silent}) one->see(nodes);
  ASSERT_TRUE(run_until(
      [&] { return !a.measurements().links.empty() && !b.measurements().links.empty(); }));
  EXPECT_EQ(a.measurements().links.front().node, "b");
  EXPECT_EQ(b.measurements().links.front().node, "a");
  EXPECT_THAT(silent.measurements().links, IsEmpty());
  a.see({nodes[0]});
  EXPECT_THAT(a.measurements().links, IsEmpty());  // of a node that is gone
}

TEST(ReferenceSpeed, IsAskedToStop) {
  EXPECT_FALSE(measure_gflop_per_second(true).has_value());
}

TEST(NodeRecord, KeepsWhatWasMeasured) {
  NodeRecord record = node("a", 4000);
  record.measured.gflop_per_second = 12.5;
  record.measured.interface = "eth0";
  record.measured.links = {{"b", 0.0001, 1.25e9}};
  const base::Result<NodeRecord> again = read_node_record(to_text(record));
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(again.value().measured, record.measured);
  EXPECT_TRUE(read_node_record(to_text(NodeRecord())).ok());
  record.measured.links.front().latency_seconds = -1;
  EXPECT_FALSE(read_node_record(to_text(record)).ok());
  record.measured.links.assign(kMaxNodeLinks + 1, {"b", 0.1, 1});
  EXPECT_FALSE(read_node_record(to_text(record)).ok());
  // Of a daemon before there were measurements.
  EXPECT_TRUE(read_node_record(R"({"protocol":1,"name":"a","address":"x","cores":1,"tiles":1,
                                   "memory_bytes":1,"instance":"i"})")
                  .ok());
}

}  // namespace
}  // namespace optile::daemon
