#include "daemon/plan_page_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

namespace optile::daemon {
namespace {

static_assert(offsetof(optile_plan_page, generation) == 0);
static_assert(sizeof(optile_plan_page) % sizeof(uint64_t) == 0);
constexpr std::size_t kPageWords = sizeof(optile_plan_page) / sizeof(uint64_t);
constexpr uint32_t kMaxEntries = OPTILE_PLAN_SLOTS / 2;
constexpr int kMaxWidth = 65535;
constexpr double kLongestBaseline = 1e18;  // ticks

uint16_t width_word(int width) {
  return static_cast<uint16_t>(width < 0 || width > kMaxWidth ? 0 : width);
}

bool insert(optile_plan_page& page, const tuner::PlanEntry& entry, double ticks_per_ns) {
  const uint32_t schedule_length = page.schedule_length;
  if (entry.place.key == 0 || page.entry_count >= kMaxEntries) return false;
  uint32_t slot = optile_plan_slot(entry.place.key, entry.place.context);
  while (page.slots[slot].key != 0) {
    const optile_plan_entry& taken = page.slots[slot];
    if (taken.key == entry.place.key && taken.context == entry.place.context) return false;
    slot = (slot + 1) % OPTILE_PLAN_SLOTS;
  }
  optile_plan_entry& out = page.slots[slot];
  out.key = entry.place.key;
  out.context = entry.place.context;
  out.width = width_word(entry.width);
  if (entry.leave) out.flags |= OPTILE_ENTRY_LEAVE;
  if (!entry.schedule.empty()) out.flags |= OPTILE_ENTRY_RECORD;
  for (uint32_t i = 0; i < schedule_length; ++i) {
    out.schedule[i] = i < entry.schedule.size() ? width_word(entry.schedule[i]) : out.width;
  }
  const double baseline = ticks_per_ns * static_cast<double>(entry.baseline.count());
  if (baseline > 0 && baseline < kLongestBaseline) {
    out.baseline_ticks = static_cast<uint64_t>(baseline);
    out.accepted_loss = static_cast<uint32_t>(1000 * std::clamp(entry.accepted_loss, 0.0, 1.0));
  }
  ++page.entry_count;
  return true;
}

void fill_orders(optile_plan_page& page, const PageSurroundings& surroundings) {
  const std::size_t count =
      std::min({surroundings.compact_order.size(), surroundings.spread_order.size(),
                std::size_t{OPTILE_MAX_CPUS}});
  page.cpu_count = static_cast<uint32_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    page.compact_order[i] = static_cast<uint16_t>(surroundings.compact_order[i]);
    page.spread_order[i] = static_cast<uint16_t>(surroundings.spread_order[i]);
  }
  page.own_width_cap = static_cast<uint32_t>(std::max(0, surroundings.own_width_cap));
}

}  // namespace

PlanPageWriter::PlanPageWriter(optile_plan_region* region) : region_(region) {
  optile_store32(&region_->abi_version, OPTILE_ABI_VERSION);
  optile_store32(&region_->magic, OPTILE_ABI_MAGIC);
}

std::size_t PlanPageWriter::publish(uint64_t generation, const tuner::PlanDraft& draft,
                                    const PageSurroundings& surroundings) {
  const auto page = std::make_unique<optile_plan_page>();  // zeroed, private
  if (draft.record_all) page->flags |= OPTILE_PAGE_RECORD_ALL;
  if (draft.record_nested) page->flags |= OPTILE_PAGE_RECORD_NESTED;
  if (draft.count) page->flags |= OPTILE_PAGE_COUNT;
  if (draft.may_rest) page->flags |= OPTILE_PAGE_MAY_REST;
  if (draft.marker) {
    page->marker_key = draft.marker->place.key;
    page->marker_context = draft.marker->place.context;
  }
  page->schedule_length = static_cast<uint32_t>(
      std::clamp(draft.schedule_length, 0, static_cast<int>(OPTILE_MAX_SCHEDULE)));
  page->binding = static_cast<uint32_t>(draft.binding);
  for (uint32_t i = 0; i < page->schedule_length; ++i) {
    page->schedule_binding[i] = static_cast<uint8_t>(
        i < draft.schedule_binding.size() ? draft.schedule_binding[i] : draft.binding);
  }
  fill_orders(*page, surroundings);
  std::size_t left_out = 0;
  for (const tuner::PlanEntry& entry : draft.entries) {
    if (!insert(*page, entry, surroundings.ticks_per_ns)) ++left_out;
  }

  // Words that stay the same are not touched: pages of small plans stay small in memory.
  auto* target = reinterpret_cast<uint64_t*>(&region_->pages[generation & 1]);
  const auto* source = reinterpret_cast<const unsigned char*>(page.get());
  optile_store64(&target[0], 0);
  for (std::size_t i = 1; i < kPageWords; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, source + i * sizeof word, sizeof word);
    if (optile_load64(&target[i]) != word) optile_store64(&target[i], word);
  }
  optile_store64(&target[0], generation);
  optile_store64(&region_->generation, generation);
  generation_ = generation;
  return left_out;
}

}  // namespace optile::daemon
