// The shim's side of the line: plan pages from a daemon that writes anything at any moment, also
// between two looks of the reader. The region lies on the heap in its exact size, so that a read
// beyond it is seen.
#include <memory>
#include <random>

#include "bindings/preload/shared_memory/plan_reader.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using optile::fuzz::Bytes;
using optile::fuzz::require;
using optile::preload::Attachment;
using optile::preload::Decision;
using optile::preload::PlanView;

constexpr int kMaxCommands = 400;
enum Command : uint8_t { kWord, kHeader, kEntry, kStretch, kLook, kAdvance, kCommands };

class Page {
 public:
  Page() : region_(new optile_plan_region{}) { attached_.plan = region_.get(); }

  void run(Bytes& bytes) {
    for (int i = 0; i < kMaxCommands && !bytes.empty(); ++i) obey(bytes);
  }

 private:
  void obey(Bytes& bytes) {
    switch (bytes.take<uint8_t>() % kCommands) {
      case kWord: {
        const auto at = bytes.take<uint32_t>();
        return put(at, bytes.take<uint64_t>());
      }
      case kHeader: {
        // Of the region, then of the page that it names.
        const auto at = bytes.take<uint8_t>();
        const auto value = bytes.take<uint64_t>();
        if (at < 4) return put(at, value);
        auto* words = reinterpret_cast<uint64_t*>(&region_->pages[region_->generation & 1]);
        return optile_store64(&words[at % 16], value);
      }
      case kEntry:
        return entry(bytes);
      case kStretch: {
        const auto begin = bytes.take<uint32_t>();
        const auto count = bytes.take<uint16_t>();
        std::mt19937_64 random(bytes.take<uint32_t>());
        for (uint64_t i = 0; i < count; ++i) put(uint64_t{begin} + i, random());
        return;
      }
      case kLook:
        return look(bytes);
      default:
        return advance_schedule(current_plan(attached_));
    }
  }

  void put(uint64_t at, uint64_t value) {
    auto* words = reinterpret_cast<uint64_t*>(region_.get());
    optile_store64(&words[at % (sizeof(optile_plan_region) / sizeof *words)], value);
  }

  void entry(Bytes& bytes) {
    const uint64_t key = bytes.take<uint8_t>();
    const uint64_t context = bytes.take<uint8_t>() % 4;
    optile_plan_page& page = region_->pages[region_->generation & 1];
    optile_plan_entry& entry = page.slots[optile_plan_slot(key, context)];
    entry.key = key;
    entry.context = context;
    entry.width = bytes.take<uint16_t>();
    entry.flags = bytes.take<uint16_t>();
  }

  // What an op does, with a write of the daemon's in the middle.
  void look(Bytes& bytes) {
    const PlanView plan = current_plan(attached_);
    if (bytes.take<uint8_t>() % 4 == 0) {
      const auto at = bytes.take<uint32_t>();
      put(at, bytes.take<uint64_t>());
    }
    const int column = schedule_column(plan);
    require(column >= -1 && column < static_cast<int>(OPTILE_MAX_SCHEDULE), "a column of a page");
    const uint64_t key = bytes.take<uint8_t>();
    const Decision decision = look_up(plan, key, bytes.take<uint8_t>() % 4, column);
    require(plan.valid || !decision.found, "nothing is found without a plan");
    wanted_binding(plan, column);
  }

  std::unique_ptr<optile_plan_region> region_;
  Attachment attached_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Page().run(bytes);
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  const auto header = [](uint8_t at, uint64_t value) {
    return Script().put(kHeader).put(at).put(value).bytes();
  };
  const std::string entry = Script()
                                .put(kEntry)
                                .put(uint8_t{7})
                                .put(uint8_t{1})
                                .put(uint16_t{2})
                                .put(uint16_t{1})
                                .bytes();
  const std::string look =
      Script().put(kLook).put(uint8_t{1}).put(uint8_t{7}).put(uint8_t{1}).bytes();
  const std::string raced = Script()
                                .put(kLook)
                                .put(uint8_t{0})
                                .put(uint32_t{1})
                                .put(uint64_t{9})
                                .put(uint8_t{7})
                                .put(uint8_t{1})
                                .bytes();
  const std::string stretch =
      Script().put(kStretch).put(uint32_t{16}).put(uint16_t{65535}).put(uint32_t{1}).bytes();
  // Generation 3 in the region and in its page, four scheduled steps.
  const std::string published = header(1, 3) + header(16, 3) + header(4, 4);
  const std::string walk(3, kAdvance);
  return {published + entry + look + walk + look, published + entry + raced + look,
          stretch + published + look + walk + look,
          header(1, ~uint64_t{0}) + look + stretch + look};
}
