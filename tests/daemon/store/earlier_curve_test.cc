// What earlier runs of a program measured by cores: kept, completed, and what it says of a lease
// before the first step has been seen.
#include "daemon/store/earlier_curve.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tests/daemon/fixtures/co_runners_fixture.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

constexpr CurveSubject kAbout{0xabc, 4};

TEST(EarlierCurve, InterpolatesFromTwoOrMorePoints) {
  const EarlierCurve curve{kAbout, 0, {{1, 1.0, true, 0}, {2, 0.6, true, 0}, {4, 0.4, true, 0}}};
  const std::vector<double> seconds = seconds_by_cores(curve, 8);
  ASSERT_EQ(seconds.size(), 8u);
  EXPECT_NEAR(seconds[0], 1.0, 1e-9);
  EXPECT_NEAR(seconds[1], 0.6, 1e-9);
  EXPECT_NEAR(seconds[2], 0.2 + 0.8 / 3, 1e-9) << "serial + parallel / cores through 2 and 4";
  EXPECT_NEAR(seconds[3], 0.4, 1e-9);
  EXPECT_NEAR(seconds[7], 0.3, 1e-9);
  EXPECT_TRUE(seconds_by_cores({kAbout, 0, {{4, 0.4, true, 0}}}, 8).empty());
  EXPECT_TRUE(seconds_by_cores({}, 8).empty());
}

TEST(EarlierCurve, PaceComparesCommonPoints) {
  const std::vector<double> earlier = {1.0, 0.6, 0.5};
  EXPECT_DOUBLE_EQ(pace_against(earlier, {}), 1.0);
  EXPECT_NEAR(pace_against(earlier, {{2, 0.9}}), 1.5, 1e-9);
  EXPECT_NEAR(pace_against(earlier, {{1, 2.0}, {2, 0.3}}), 1.0, 1e-9) << "geometric mean";
  EXPECT_DOUBLE_EQ(pace_against(earlier, {{7, 0.1}}), 1.0) << "nothing to compare with";
}

TEST(EarlierCurve, WholeStepTimesCorrectPredictedCurve) {
  const std::vector<double> promised = {8, 4, 8.0 / 3, 2, 1.6, 8.0 / 6, 8.0 / 7, 1};
  EXPECT_EQ(through(promised, {}), promised);
  EXPECT_EQ(through({}, {{2, 4.0}}), std::vector<double>());
  const std::vector<double> slower = through(promised, {{2, 6.0}});
  for (std::size_t i = 0; i < promised.size(); ++i) {
    EXPECT_NEAR(slower[i], 1.5 * promised[i], 1e-9) << "one point says nothing of the shape";
  }
  const std::vector<double> flat = through(promised, {{2, 4.0}, {4, 4.0}});
  EXPECT_NEAR(flat[0], 8, 1e-9);
  EXPECT_NEAR(flat[1], 4, 1e-9);
  EXPECT_GT(flat[2], promised[2]);
  EXPECT_NEAR(flat[3], 4, 1e-9);
  EXPECT_NEAR(flat[7], 4, 1e-9) << "what two more did not gain four more will not";
  const std::vector<double> faster = through(promised, {{2, 4.0}, {4, 1.0}});
  EXPECT_NEAR(faster[7], 0.5, 1e-9) << "as promised, since the law would be better than ideal";
}

TEST(EarlierCurve, KeptPointsAreMarkedMeasuredOrPredicted) {
  const EarlierCurve earlier{
      kAbout, 0, {{1, 1.0, true, 50}, {2, 0.7, false, 50}, {4, 1, true, 50}}};
  const std::vector<double> seconds = {1.1, 0.6, 0.5, 0.4, 0.39, 0.38, 0.37};
  const EarlierCurve kept = curve_to_keep(kAbout, seconds, {{4, 0.4}}, &earlier, 90);
  const std::vector<CurvePoint> wanted = {{1, 1.1, true, 50},   {2, 0.6, false, 90},
                                          {3, 0.5, false, 90},  {4, 0.4, true, 90},
                                          {6, 0.38, false, 90}, {7, 0.37, false, 90}};
  EXPECT_EQ(kept.points, wanted);
  EXPECT_EQ(kept.about, kAbout);
}

CurveRecord record(const std::string& arguments, std::vector<CurvePoint> points) {
  return {{"a machine", {"/usr/bin/p", "p", arguments}, "openmp=keep", 0},
          {kAbout, 0.9, std::move(points)},
          100};
}

