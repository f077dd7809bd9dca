#include "daemon/transport/hello.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "daemon/views/user_words.h"
#include "tests/daemon/fixtures/fake_client.h"

namespace optile::daemon {
namespace {

TEST(Hello, CarriesProgramModeAndStrategy) {
  optile_hello raw = make_hello("train");
  raw.mode = OPTILE_MODE_OBSERVE;
  raw.strategy = OPTILE_STRATEGY_2;
  raw.baseline = 1;
  const base::Result<Hello> hello = parse_hello(&raw, sizeof raw);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello.value().program, "train");
  EXPECT_EQ(hello.value().arguments, "train --steps 3");
  EXPECT_EQ(hello.value().mode, OPTILE_MODE_OBSERVE);
  EXPECT_EQ(hello.value().strategy, OPTILE_STRATEGY_2);
  EXPECT_TRUE(hello.value().baseline);
  EXPECT_EQ(hello.value().share, 1.0);
  EXPECT_EQ(hello.value().priority, OPTILE_PRIORITY_NORMAL);
}

TEST(Hello, CarriesShareAndPriority) {
  optile_hello raw = make_hello("train");
  raw.share_milli = 2500;
  raw.priority = OPTILE_PRIORITY_BATCH;
  const base::Result<Hello> hello = parse_hello(&raw, sizeof raw);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello.value().share, 2.5);
  EXPECT_EQ(hello.value().priority, OPTILE_PRIORITY_BATCH);
}

TEST(Hello, ParsesRespectAndUserWidthSources) {
  optile_hello raw = make_hello("train");
  EXPECT_EQ(parse_hello(&raw, sizeof raw).value().respect, OPTILE_RESPECT_CAP);
  raw.respect = OPTILE_RESPECT_EXACT;
  EXPECT_EQ(parse_hello(&raw, sizeof raw).value().respect, OPTILE_RESPECT_EXACT);
  EXPECT_STREQ(respect_name(OPTILE_RESPECT_EXACT), "exact");
  EXPECT_TRUE(is_users_word(OPTILE_WIDTH_ENVIRONMENT));
  EXPECT_TRUE(is_users_word(OPTILE_WIDTH_PROGRAM));
  for (const uint32_t source :
       {OPTILE_WIDTH_DEFAULT, OPTILE_WIDTH_LAUNCHER, OPTILE_WIDTH_FRAMEWORK}) {
    EXPECT_FALSE(is_users_word(source)) << source;
  }
}

TEST(Hello, ListsThreadCountVariablesOfPools) {
  optile_hello raw = make_hello("train");
  EXPECT_TRUE(words_on_pools(parse_hello(&raw, sizeof raw).value()).empty());
  raw.goto_num_threads = 5;
  raw.mkl_num_threads = 2;
  raw.blis_num_threads = 6;
  nlohmann::json words = words_on_pools(parse_hello(&raw, sizeof raw).value());
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0]["name"], "GOTO_NUM_THREADS");
  EXPECT_EQ(words[0]["count"], 5);
  raw.openblas_num_threads = 4;
  words = words_on_pools(parse_hello(&raw, sizeof raw).value());
  ASSERT_EQ(words.size(), 3u) << "OpenBLAS reads one of the two";
  EXPECT_EQ(words[0]["name"], "OPENBLAS_NUM_THREADS");
}

TEST(Hello, FindsVariableThatSetsOwnWidth) {
  optile_hello raw = make_hello("train");
  raw.omp_num_threads = 4;
  ClientHeader header;
  header.own_width = 4;
  const auto word = [&](uint32_t source) {
    header.own_width_source = source;
    return binding_word(parse_hello(&raw, sizeof raw).value(), header);
  };
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "OMP_NUM_THREADS");
  EXPECT_EQ(word(OPTILE_WIDTH_PROGRAM), "");
  EXPECT_EQ(word(OPTILE_WIDTH_LAUNCHER), "");
  raw.omp_thread_limit = 3;
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "OMP_NUM_THREADS");
  header.own_width = 3;
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "OMP_THREAD_LIMIT");
  header.own_width = 2;
  raw.mkl_num_threads = 2;
  EXPECT_EQ(word(OPTILE_WIDTH_ENVIRONMENT), "MKL_NUM_THREADS");
}

TEST(Hello, AsUntunedHasSeparateStoredPlans) {
  optile_hello raw = make_hello("train");
  std::strcpy(raw.launch_plan, "openmp=keep wait=1ms blas=keep");
  Hello hello = parse_hello(&raw, sizeof raw).value();
  EXPECT_FALSE(hello.as_untuned);
  EXPECT_STREQ(numerics_name(hello), "any");
  EXPECT_EQ(kept_under(hello), "openmp=keep wait=1ms blas=keep");
  raw.numerics_as_untuned = 1;
  hello = parse_hello(&raw, sizeof raw).value();
  EXPECT_TRUE(hello.as_untuned);
  EXPECT_STREQ(numerics_name(hello), "as-untuned");
  EXPECT_EQ(kept_under(hello), "openmp=keep wait=1ms blas=keep numerics=as-untuned");
}

TEST(Hello, MalformedFramesAreRefusedWithReason) {
  const optile_hello good = make_hello("train");
  const auto refused = [&](auto change) {
    optile_hello raw = good;
    change(raw);
    const base::Result<Hello> hello = parse_hello(&raw, sizeof raw);
    return !hello.ok() && !hello.message().empty();
  };
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.header.magic = 1; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.header.abi_version = 77; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.header.kind = OPTILE_FRAME_WELCOME; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.header.bytes = 8; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.mode = 200; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.search = 9; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.strategy = 9; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.priority = 2; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.respect = 3; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.numerics_as_untuned = 2; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.share_milli = OPTILE_MAX_SHARE_MILLI + 1; }));
  EXPECT_TRUE(refused([](optile_hello& raw) { raw.own_width_source = 99; }));
  EXPECT_FALSE(parse_hello(&good, sizeof good - 1).ok());
  EXPECT_FALSE(parse_hello(&good, 0).ok());
}

TEST(Hello, TextsAreTruncatedAndSanitised) {
  optile_hello raw = make_hello("train");
  std::memset(raw.program, 'x', sizeof raw.program);  // no end
  std::strcpy(raw.executable, "a\nb\x1b[31m\xff");
  const base::Result<Hello> hello = parse_hello(&raw, sizeof raw);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello.value().program.size(), sizeof raw.program);
  EXPECT_EQ(hello.value().executable, "a?b?[31m?");
}

TEST(Hello, RandomFramesAreRejected) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<unsigned char> bytes(random() % (2 * sizeof(optile_hello)));
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    EXPECT_FALSE(parse_hello(bytes.data(), bytes.size()).ok());
  }
}

}  // namespace
}  // namespace optile::daemon
