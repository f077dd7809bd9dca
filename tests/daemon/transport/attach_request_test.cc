#include "daemon/transport/attach_request.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "daemon/views/thread_limits.h"
#include "tests/daemon/fixtures/fake_client.h"

namespace optile::daemon {
namespace {

TEST(AttachRequest, CarriesProgramModeAndStrategy) {
  optile_attach_request raw = make_attach_request("train");
  raw.mode = OPTILE_MODE_OBSERVE;
  raw.strategy = OPTILE_STRATEGY_2;
  raw.baseline = 1;
  const base::Result<AttachRequest> attach_request = parse_attach_request(&raw, sizeof raw);
  ASSERT_TRUE(attach_request.ok());
  EXPECT_EQ(attach_request.value().program, "train");
  EXPECT_EQ(attach_request.value().arguments, "train --steps 3");
  EXPECT_EQ(attach_request.value().mode, OPTILE_MODE_OBSERVE);
  EXPECT_EQ(attach_request.value().strategy, OPTILE_STRATEGY_2);
  EXPECT_TRUE(attach_request.value().baseline);
  EXPECT_EQ(attach_request.value().share, 1.0);
  EXPECT_EQ(attach_request.value().priority, OPTILE_PRIORITY_NORMAL);
}

TEST(AttachRequest, WholeProgramMayHaveNoLease) {
  optile_attach_request raw = make_attach_request("train");
  EXPECT_TRUE(may_have_lease(parse_attach_request(&raw, sizeof raw).value()));
  raw.whole_program = 1;
  const AttachRequest whole = parse_attach_request(&raw, sizeof raw).value();
  EXPECT_TRUE(whole.whole_program);
  EXPECT_FALSE(may_have_lease(whole));
  raw.whole_program = OPTILE_WHOLE_SIZES_POOLS;
  EXPECT_TRUE(may_have_lease(parse_attach_request(&raw, sizeof raw).value()));
  raw.whole_program = OPTILE_WHOLE_SIZES_POOLS + 1;
  EXPECT_FALSE(parse_attach_request(&raw, sizeof raw).ok());
}

TEST(AttachRequest, CarriesShareAndPriority) {
  optile_attach_request raw = make_attach_request("train");
  raw.share_milli = 2500;
  raw.priority = OPTILE_PRIORITY_BATCH;
  const base::Result<AttachRequest> attach_request = parse_attach_request(&raw, sizeof raw);
  ASSERT_TRUE(attach_request.ok());
  EXPECT_EQ(attach_request.value().share, 2.5);
  EXPECT_EQ(attach_request.value().priority, OPTILE_PRIORITY_BATCH);
}

TEST(AttachRequest, ParsesRespectAndUserWidthSources) {
  optile_attach_request raw = make_attach_request("train");
  EXPECT_EQ(parse_attach_request(&raw, sizeof raw).value().respect, OPTILE_RESPECT_CAP);
  raw.respect = OPTILE_RESPECT_EXACT;
  EXPECT_EQ(parse_attach_request(&raw, sizeof raw).value().respect, OPTILE_RESPECT_EXACT);
  EXPECT_STREQ(respect_name(OPTILE_RESPECT_EXACT), "exact");
  EXPECT_TRUE(is_set_by_user(OPTILE_WIDTH_ENVIRONMENT));
  EXPECT_TRUE(is_set_by_user(OPTILE_WIDTH_PROGRAM));
  for (const uint32_t source :
       {OPTILE_WIDTH_DEFAULT, OPTILE_WIDTH_LAUNCHER, OPTILE_WIDTH_FRAMEWORK}) {
    EXPECT_FALSE(is_set_by_user(source)) << source;
  }
}

TEST(AttachRequest, ListsThreadCountVariablesOfPools) {
  optile_attach_request raw = make_attach_request("train");
  EXPECT_TRUE(pool_limits(parse_attach_request(&raw, sizeof raw).value()).empty());
  raw.goto_num_threads = 5;
  raw.mkl_num_threads = 2;
  raw.blis_num_threads = 6;
  nlohmann::json words = pool_limits(parse_attach_request(&raw, sizeof raw).value());
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0]["name"], "GOTO_NUM_THREADS");
  EXPECT_EQ(words[0]["count"], 5);
  raw.openblas_num_threads = 4;
  words = pool_limits(parse_attach_request(&raw, sizeof raw).value());
  ASSERT_EQ(words.size(), 3u) << "OpenBLAS reads one of the two";
  EXPECT_EQ(words[0]["name"], "OPENBLAS_NUM_THREADS");
}

