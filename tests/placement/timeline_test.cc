#include "placement/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/placement/made_graphs.h"

namespace optile::placement {
namespace {

// Spans of one kind on one device, in the order of their starts.
std::vector<Span> of(const std::vector<Span>& spans, Span::What what, DeviceId device) {
  std::vector<Span> found;
  for (const Span& span : spans) {
    if (span.what == what && span.device == device) found.push_back(span);
  }
  std::sort(found.begin(), found.end(), [](const Span& a, const Span& b) {
    return std::pair(a.start_ms, a.end_ms) < std::pair(b.start_ms, b.end_ms);
  });
  return found;
}

void expect_one_at_a_time(const std::vector<Span>& spans) {
  for (std::size_t i = 1; i < spans.size(); ++i) {
    EXPECT_GE(spans[i].start_ms, spans[i - 1].end_ms - kExact);
  }
}

double last_end(const std::vector<Span>& spans) {
  double last = 0;
  for (const Span& span : spans) last = std::max(last, span.end_ms);
  return last;
}

TEST(Timeline, StepSpansMatchSimulator) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Graph graph = random_graph({25, 0.15, 2}, seed);
    const Cluster cluster = Cluster::uniform(3, 0, 1e9);
    for (const StepLinks links : {StepLinks::kBus, StepLinks::kEdge}) {
      Request request;
      request.objective = Objective::kStep;
      request.links = links;
      request.method = Method::kRandom;
      request.seed = seed;
      request.op_ms = 0.5;
      const auto answer = place(graph, cluster, request);
      ASSERT_TRUE(answer.ok());
      const std::vector<Span> spans = timeline(graph, cluster, request, answer.value().assignment);
      std::vector<double> end(static_cast<std::size_t>(graph.size()), -1);
      double last = 0;
      for (const Span& span : spans) {
        if (span.what != Span::What::kCompute) continue;
        end[static_cast<std::size_t>(span.node)] = span.end_ms;
        last = std::max(last, span.end_ms);
      }
      EXPECT_NEAR(last, answer.value().cost, kExact);
      EXPECT_EQ(std::count(end.begin(), end.end(), -1), 0);
      for (DeviceId d = 0; d < cluster.size(); ++d) {
        expect_one_at_a_time(of(spans, Span::What::kCompute, d));
        if (links == StepLinks::kBus) expect_one_at_a_time(of(spans, Span::What::kSend, d));
      }
      for (const Span& span : spans) {
        if (span.what != Span::What::kSend) continue;
        EXPECT_GE(span.start_ms, end[static_cast<std::size_t>(span.node)] - kExact);
        EXPECT_NE(span.to, span.device);
      }
    }
  }
}

// Every second node takes no time, as placeholders and views do: many begin at one moment.
Graph with_idle_nodes(std::uint64_t seed) {
  const Graph whole = random_graph({30, 0.12, 0}, seed);
  std::vector<Node> nodes = whole.nodes();
  std::vector<Edge> edges;
  for (NodeId id = 0; id < whole.size(); ++id) {
    if (id % 2 == 0) nodes[static_cast<std::size_t>(id)].accelerator_ms = 0;
    for (const NodeId reader : whole.readers(id)) edges.push_back({id, reader, false});
  }
  return make_graph(std::move(nodes), edges);
}

// Of a node on a device or of a tensor to a device, once for each micro-batch, in order.
std::vector<double> times_of(const std::vector<Span>& spans, Span::What what, NodeId node,
                             DeviceId device) {
  std::vector<double> times;
  for (const Span& span : spans) {
    if (span.what != what || span.node != node) continue;
    const bool compute = what == Span::What::kCompute;
    if ((compute ? span.device : span.to) != device) continue;
    times.push_back(compute ? span.start_ms : span.end_ms);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// What reads a tensor elsewhere begins no earlier than it is there, in each micro-batch.
void expect_tensors_before_readers(const Graph& graph, const std::vector<Span>& spans,
                                   const std::vector<DeviceId>& assignment, int micro_batches) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const NodeId reader : graph.readers(id)) {
      const DeviceId there = assignment[static_cast<std::size_t>(reader)];
      if (there == assignment[static_cast<std::size_t>(id)]) continue;
      const auto arrivals = times_of(spans, Span::What::kSend, id, there);
      const auto starts = times_of(spans, Span::What::kCompute, reader, there);
      ASSERT_EQ(arrivals.size(), static_cast<std::size_t>(micro_batches));
      ASSERT_EQ(starts.size(), arrivals.size());
      for (std::size_t i = 0; i < starts.size(); ++i) {
        ASSERT_GE(starts[i], arrivals[i] - kExact) << "node " << reader << " reads " << id;
      }
    }
  }
}

TEST(Timeline, TensorsArriveBeforeReadersStart) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Graph graph = with_idle_nodes(seed);
    const Cluster cluster = Cluster::uniform(3, 0, 1e9);
    for (const StepLinks links : {StepLinks::kBus, StepLinks::kEdge}) {
      for (const int micro_batches : {1, 3}) {
        Request request;
        request.objective = Objective::kStep;
        request.links = links;
        request.method = Method::kRandom;
        request.seed = seed;
        request.micro_batches = micro_batches;
        const auto answer = place(graph, cluster, request);
        ASSERT_TRUE(answer.ok());
        const std::vector<DeviceId>& assignment = answer.value().assignment;
        const std::vector<Span> spans = timeline(graph, cluster, request, assignment);
        expect_tensors_before_readers(graph, spans, assignment, micro_batches);
        for (DeviceId d = 0; d < cluster.size() && links == StepLinks::kBus; ++d) {
          expect_one_at_a_time(of(spans, Span::What::kSend, d));
        }
      }
    }
  }
}

TEST(Timeline, LatencySpansFillEachPart) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Graph graph = random_graph({20, 0.15, 0}, seed);
    const Cluster cluster = Cluster::uniform(2, 1, 60);
    Request request;
    request.objective = Objective::kLatency;
    request.method = Method::kGreedy;
    const auto answer = place(graph, cluster, request);
    ASSERT_TRUE(answer.ok());
    const std::vector<Span> spans = timeline(graph, cluster, request, answer.value().assignment);
    EXPECT_NEAR(last_end(spans), answer.value().cost, kExact);
    for (DeviceId d = 0; d < 2; ++d) {
      std::vector<Span> part;
      for (const Span& span : spans) {
        if (span.device == d) part.push_back(span);
      }
      double busy = 0;
      for (const Span& span : part) busy += span.end_ms - span.start_ms;
      EXPECT_NEAR(busy, answer.value().load[static_cast<std::size_t>(d)], kExact);
      std::stable_sort(part.begin(), part.end(),
                       [](const Span& a, const Span& b) { return a.start_ms < b.start_ms; });
      if (part.empty()) continue;
      EXPECT_NEAR(last_end(part) - part.front().start_ms, busy, kExact);
    }
  }
}

TEST(Timeline, IsEmptyForLoadAndUnrunnableStep) {
  const Graph graph = random_graph({6, 0.3, 0}, 1);
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  EXPECT_TRUE(timeline(graph, cluster, {}, {0, 1, 0, 1, 0, 1}).empty());
  std::vector<Node> nodes = graph.nodes();
  nodes[2].runs_on_accelerator = false;
  Request request;
  request.objective = Objective::kStep;
  EXPECT_TRUE(timeline(make_graph(nodes, {}), cluster, request, {0, 1, 0, 1, 0, 1}).empty());
}

}  // namespace
}  // namespace optile::placement
