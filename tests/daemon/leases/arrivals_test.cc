// A third program, of which nothing is known, beside two that have settled, on 16 described cores:
// after how many of its steps the cores are divided as well as they will be, and how good that is
// against every division there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/daemon/fixtures/co_runners_fixture.h"
#include "tests/sanitized.h"

namespace optile::daemon {
namespace {

constexpr int kCores = 16;
constexpr uint64_t kOps = 80;
constexpr unsigned kSeeds = ::optile::test::kSanitized ? 3 : 20;

// A step of so many seconds on one thread: a serial part, a parallel one, and what each further
// thread costs. Where it has a number of equal parts, a thread computes whole ones.
struct Scaling {
  double one = 0;
  double serial = 0;
  double overhead = 0;
  int parts = 0;

  double seconds(int cores) const {
    const int most = parts == 0 ? 1 : (parts + cores - 1) / cores;  // parts of one thread
    const double each = parts == 0 ? 1.0 / cores : static_cast<double>(most) / parts;
    return one * (serial + (1 - serial) * each + overhead * (cores - 1));
  }
  // With up to so many cores, since nobody has to use all.
  double fastest(int cores) const {
    double best = seconds(1);
    for (int n = 2; n <= cores; ++n) best = std::min(best, seconds(n));
    return best;
  }
  double progress(int cores) const { return fastest(kCores) / fastest(cores); }
};

class ArrivalsTest : public SimulatedProgramsTest {
 protected:
  using Division = std::array<int, 3>;
  struct Outcome {
    uint64_t steps = 0;  // of the newcomer, until the division is worth what it will be
    double worth = 0;    // of the one in the end, over the best of all
    std::string text;
  };
  ArrivalsTest() { describe("pack:1 l3:4 core:4 pu:1"); }

  void add(const Scaling& scaling) {
    const std::size_t place = programs_.size();
    scalings_.push_back(scaling);
    // As many ops as a real step has: one of a few is taken for a loop inside a longer one. They
    // are its own: what is known of an op is known of it in every program.
    std::vector<SimulatedProgram::Op> ops;
    for (uint64_t op = 0; op < kOps; ++op) {
      ops.push_back({kMatmul + place * kOps + op, "aten::mm", [this, place, scaling](int width) {
                       const int mine = cores(place);
                       const double crowded = width > mine ? 1.5 : 1;
                       const double took = scaling.seconds(std::min(width, mine)) * crowded;
                       return static_cast<uint64_t>(1e9 * took / kOps);
                     }});
    }
    add_with_step("program " + std::to_string(place), std::move(ops));
  }
  int cores(std::size_t place) const {
    const auto mask = masks_.find(id(place));
    const bool all = mask == masks_.end() || mask->second.empty();
    return all ? kCores : static_cast<int>(mask->second.size());
  }
  double worth(const Division& cores) const {
    double sum = 0;
    for (std::size_t i = 0; i < cores.size(); ++i) sum += scalings_[i].progress(cores[i]);
    return sum;
  }
  double best_worth() const {
    double best = 0;
    for (int first = 1; first < kCores - 1; ++first) {
      for (int second = 1; first + second < kCores; ++second) {
        best = std::max(best, worth({first, second, kCores - first - second}));
      }
    }
    return best;
  }
  Outcome arrival(const std::array<Scaling, 3>& scalings) {
    store_ = Store::open(":memory:");
    begin();
    said_.clear();
    scalings_.clear();
    add(scalings[0]);
    add(scalings[1]);
    run(60);
    add(scalings[2]);
    struct Moment {
      uint64_t steps;
      double worth;
    };
    std::vector<Moment> seen;
    run(120, [this, &seen] {
      seen.push_back({programs_.back()->steps, worth({cores(0), cores(1), cores(2)})});
      return false;
    });
    const double steady = seen.back().worth;
    const auto off = std::find_if(seen.rbegin(), seen.rend(), [steady](const Moment& moment) {
      return moment.worth < 0.95 * steady;
    });
    Outcome outcome{off == seen.rend() ? 0 : off->steps + 1, steady / best_worth(), ""};
    outcome.text = " " + std::to_string(outcome.steps) + " (";
    for (std::size_t i = 0; i < 3; ++i) outcome.text += std::to_string(cores(i)) + " ";
    outcome.text.back() = ')';
    outcome.text += " " + std::to_string(outcome.worth) + "\n";
    return outcome;
  }
  // Three for each seed; the way they scale is made by `make`.
  template <typename Make>
  std::vector<Outcome> arrivals(const Make& make) {
    std::vector<Outcome> outcomes;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      std::mt19937 random(seed);
      const auto uniform = [&random](double low, double high) {
        return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
      };
      std::array<Scaling, 3> scalings;
      for (Scaling& one : scalings) one = make(uniform);
      outcomes.push_back(arrival(scalings));
    }
    return outcomes;
  }
  static std::string text_of(const std::vector<Outcome>& outcomes) {
    std::string all;
    for (const Outcome& one : outcomes) all += one.text;
    return all;
  }
  static double mean_worth(const std::vector<Outcome>& outcomes) {
    const auto add = [](double sum, const Outcome& one) { return sum + one.worth; };
    return std::accumulate(outcomes.begin(), outcomes.end(), 0.0, add) /
           static_cast<double>(outcomes.size());
  }

  std::vector<Scaling> scalings_;
};

TEST_F(ArrivalsTest, DivisionIsNearOptimalWithinTwentySteps) {
  const std::vector<Outcome> outcomes = arrivals([](const auto& uniform) {
    return Scaling{uniform(0.05, 0.4), uniform(0.02, 0.5), 0, 0};
  });
  for (const Outcome& one : outcomes) {
    EXPECT_LE(one.steps, 20u) << one.text;
    EXPECT_GT(one.worth, 0.98) << one.text;
  }
  EXPECT_GT(mean_worth(outcomes), 0.993) << text_of(outcomes);
  RecordProperty("steps", text_of(outcomes));
}

// Curves that no law of a serial and a parallel part describes: threads that cost something, and
// work in a few parts, whose curves are steps.
TEST_F(ArrivalsTest, DivisionIsNearOptimalForIrregularCurves) {
  const std::vector<Outcome> outcomes = arrivals([](const auto& uniform) {
    const int parts = uniform(0, 1) < 0.5 ? 0 : static_cast<int>(uniform(4, 40));
    return Scaling{uniform(0.05, 0.4), uniform(0.02, 0.5), uniform(0, 0.01), parts};
  });
  RecordProperty("worth", std::to_string(mean_worth(outcomes)));
  RecordProperty("steps", text_of(outcomes));
  EXPECT_GT(mean_worth(outcomes), 0.97) << text_of(outcomes);
}

}  // namespace
}  // namespace optile::daemon