TEST(AttachRequest, FindsVariableThatSetsDefaultWidth) {
  optile_attach_request raw = make_attach_request("train");
  raw.omp_num_threads = 4;
  ClientHeader header;
  header.default_width = 4;
  const auto word = [&](uint32_t source) {
    header.default_width_source = source;
    return limiting_variable(parse_attach_request(&raw, sizeof raw).value(), header);
  };
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "OMP_NUM_THREADS");
  EXPECT_EQ(word(OPTILE_WIDTH_PROGRAM), "");
  EXPECT_EQ(word(OPTILE_WIDTH_LAUNCHER), "");
  raw.omp_thread_limit = 3;
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "OMP_NUM_THREADS");
  header.default_width = 3;
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "OMP_THREAD_LIMIT");
  header.default_width = 2;
  raw.mkl_num_threads = 2;
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "MKL_NUM_THREADS");
}

TEST(AttachRequest, AsUntunedHasSeparateStoredPlans) {
  optile_attach_request raw = make_attach_request("train");
  std::strcpy(raw.launch_plan, "openmp=keep wait=1ms blas=keep");
  AttachRequest attach_request = parse_attach_request(&raw, sizeof raw).value();
  EXPECT_FALSE(attach_request.as_untuned);
  EXPECT_STREQ(numerics_name(attach_request), "any");
  EXPECT_EQ(kept_under(attach_request), "openmp=keep wait=1ms blas=keep");
  raw.numerics_as_untuned = 1;
  attach_request = parse_attach_request(&raw, sizeof raw).value();
  EXPECT_TRUE(attach_request.as_untuned);
  EXPECT_STREQ(numerics_name(attach_request), "as-untuned");
  EXPECT_EQ(kept_under(attach_request), "openmp=keep wait=1ms blas=keep numerics=as-untuned");
}

TEST(AttachRequest, MalformedFramesAreRefusedWithReason) {
  const optile_attach_request good = make_attach_request("train");
  const auto refused = [&](auto change) {
    optile_attach_request raw = good;
    change(raw);
    const base::Result<AttachRequest> attach_request = parse_attach_request(&raw, sizeof raw);
    return !attach_request.ok() && !attach_request.message().empty();
  };
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.header.magic = 1; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.header.abi_version = 77; }));
  EXPECT_TRUE(
      refused([](optile_attach_request& raw) { raw.header.kind = OPTILE_FRAME_ATTACH_REPLY; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.header.bytes = 8; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.mode = 200; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.search = 9; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.strategy = 9; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.priority = 2; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.respect = 3; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.numerics_as_untuned = 2; }));
  EXPECT_TRUE(
      refused([](optile_attach_request& raw) { raw.share_milli = OPTILE_MAX_SHARE_MILLI + 1; }));
  EXPECT_TRUE(refused([](optile_attach_request& raw) { raw.default_width_source = 99; }));
  EXPECT_FALSE(parse_attach_request(&good, sizeof good - 1).ok());
  EXPECT_FALSE(parse_attach_request(&good, 0).ok());
}

TEST(AttachRequest, TextsAreTruncatedAndSanitised) {
  optile_attach_request raw = make_attach_request("train");
  std::memset(raw.program, 'x', sizeof raw.program);  // no end
  std::strcpy(raw.executable, "a\nb\x1b[31m\xff");
  const base::Result<AttachRequest> attach_request = parse_attach_request(&raw, sizeof raw);
  ASSERT_TRUE(attach_request.ok());
  EXPECT_EQ(attach_request.value().program.size(), sizeof raw.program);
  EXPECT_EQ(attach_request.value().executable, "a?b?[31m?");
}

TEST(AttachRequest, RandomFramesAreRejected) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<unsigned char> bytes(random() % (2 * sizeof(optile_attach_request)));
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    EXPECT_FALSE(parse_attach_request(bytes.data(), bytes.size()).ok());
  }
}

}  // namespace
}  // namespace optile::daemon
