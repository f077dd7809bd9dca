// A store that somebody has been at: bytes of the file changed anywhere, the file cut, or rows that
// are well formed and say what cannot be. Whatever happens, what is served is in range, and a later
// write is either refused with a reason or found again.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/store/store.h"
#include "tests/daemon/fixtures/temporary_directory.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace optile::daemon;
using optile::fuzz::Bytes;
using optile::fuzz::require;

constexpr int kMaxChanges = 64;

Conditions conditions() {
  return {"machine", {"/usr/bin/python3", "train.py", "train.py --steps 3"}, "openmp=keep", 1};
}

StoreBatch batch(int width) {
  SettledRecord settled;
  settled.conditions = conditions();
  settled.when = 1700000000;
  settled.settled.plan.default_width = 4;
  settled.settled.plan.step_fingerprint = 99;
  for (uint64_t key = 1; key < 20; ++key) {
    settled.settled.plan.entries.push_back({{key, 3}, width, optile::tuner::Rule::kPlanned});
    settled.settled.profiles.push_back({key, "aten::mm", "[8,8]", {2, {}}, 12, 1500});
  }
  RunRecord run;
  run.conditions = conditions();
  run.steps = 30;
  run.step_seconds = 0.5;
  run.when = 1700000000;
  return {{settled}, {run}};
}

// In shared memory: nothing here is about the disk.
class Folder {
 public:
  Folder() {
    {
      // Closed again, so that the file holds all of it.
      require(Store::open(path())->write(batch(2)).ok(), "a store can be written");
    }
    std::ifstream file(path(), std::ios::binary);
    image_ = std::string(std::istreambuf_iterator<char>(file), {});
    require(image_.size() > 4096, "a store was made");
  }
  std::string path() const { return directory_ / "store.db"; }
  const std::string& image() const { return image_; }
  // Nothing of the last input is left.
  void restore(const std::string& image) {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      std::filesystem::remove(entry.path());
    }
    std::ofstream(path(), std::ios::binary) << image;
  }

 private:
  TemporaryDirectory directory_;
  std::string image_;
};

// Changes of the file's bytes: where, how many, which.
std::string damaged(std::string image, Bytes& bytes) {
  for (int i = 0; i < kMaxChanges && !bytes.empty(); ++i) {
    const std::size_t at = bytes.take<uint32_t>() % image.size();
    const std::string put = bytes.text(1 + bytes.take<uint8_t>() % 16);
    if (put.empty() || put[0] == '\x7f') {
      image.resize(std::max<std::size_t>(at, 1));  // cut
    } else {
      image.replace(at, std::min(put.size(), image.size() - at), put);
    }
  }
  return image;
}

// Rows with hostile values, in the columns' own types.
void spoil_rows(const std::string& path, Bytes& bytes) {
  static constexpr const char* kNumbers[] = {"plans SET step_fingerprint",
                                             "plans SET default_width",
                                             "plans SET binding",
                                             "plans SET marker_ops",
                                             "plans SET made_at",
                                             "plan_entries SET width",
                                             "plan_entries SET rule",
                                             "profiles SET width",
                                             "profiles SET samples",
                                             "runs SET kind",
                                             "runs SET steps",
                                             "runs SET own_steps",
                                             "runs SET finished_at",
                                             "runs SET runtime",
                                             "plans SET runtime",
                                             "programs SET last_seen"};
  static constexpr const char* kReals[] = {"plans SET own_step_seconds", "runs SET step_seconds",
                                           "runs SET spread", "profiles SET median_ns"};
  static constexpr const char* kTexts[] = {"profiles SET shape", "profiles SET name",
                                           "runs SET launch_plan", "programs SET executable"};
  const Database::Opened opened = Database::open(path, {0x6f70746c, 5, ""});
  if (opened.database == nullptr) return;
  for (int i = 0; i < kMaxChanges && !bytes.empty(); ++i) {
    const auto which = bytes.take<uint8_t>();
    std::string sql = "UPDATE OR IGNORE ";
    Value value;
    if (which % 3 == 0) {
      sql += kNumbers[which / 3 % std::size(kNumbers)];
      value = bytes.take<int64_t>();
    } else if (which % 3 == 1) {
      sql += kReals[which / 3 % std::size(kReals)];
      value = bytes.take<double>();
    } else {
      sql += kTexts[which / 3 % std::size(kTexts)];
      value = bytes.text(bytes.take<uint8_t>());
    }
    static_cast<void>(opened.database->run(sql + " = ?1", {value}).ok());
  }
}

void check(const std::string& path) {
  const std::unique_ptr<Store> store = Store::open(path);
  if (const std::optional<FoundPlan> found = store->find_plan(conditions(), 4)) {
    require(found->plan.default_width >= 0 && found->plan.default_width <= 8192,
            "default width in range");
    require(found->plan.own_step_seconds >= 0, "times are numbers");
    require(found->plan.entries.size() <= 4096, "entries are limited");
    for (const optile::tuner::StoredEntry& entry : found->plan.entries) {
      require(entry.width >= 0 && entry.width <= 8192, "widths in range");
    }
  }
  for (const RunRecord& run : store->find_runs(conditions())) {
    require(run.steps >= 0 && run.step_seconds >= 0, "runs in range");
  }
  for (const FoundProfile& found : store->find_profiles("machine", 0, "aten", 10)) {
    require(found.profile.median_ns >= 0, "profiles in range");
  }
  const optile::base::Status written = store->write(batch(3));
  if (!written.ok()) return require(!written.message().empty(), "a refusal says why");
  const std::optional<FoundPlan> found = store->find_plan(conditions(), 4);
  if (!found) require(!store->state().message.empty(), "what was lost is told");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static Folder folder;
  Bytes bytes(data, size);
  const bool rows = bytes.take<uint8_t>() % 2 != 0;
  folder.restore(rows ? folder.image() : damaged(folder.image(), bytes));
  if (rows) spoil_rows(folder.path(), bytes);
  check(folder.path());
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  const auto number = [](uint8_t which, int64_t value) {
    return Script().put(which).put(value).bytes();
  };
  const auto bytes = [](uint32_t at, const std::string& text) {
    return Script().put(at).put(static_cast<uint8_t>(text.size() - 1)).text(text).bytes();
  };
  const std::string rows(1, '\1');
  const std::string file(1, '\0');
  return {rows + number(3, -1) + number(15, INT64_MAX) + number(21, INT64_MIN),
          rows + Script().put(uint8_t{1}).put(-1e308).put(uint8_t{4}).put(1e308).bytes(),
          rows + Script().put(uint8_t{2}).put(uint8_t{6}).text("\xff\1\n'\"%").bytes(),
          file + bytes(100, std::string(4, '\0')),
          file + bytes(20, "abcd") + bytes(5000, "0123456789abcdef"),
          file + bytes(9000, "\x7f")};
}
