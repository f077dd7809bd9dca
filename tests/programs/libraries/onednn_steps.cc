// A C++ program on oneDNN: each step is a convolution and a matrix product. Their primitives are
// made anew in each step, or, with the argument `once`, before the first. The first step's results
// are compared with plain sums, those of all others with the first's.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "tests/programs/libraries/exact.h"

namespace {

using dnnl::memory;
using Numbers = std::vector<float>;

constexpr int kImages = 4;
constexpr int kChannels = 16;
constexpr int kFilters = 32;
constexpr int kSide = 28;
constexpr int kRows = 192;
constexpr int kInner = 256;
constexpr int kColumns = 160;

Numbers numbers(size_t count, uint32_t seed) {
  Numbers made(count);
  exact_fill(made.data(), count, seed);
  return made;
}

class Program {
 public:
  Program() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  void make_primitives() {
    const dnnl::convolution_forward::desc convolution(dnnl::prop_kind::forward_inference,
                                                      dnnl::algorithm::convolution_direct, images_,
                                                      filters_, found_, {1, 1}, {1, 1}, {1, 1});
    convolution_ = dnnl::convolution_forward({convolution, engine_});
    const dnnl::matmul::desc product(left_, right_, product_);
    matmul_ = dnnl::matmul({product, engine_});
  }

  void step() {
    run(convolution_, images_, image_numbers_, filters_, filter_numbers_, found_, found_numbers_);
    run(matmul_, left_, left_numbers_, right_, right_numbers_, product_, product_numbers_);
    stream_.wait();
  }

  long wrong_numbers() const { return wrong_in_convolution() + wrong_in_product(); }
  Numbers results() const {
    Numbers all = found_numbers_;
    all.insert(all.end(), product_numbers_.begin(), product_numbers_.end());
    return all;
  }

 private:
  static memory::desc plain(const memory::dims& sizes, memory::format_tag order) {
    return {sizes, memory::data_type::f32, order};
  }

  void run(const dnnl::primitive& primitive, const memory::desc& source, Numbers& source_numbers,
           const memory::desc& weights, Numbers& weight_numbers, const memory::desc& to,
           Numbers& to_numbers) {
    primitive.execute(stream_, {{DNNL_ARG_SRC, memory(source, engine_, source_numbers.data())},
                                {DNNL_ARG_WEIGHTS, memory(weights, engine_, weight_numbers.data())},
                                {DNNL_ARG_DST, memory(to, engine_, to_numbers.data())}});
  }

  float found_at(int image, int filter, int row, int column) const {
    double sum = 0;
    for (int channel = 0; channel < kChannels; ++channel) {
      for (int down = 0; down < 3; ++down) {
        for (int right = 0; right < 3; ++right) {
          const int from_row = row + down - 1;
          const int from_column = column + right - 1;
          if (from_row < 0 || from_row >= kSide || from_column < 0 || from_column >= kSide)
            continue;
          const int at = ((image * kChannels + channel) * kSide + from_row) * kSide + from_column;
          const int weight = ((filter * kChannels + channel) * 3 + down) * 3 + right;
          sum += static_cast<double>(image_numbers_[static_cast<size_t>(at)]) *
                 filter_numbers_[static_cast<size_t>(weight)];
        }
      }
    }
    return static_cast<float>(sum);
  }

  long wrong_in_convolution() const {
    long wrong = 0;
    size_t at = 0;
    for (int image = 0; image < kImages; ++image) {
      for (int filter = 0; filter < kFilters; ++filter) {
        for (int row = 0; row < kSide; ++row) {
          for (int column = 0; column < kSide; ++column, ++at) {
            wrong += found_numbers_[at] != found_at(image, filter, row, column);
          }
        }
      }
    }
    return wrong;
  }

  long wrong_in_product() const {
    long wrong = 0;
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t column = 0; column < kColumns; ++column) {
        double sum = 0;
        for (size_t i = 0; i < kInner; ++i) {
          sum += static_cast<double>(left_numbers_[row * kInner + i]) *
                 right_numbers_[i * kColumns + column];
        }
        wrong += product_numbers_[row * kColumns + column] != static_cast<float>(sum);
      }
    }
    return wrong;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  memory::desc images_ = plain({kImages, kChannels, kSide, kSide}, memory::format_tag::nchw);
  memory::desc filters_ = plain({kFilters, kChannels, 3, 3}, memory::format_tag::oihw);
  memory::desc found_ = plain({kImages, kFilters, kSide, kSide}, memory::format_tag::nchw);
  memory::desc left_ = plain({kRows, kInner}, memory::format_tag::ab);
  memory::desc right_ = plain({kInner, kColumns}, memory::format_tag::ab);
  memory::desc product_ = plain({kRows, kColumns}, memory::format_tag::ab);
  Numbers image_numbers_ = numbers(size_t{kImages} * kChannels * kSide * kSide, 1);
  Numbers filter_numbers_ = numbers(size_t{kFilters} * kChannels * 9, 2);
  Numbers found_numbers_ = Numbers(size_t{kImages} * kFilters * kSide * kSide, -1.0F);
  Numbers left_numbers_ = numbers(size_t{kRows} * kInner, 3);
  Numbers right_numbers_ = numbers(size_t{kInner} * kColumns, 4);
  Numbers product_numbers_ = Numbers(size_t{kRows} * kColumns, -1.0F);
  dnnl::convolution_forward convolution_;
  dnnl::matmul matmul_;
};

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  const bool once = argc > 2 && std::strcmp(argv[2], "once") == 0;
  Program program;
  program.make_primitives();
  program.step();
  long wrong = program.wrong_numbers();
  const Numbers first = program.results();
  for (int step = 1; step < steps; ++step) {
    if (!once) program.make_primitives();
    program.step();
    wrong += program.results() != first;
  }
  std::printf("oneDNN: %d steps, %ld wrong numbers\n", steps, wrong);
  return wrong == 0 ? 0 : 1;
}