TEST(StoreCurves, FindsLatestCurveWithRecentPoints) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  const CurveRecord first = record("a", {{1, 2.0, true, 10}, {2, 1.0, false, 20}});
  StoreBatch batch;
  batch.curves = {first, record("b", {{1, 9.0, true, 10}})};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_curve(first.conditions, 0), first.curve);
  ASSERT_TRUE(store->find_curve(first.conditions, 15));
  EXPECT_EQ(store->find_curve(first.conditions, 15)->points.size(), 1u);
  EXPECT_FALSE(store->find_curve(first.conditions, 30));
  Conditions other = first.conditions;
  other.launch_plan = "openmp=llvm wait=1ms";
  ASSERT_TRUE(store->find_curve(other, 0)) << "that of another launch plan is better than none";
  EXPECT_FALSE(store->find_curve(other, 0)->points[0].measured) << "but it was not measured so";
  other = first.conditions;
  other.machine = "another";
  EXPECT_FALSE(store->find_curve(other, 0));
  batch = {};
  batch.curves = {record("a", {{4, 0.5, true, 40}})};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_curve(first.conditions, 0), batch.curves[0].curve);
}

TEST(StoreCurves, PrefersCurveOfSameLaunchPlan) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  CurveRecord other = record("a", {{1, 3.0, true, 70}, {2, 2.0, true, 70}});
  other.conditions.launch_plan = "openmp=llvm wait=1ms";
  StoreBatch batch;
  batch.curves = {record("a", {{1, 2.0, true, 10}, {2, 1.0, true, 20}}), other};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_curve(other.conditions, 0), other.curve);
  EXPECT_EQ(store->find_curve(batch.curves[0].conditions, 0), batch.curves[0].curve);
  EXPECT_EQ(store->find_curve(batch.curves[0].conditions, 30)->points[1].seconds, 2.0);
}

TEST(EarlierCurve, PointsOfAnotherPlanCompleteCurveAtOwnPace) {
  const EarlierCurve guessed{kAbout, 0, {{1, 2.0, true, 50}, {2, 1.1, false, 50}}};
  const EarlierCurve other{
      kAbout, 0, {{1, 1.0, false, 10}, {2, 0.8, true, 10}, {8, 0.5, true, 20}}};
  const EarlierCurve whole = completed(guessed, other);
  ASSERT_EQ(whole.points.size(), 3u);
  EXPECT_EQ(whole.points[0], guessed.points[0]);
  EXPECT_NEAR(whole.points[1].seconds, 1.6, 1e-9) << "twice as slow with one core, and so with two";
  EXPECT_TRUE(whole.points[1].measured);
  EXPECT_NEAR(whole.points[2].seconds, 1.0, 1e-9);
  EXPECT_EQ(whole.points[2].when, 20);
  EarlierCurve another = other;
  another.about.default_width += 1;
  EXPECT_EQ(completed(guessed, another), guessed);
}

TEST(StoreCurves, CombinesCurvesOfEquivalentLaunchPlans) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  CurveRecord alone = record("a", {{1, 1.0, false, 10}, {8, 0.5, true, 10}});
  alone.conditions.launch_plan = "openmp=keep wait=keep blas=keep";
  CurveRecord beside = record("a", {{1, 2.0, true, 20}, {2, 1.1, false, 20}});
  beside.conditions.launch_plan = "openmp=llvm wait=keep blas=keep";
  StoreBatch batch;
  batch.curves = {alone};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_curve(beside.conditions, 0), alone.curve) << "instead of one of its own";
  batch.curves = {beside};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_curve(beside.conditions, 0), completed(beside.curve, alone.curve));
  Conditions other = beside.conditions;
  other.launch_plan = "openmp=llvm wait=1ms blas=follow";
  EXPECT_FALSE(store->find_curve(other, 0)->points[0].measured);
  EXPECT_EQ(store->find_curve(other, 0)->points.size(), 2u) << "of one of them";
}

TEST(StoreCurves, AddsTableToOlderStore) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  StoreBatch batch;
  batch.curves = {record("a", {{1, 2.0, true, 10}})};
  ASSERT_TRUE(Store::open(path)->write(batch).ok());
  const Database::Identity older = {0x6f70746c, 5, ""};
  ASSERT_TRUE(Database::open(path, older).database->run("DROP TABLE curves").ok());
  const std::unique_ptr<Store> store = Store::open(path);
  EXPECT_FALSE(store->find_curve(batch.curves[0].conditions, 0));
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_TRUE(store->find_curve(batch.curves[0].conditions, 0));
}

