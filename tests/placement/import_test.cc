#include "placement/import/importer.h"
#include "placement/import/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>

#include "tests/placement/read_texts.h"

namespace optile::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kPartitioning = R"({"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1,
 "nodes": [
  {"id": 7, "name": "node7", "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1,
   "isBackwardNode": 0, "colorClass": 3, "size": 5},
  {"id": 9, "name": "node9", "supportedOnFpga": 0, "cpuLatency": 20, "fpgaLatency": 2, "size": 6}],
 "edges": [{"sourceId": 7, "destId": 9, "cost": 0.5, "size": 40}]})";

const char* const kProfile =
    "node1 -- Input -- forward_compute_time=0.5, backward_compute_time=1.5, "
    "activation_size=[10; 20], parameter_size=0\n"
    "node2 -- Conv -- 2d -- forward_compute_time=1, backward_compute_time=2, "
    "activation_size=8.000, parameter_size=4 \n"
    "\tnode1 -- node2\n";

std::string gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(text.size() + 100, '\0');
  std::string copy = text;
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(Import, ReadsDnnPartitioningGraphs) {
  const auto model = read_model(kPartitioning);
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_EQ(model.value().format, "dnn-partitioning");
  const Graph& graph = model.value().graph;
  ASSERT_EQ(graph.size(), 2);
  EXPECT_EQ(graph.node(0).colour, 3);
  EXPECT_EQ(graph.node(1).colour, -1);
  EXPECT_FALSE(graph.node(1).runs_on_accelerator);
  EXPECT_DOUBLE_EQ(graph.node(0).output_ms, 0.5);
  EXPECT_THAT(graph.readers(0), ElementsAre(1));
  ASSERT_TRUE(model.value().cluster);
  EXPECT_EQ(model.value().cluster->size(), 3);
  EXPECT_EQ(model.value().cluster->device(2).kind, DeviceKind::kCpu);
  EXPECT_DOUBLE_EQ(model.value().cluster->device(0).memory_bytes, 100);
}

TEST(Import, ReadsPipeDreamProfiles) {
  const auto model = read_model(kProfile);
  ASSERT_TRUE(model.ok()) << model.message();
  const Graph& graph = model.value().graph;
  ASSERT_EQ(graph.size(), 2);
  EXPECT_DOUBLE_EQ(graph.node(0).accelerator_ms, 2);
  EXPECT_DOUBLE_EQ(graph.node(0).output_bytes, 30);
  EXPECT_EQ(graph.node(1).kind, "Conv -- 2d");
  EXPECT_THAT(graph.readers(0), ElementsAre(1));
}

TEST(Import, ReadsPiperGraphs) {
  const auto model = read_model(
      R"({"maxDevices": 3, "maxMemoryPerDevice": 1000, "bandwidth": 2000, "nodes": [
      {"id": 0, "name": "a", "TMPCs": {"1": [{"timePerSample": 4, "memoryUsageA": 5,
       "memoryUsageB": 6}]}},
      {"id": 1, "name": "b", "TMPCs": {"1": [{"timePerSample": 1}]}}],
      "edges": [{"sourceId": 0, "destId": 1, "communicationCost": 8}]})");
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_EQ(model.value().format, "piper");
  EXPECT_DOUBLE_EQ(model.value().graph.node(0).memory_bytes, 11);
  EXPECT_DOUBLE_EQ(model.value().cluster->output_ms(model.value().graph.node(0)), 4);
}

