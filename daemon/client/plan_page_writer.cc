#include "daemon/client/plan_page_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/abi/mask_word.h"

namespace optile::daemon {
namespace {

static_assert(offsetof(optile_plan_page, generation) == 0);
static_assert(sizeof(optile_plan_page) % sizeof(uint64_t) == 0);
static_assert(sizeof(optile_plan_entry) % sizeof(uint64_t) == 0);
static_assert(sizeof(optile_plan_menu) % sizeof(uint64_t) == 0);
// Last, so that what is before them is copied as one.
static_assert(offsetof(optile_plan_page, slots) + sizeof(optile_plan_page::slots) +
                  sizeof(optile_plan_page::menus) ==
              sizeof(optile_plan_page));
constexpr uint32_t kMaxEntries = OPTILE_PLAN_SLOTS / 2;
constexpr int kWidestEntry = 65535;
constexpr double kLongestBaseline = 1e18;  // ticks

uint16_t width_word(int width) {
  return static_cast<uint16_t>(width < 0 || width > kWidestEntry ? 0 : width);
}

// The slot that the entry went to.
std::optional<uint32_t> insert(optile_plan_page& page, const tuner::PlanEntry& entry,
                               double ticks_per_ns) {
  const uint32_t schedule_length = page.schedule_length;
  if (entry.place.key == 0 || page.entry_count >= kMaxEntries) return std::nullopt;
  uint32_t slot = optile_plan_slot(entry.place.key, entry.place.context);
  while (page.slots[slot].key != 0) {
    const optile_plan_entry& taken = page.slots[slot];
    if (taken.key == entry.place.key && taken.context == entry.place.context) return std::nullopt;
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
  return slot;
}

// Words from `first` on to those of `source` where they differ.
void copy_words(void* to, const void* source, std::size_t first, std::size_t bytes) {
  auto* target = static_cast<uint64_t*>(to);
  const auto* from = static_cast<const unsigned char*>(source);
  for (std::size_t i = first; i < bytes / sizeof(uint64_t); ++i) {
    uint64_t word = 0;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    if (optile_load64(&target[i]) != word) optile_store64(&target[i], word);
  }
}

static_assert(tuner::OpMenu::kMostWidths == OPTILE_MENU_WIDTHS);

optile_plan_menu menu_of(const tuner::OpMenu& menu) {
  optile_plan_menu out = {};
  out.op = static_cast<uint32_t>(menu.op);
  out.per_step = static_cast<uint32_t>(std::max(0, menu.per_step));
  for (std::size_t i = 0; i < std::min(menu.choices.size(), tuner::OpMenu::kMostWidths); ++i) {
    out.width[i] = width_word(menu.choices[i].width);
    out.seconds[i] = static_cast<float>(menu.choices[i].seconds);
  }
  return out;
}

optile_flow flow_word(const tuner::OpFlow& flow) {
  switch (flow.kind) {
    case tuner::OpFlow::Kind::kFree:
      break;
    case tuner::OpFlow::Kind::kSerial:
      return OPTILE_FLOW_SERIAL;
    case tuner::OpFlow::Kind::kPacked:
      return OPTILE_FLOW_PACKED;
    case tuner::OpFlow::Kind::kFilled:
      return OPTILE_FLOW_FILLED;
    case tuner::OpFlow::Kind::kAhead:
      return OPTILE_FLOW_AHEAD;
  }
  return OPTILE_FLOW_FREE;
}

void fill_flows(optile_plan_page& page, const tuner::PlanDraft& draft, int hardware_threads) {
  page.flow = static_cast<uint16_t>(flow_word(draft.flow));
  page.flow_cap = width_word(draft.flow.width_cap);
  for (uint32_t i = 0; i < page.schedule_length; ++i) {
    const tuner::OpFlow& flow =
        i < draft.schedule_flow.size() ? draft.schedule_flow[i] : draft.flow;
    page.schedule_flow[i] = static_cast<uint8_t>(flow_word(flow));
    page.schedule_flow_cap[i] = width_word(flow.width_cap);
  }
  page.admitting_cores = width_word(draft.cores);
  page.hardware_threads = width_word(hardware_threads);
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
  page.default_width_cap = static_cast<uint32_t>(std::max(0, surroundings.default_width_cap));
}

}  // namespace

PlanPageWriter::PlanPageWriter(optile_plan_region* region) : region_(region) {
  optile_store32(&region_->abi_version, OPTILE_ABI_VERSION);
  optile_store32(&region_->magic, OPTILE_ABI_MAGIC);
}

void PlanPageWriter::set_held_mask(const std::vector<int>& units) {
  std::array<uint64_t, OPTILE_MASK_WORDS> mask = {};
  for (const int unit : units) {
    if (unit < 0 || unit >= static_cast<int>(OPTILE_MAX_CPUS)) continue;
    mask[static_cast<std::size_t>(unit) / 64] |= uint64_t{1} << (unit % 64);
  }
  optile_store64(&region_->held_mask, units.empty() ? 0 : optile_mask_word(mask.data()));
}

std::size_t PlanPageWriter::publish(uint64_t generation, const tuner::PlanDraft& draft,
                                    const PageSurroundings& surroundings) {
  // Private, and zero but for what is written below: most slots of most pages are never touched.
  thread_local const auto scratch = std::make_unique<optile_plan_page>();
  optile_plan_page* const page = scratch.get();
  if (draft.record_all) page->flags |= OPTILE_PAGE_RECORD_ALL;
  if (draft.record_nested) page->flags |= OPTILE_PAGE_RECORD_NESTED;
  if (draft.count) page->flags |= OPTILE_PAGE_COUNT;
  if (draft.may_pause_sampling) page->flags |= OPTILE_PAGE_MAY_PAUSE_SAMPLING;
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
  fill_flows(*page, draft, surroundings.hardware_threads);
  std::vector<uint32_t> used;
  for (const tuner::PlanEntry& entry : draft.entries) {
    const std::optional<uint32_t> slot = insert(*page, entry, surroundings.ticks_per_ns);
    if (!slot) continue;
    used.push_back(*slot);
    const bool same_bits = surroundings.same_bits && !entry.leave;
    if (same_bits) page->slots[*slot].flags |= OPTILE_ENTRY_SAME_BITS;
    if (entry.menu.per_step > 0) page->menus[*slot] = menu_of(entry.menu);
  }

  // Only slots that are or were used: even to read another one would take memory for it, and a
  // thousand clients have sixteen million of them.
  optile_plan_page& target = region_->pages[generation & 1];
  std::vector<uint32_t>& before = used_[generation & 1];
  optile_store64(&target.generation, 0);
  copy_words(&target, page, 1, offsetof(optile_plan_page, slots));
  for (const std::vector<uint32_t>* slots : {&before, &used}) {
    for (const uint32_t slot : *slots) {
      copy_words(&target.slots[slot], &page->slots[slot], 0, sizeof page->slots[slot]);
      // Of a place without one, memory that nobody has touched stays so.
      if (page->menus[slot].per_step != 0 || has_menus_[generation & 1]) {
        copy_words(&target.menus[slot], &page->menus[slot], 0, sizeof page->menus[slot]);
      }
    }
  }
  has_menus_[generation & 1] = std::any_of(
      used.begin(), used.end(), [&](uint32_t slot) { return page->menus[slot].per_step != 0; });
  optile_store64(&target.generation, generation);
  optile_store64(&region_->generation, generation);
  generation_ = generation;

  std::memset(static_cast<void*>(page), 0, offsetof(optile_plan_page, slots));
  for (const uint32_t slot : used) {
    page->slots[slot] = {};
    if (page->menus[slot].per_step != 0) page->menus[slot] = {};
  }
  before = std::move(used);
  return draft.entries.size() - before.size();
}

}  // namespace optile::daemon