// Two programs on four cores of which one hardly scales, so that 3 + 1 is best.
class EarlierCurveLeasesTest : public SimulatedProgramsTest {
 protected:
  static constexpr uint64_t kOps = 80;  // as a real step has; one of a few is taken for a loop

  // Program `name`, as it is in this kind of run.
  void come(uint64_t name, double serial, uint64_t kind = 0, int default_width = 0) {
    const std::size_t place = programs_.size();
    std::vector<SimulatedProgram::Op> ops;
    for (uint64_t op = 0; op < kOps; ++op) {
      ops.push_back(
          {kMatmul + (2 * kind + name) * kOps + op, "aten::mm", [this, place, serial](int width) {
             const int mine = cores(place);
             const double took = serial + (1 - serial) / std::min(width, mine);
             return static_cast<uint64_t>(2e8 * took * (width > mine ? 1.5 : 1) / kOps);
           }});
    }
    add_with_step("program " + std::to_string(name), std::move(ops), default_width);
  }
  int cores(std::size_t place) const {
    const auto mask = masks_.find(id(place));
    const bool all = mask == masks_.end() || mask->second.empty();
    return static_cast<int>(all ? machine_.cores.size() : mask->second.size());
  }
  void both_come(uint64_t kind = 0) {
    begin();
    said_.clear();
    come(0, 0.05, kind);
    come(1, 0.6, kind);
  }
  void all_leave() {
    for (std::size_t place = 0; place < programs_.size(); ++place) controller_->depart(id(place));
    controller_->history().batches().flush(true);
  }
};

TEST_F(EarlierCurveLeasesTest, ReturningProgramsGetEarlierCoresOnArrival) {
  both_come();
  run(60);
  ASSERT_EQ(cores(0), 3) << said_;
  all_leave();
  both_come();
  EXPECT_EQ(cores(0), 3) << "before the first step: " << said_;
  EXPECT_EQ(cores(1), 1);
  ProgramKey key = {"/usr/bin/python3", "program 0", "python3 train.py"};
  EXPECT_EQ(controller_->history().was_steered(key, 0), true);
  key.program = "program 2";
  EXPECT_EQ(controller_->history().was_steered(key, 0), std::nullopt) << "it has never run";
  run(60);
  EXPECT_EQ(cores(0), 3);
  EXPECT_EQ(lines_with("lease: client"), 3u) << "as they came: " << said_;
}

TEST_F(EarlierCurveLeasesTest, ProgramsWithDifferentOpsAreMeasuredAgain) {
  both_come();
  run(60);
  all_leave();
  // Other ops, and it is the other one that scales.
  begin();
  said_.clear();
  come(0, 0.6, 1);
  come(1, 0.05, 1);
  EXPECT_EQ(cores(0), 3) << "as it was: " << said_;
  run(60);
  EXPECT_EQ(cores(0), 1) << said_;
  all_leave();
  begin();
  come(0, 0.6, 1);
  come(1, 0.05, 1);
  EXPECT_EQ(cores(0), 1) << "what was learned last counts: " << said_;
}

TEST_F(EarlierCurveLeasesTest, CurvesOfSoloRunsDivideCores) {
  for (const uint64_t name : {0u, 1u}) {
    begin();
    come(name, name == 0u ? 0.05 : 0.6);
    run(60);
    all_leave();
  }
  both_come();
  EXPECT_EQ(cores(0), 3) << said_;
}

// As with OMP_NUM_THREADS=3.
TEST_F(EarlierCurveLeasesTest, ProgramGetsNoMoreCoresThanThreads) {
  describe("pack:1 l3:4 core:4 pu:1");
  begin();
  come(0, 0.05);
  come(1, 0, 0, 3);
  run(20);
  EXPECT_EQ(cores(1), 3) << said_;
  EXPECT_EQ(cores(0), 13);
  EXPECT_LE(lines_with("lease: client"), 6u) << "not tried with more, one after the other";
  const std::string before = said_;
  run(60);
  EXPECT_EQ(said_, before) << "and none is tried";
}

TEST_F(EarlierCurveLeasesTest, CurvesExpireAfterOneWeek) {
  both_come();
  run(60);
  all_leave();
  now_ns_ += uint64_t{8} * 24 * 3600 * kSecondNs;
  both_come();
  EXPECT_EQ(cores(0), 2) << said_;
}

}  // namespace
}  // namespace optile::daemon