TEST(Import, ReadsExprimoWithBlocksAndDevices) {
  const auto model = read_model(
      R"({"name": "x", "layers": {
      "data": {"parents": [], "type": "Input", "tensor": [2, 8, 8, 3], "device": 0},
      "block": {"type": "Block", "parents": ["data"], "endpoint": "b", "device": 1, "layers": {
        "a": {"parents": [], "type": "Convolution", "filter": [3, 3, 3, 4], "padding": "VALID",
              "strides": [1, 1, 1, 1]},
        "b": {"parents": ["a"], "type": "Pooling", "ksize": [1, 2, 2, 1], "padding": "SAME",
              "strides": [1, 2, 2, 1]}}},
      "end": {"parents": ["block"], "type": "Softmax", "device": 1}}})");
  ASSERT_TRUE(model.ok()) << model.message();
  const Graph& graph = model.value().graph;
  ASSERT_EQ(graph.size(), 4);
  EXPECT_EQ(graph.node(0).name, "block/a");
  EXPECT_DOUBLE_EQ(graph.node(0).output_bytes, 2 * 6 * 6 * 4 * 4);
  EXPECT_DOUBLE_EQ(graph.node(1).output_bytes, 2 * 3 * 3 * 4 * 4);
  EXPECT_THAT(model.value().assignment, ElementsAre(1, 1, 0, 1));
}

TEST(Import, ReadsDopplerGraphs) {
  const auto model = read_model("3\n0, \n0, 0, 1, \n1, 2, 2, \n5600000000,10\n11200000000,20\n");
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_DOUBLE_EQ(model.value().graph.node(1).accelerator_ms, 1);
  EXPECT_DOUBLE_EQ(model.value().graph.node(2).output_bytes, 20);
  EXPECT_THAT(refusal("3\n0,\n0,1,\n1,2,\n1,1\n"), HasSubstr("before the costs of node 2"));
  EXPECT_THAT(refusal("2\n0,\n0,5,\n1,1,\n1,1\n"), HasSubstr("line 3"));
}

TEST(Import, ReadsOptileFormat) {
  const auto model = read_model(
      R"({"nodes": [{"name": "a", "accelerator_ms": 1, "bound": "memory"}, {"accelerator_ms": 2}],
      "edges": [{"source": 0, "target": 1, "control": true}],
      "cluster": {"devices": [{"speed": 2}, {"kind": "cpu", "host": 1}], "routers": 1,
      "links": [{"from": 0, "to": 2, "bytes_per_second": 1000}], "bytes_per_second": 5000}})");
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_EQ(model.value().graph.node(0).bound, Bound::kMemory);
  EXPECT_TRUE(model.value().graph.readers(0).empty());
  ASSERT_TRUE(model.value().cluster);
  EXPECT_DOUBLE_EQ(model.value().cluster->links[0].bytes_per_ms, 1);
  EXPECT_THAT(refusal(R"({"nodes": [{"accelerator_ms": 1}], "edges": [],
      "cluster": {"devices": [{}], "links": [{"from": 0, "to": 3, "bytes_per_second": 1}]}})"),
              HasSubstr("links[0]"));
}

