// The short round of a fuzz target: a fixed number of inputs, each mutated from a seed by a random
// generator that depends on the seed and the input's number alone, so that any one can be run
// again: TARGET --seed SEED --only NUMBER. Other uses: --rounds N, --write-seeds FOLDER (a corpus
// for libFuzzer), and files to be run as they are (what libFuzzer left behind).
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>

#include "tests/fuzz/fuzz_target.h"

// Of the sanitizers' runtime, where one is linked.
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace {

constexpr uint64_t kSeed = 20240229;
constexpr std::size_t kMaxInput = 8192;
constexpr unsigned kLongestInputSeconds = 120;  // an input that takes longer hangs
constexpr rlim_t kMemoryBytes = rlim_t{4} << 30;
constexpr std::size_t kMaxGrowthBytes = std::size_t{1} << 20;

uint64_t running_seed = kSeed;
uint64_t running_number = 0;

void say_which() {
  std::fprintf(stderr, "in input --seed %llu --only %llu\n",
               static_cast<unsigned long long>(running_seed),
               static_cast<unsigned long long>(running_number));
}

void die_of(int signal_number) {
  say_which();
  std::signal(signal_number, SIG_DFL);
  raise(signal_number);
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())];
    for (std::size_t changes = 1 + below(8); changes > 0; --changes) change(input);
    if (input.size() > kMaxInput) input.resize(kMaxInput);
    return input;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  void change(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    switch (below(8)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        return;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(random_());
        return;
      case 2:
        input.insert(at, 1 + below(16), static_cast<char>(random_()));
        return;
      case 3:
        input.erase(at, 1 + below(32));
        return;
      case 4:
        input.insert(at, input.substr(below(input.size() + 1), 1 + below(256)));
        return;
      case 5: {
        const std::string& other = seeds_[below(seeds_.size())];
        input = input.substr(0, at) + other.substr(below(other.size() + 1));
        return;
      }
      default:
        interesting(input, at);
    }
  }

  // A number at which code that counts goes wrong, in one of four widths.
  void interesting(std::string& input, std::size_t at) {
    static constexpr uint64_t kNumbers[] = {0,
                                            1,
                                            16,
                                            255,
                                            256,
                                            4095,
                                            4096,
                                            4097,
                                            65535,
                                            UINT64_C(0x7fffffff),
                                            UINT64_C(0x80000000),
                                            UINT64_C(0xffffffff),
                                            UINT64_C(0x100000000),
                                            UINT64_C(0x7fffffffffffffff),
                                            UINT64_C(0x8000000000000000),
                                            ~UINT64_C(0)};
    const uint64_t number = kNumbers[below(std::size(kNumbers))];
    const std::size_t width = std::size_t{1} << below(4);
    if (at + width > input.size()) return;
    std::memcpy(input.data() + at, &number, width);
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

void run(const std::string& input) {
  alarm(kLongestInputSeconds);
  // A copy of its exact size, so that a read past its end is one.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

bool sanitized() {
  return __sanitizer_set_death_callback != nullptr;
}

int short_round(uint64_t rounds, std::optional<uint64_t> only) {
  const std::vector<std::string> seeds = optile::fuzz::seeds();
  std::size_t settled_bytes = 0;  // on the heap once everything has been met
  for (uint64_t number = only.value_or(0); number < (only ? *only + 1 : rounds); ++number) {
    running_number = number;
    if (number < seeds.size()) {
      run(seeds[number]);
    } else {
      run(Mutator(seeds, running_seed ^ (number * UINT64_C(0x9e3779b97f4a7c15))).next());
    }
    if (number == rounds / 4) settled_bytes = mallinfo2().uordblks;
  }
  alarm(0);
  const std::size_t left_bytes = mallinfo2().uordblks;
  std::cout << "seed " << running_seed << ": " << rounds << " inputs from " << seeds.size()
            << " seeds; heap " << settled_bytes << " bytes after a quarter, " << left_bytes
            << " at the end" << std::endl;
  // The sanitizers have a heap of their own, and their own word on what was lost.
  if (!only && !sanitized()) {
    optile::fuzz::require(left_bytes < settled_bytes + kMaxGrowthBytes, "the heap stays flat");
  }
  return 0;
}

int write_seeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : optile::fuzz::seeds()) {
    std::ofstream(folder + "/seed-" + std::to_string(number++), std::ios::binary) << seed;
  }
  return 0;
}

int run_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "cannot read " << path << "\n";
    return 1;
  }
  run(std::string(std::istreambuf_iterator<char>(file), {}));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t rounds = 0;
  std::optional<uint64_t> only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--write-seeds") return write_seeds(value);
    if (word == "--rounds" || word == "--seed" || word == "--only") {
      const uint64_t number = std::strtoull(value, nullptr, 10);
      if (word == "--rounds") rounds = number;
      if (word == "--seed") running_seed = number;
      if (word == "--only") only = number;
      ++i;
    } else if (const int failed = run_file(word); failed != 0) {
      return failed;
    }
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    if (!sanitized() || number == SIGALRM) std::signal(number, die_of);
  }
  if (sanitized()) {
    __sanitizer_set_death_callback(say_which);
  } else {
    // Whoever asks for more than this asks for what a client said.
    const rlimit memory = {kMemoryBytes, kMemoryBytes};
    setrlimit(RLIMIT_AS, &memory);
  }
  return rounds > 0 || only ? short_round(rounds, only) : 0;
}