TEST(Import, ReportsPositionOfErrors) {
  const std::string good = kPartitioning;
  EXPECT_THAT(refusal(with(good, "\"destId\": 9", "\"destId\": 8")),
              HasSubstr("edges[0]: no node has the id 8"));
  EXPECT_THAT(refusal(with(good, "\"id\": 9", "\"id\": 7")), HasSubstr("nodes[1].id"));
  EXPECT_THAT(refusal(with(good, "\"cpuLatency\": 20", "\"cpuLatency\": \"x\"")),
              HasSubstr("nodes[1].cpuLatency: a number"));
  EXPECT_THAT(refusal(with(good, "\"cpuLatency\": 20, ", "")),
              HasSubstr("nodes[1]: cpuLatency is missing"));
  EXPECT_THAT(refusal(with(good, "\"cost\": 0.5", "\"cost\": -1")), HasSubstr("edges[0]"));
  EXPECT_THAT(refusal(with(good, "\"fpgaLatency\": 1,", "\"fpgaLatency\": 1e999,")),
              HasSubstr("cannot be read"));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 30)), HasSubstr("truncated"));
  EXPECT_THAT(refusal(with(good, "\"nodes\": [", "\"nodes\": [,")), HasSubstr("line 2, column"));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_EQ(parse_json(" \n").message(), "the file is empty");
  EXPECT_THAT(refusal("#!/bin/sh\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal(std::string(200, '[') + std::string(200, ']')), HasSubstr("nested"));
  const std::string profile = kProfile;
  EXPECT_THAT(refusal(profile + "\tnode2 -- node1\n"), HasSubstr("cycle"));
  EXPECT_THAT(refusal(profile + "\tnode2 -- node3\n"), HasSubstr("line 4: no node node3"));
  EXPECT_THAT(refusal(with(profile, "=1.5", "=-1.5")), HasSubstr("line 1: backward_compute_time"));
}

TEST(Import, AcceptsForeignFormatField) {
  const std::string graph = R"({"format": "x", "nodes": [{"accelerator_ms": 1}], "edges": []})";
  EXPECT_EQ(refusal(graph), "");
  EXPECT_EQ(refusal(with(graph, "\"x\"", "[7]")), "");
  EXPECT_THAT(refusal(with(graph, "\"x\"", "\"optile x\"")), HasSubstr("format"));
}

// Depth is counted outside of texts; 65 brackets are one too many.
TEST(Import, RejectsDeepJsonNesting) {
  EXPECT_TRUE(parse_json(std::string(65, '[') + std::string(65, ']')).ok());
  EXPECT_THAT(parse_json(std::string(66, '[') + std::string(66, ']')).message(),
              HasSubstr("64 deep"));
  EXPECT_THAT(parse_json(std::string(1'000'000, '[')).message(), HasSubstr("64 deep"));
  EXPECT_TRUE(parse_json("[\"\\\"" + std::string(500, '[') + "\", 1]").ok());
}

TEST(Import, UnpacksGzipAndDetectsDamage) {
  const std::string packed = gzip(kProfile);
  const auto text = unpacked(packed);
  ASSERT_TRUE(text.ok()) << text.message();
  EXPECT_EQ(text.value(), kProfile);
  EXPECT_THAT(unpacked(packed.substr(0, packed.size() - 9)).message(), HasSubstr("truncated"));
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(~damaged[packed.size() / 2]);
  EXPECT_FALSE(unpacked(damaged).ok());
}

TEST(Import, ReadsSplitAssignments) {
  const auto model = read_model(kPartitioning);
  ASSERT_TRUE(model.ok());
  const Model& graph = model.value();
  const auto split =
      read_assignment(R"({"cpus": [{"nodes": [9]}], "fpgas": [{"nodes": []}, {"nodes": [7]}]})",
                      graph, *graph.cluster);
  ASSERT_TRUE(split.ok()) << split.message();
  EXPECT_THAT(split.value(), ElementsAre(1, 2));
  EXPECT_THAT(read_assignment("[0]", graph, *graph.cluster).message(), HasSubstr("1 devices"));
  EXPECT_THAT(read_assignment("[0, 3]", graph, *graph.cluster).message(), HasSubstr("entry 1"));
  EXPECT_THAT(read_assignment(R"({"node7": 0})", graph, *graph.cluster).message(),
              HasSubstr("node9"));
}

TEST(Import, RejectsMalformedSplits) {
  const auto model = read_model(kPartitioning);
  ASSERT_TRUE(model.ok());
  const auto refusal = [&](const char* text) {
    return read_assignment(text, model.value(), *model.value().cluster).message();
  };
  const std::string no_list = "the split.cpus: a list is expected";
  EXPECT_EQ(refusal(R"({"fpgas": [], "cpus": 5})"), no_list);
  EXPECT_EQ(refusal(R"({"fpgas": [], "cpus": {"nodes": [7]}})"), no_list);
  EXPECT_THAT(refusal(R"({"fpgas": [7]})"), HasSubstr("fpgas[0]: an object"));
  EXPECT_THAT(refusal(R"({"fpgas": [{"nodes": [7, 9]}, {"nodes": [7]}]})"),
              HasSubstr("fpgas[1]: node 7 stands in the split twice"));
  EXPECT_THAT(refusal(R"({"fpgas": [{"nodes": [7, 18446744073709551615]}]})"),
              HasSubstr("no node 18446744073709551615"));
}

}  // namespace
}  // namespace optile::placement
