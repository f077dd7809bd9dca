// The bytes between shim and daemon are frozen: an old shim may meet a new daemon. The golden file
// is written by hand-checked runs only; a change here is a new OPTILE_ABI_VERSION and a new file.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "bindings/abi/frames.h"

extern "C" const size_t optile_sizes_in_c[];

namespace {

#define FIELD(type, field) \
  out << #type "." #field " " << offsetof(type, field) << " " << sizeof(type::field) << "\n"
#define SIZE(type) out << #type " " << sizeof(type) << "\n"

void add_frames(std::ostringstream& out) {
  SIZE(optile_frame_header);
  SIZE(optile_attach_request);
  FIELD(optile_attach_request, mode);
  FIELD(optile_attach_request, counters_by_name);
  FIELD(optile_attach_request, whole_program);
  FIELD(optile_attach_request, run_id);
  FIELD(optile_attach_request, executable);
  FIELD(optile_attach_request, program);
  FIELD(optile_attach_request, arguments);
  FIELD(optile_attach_request, launch_plan);
  FIELD(optile_attach_request, version);
  FIELD(optile_attach_request, share_milli);
  FIELD(optile_attach_request, priority);
  FIELD(optile_attach_request, respect);
  FIELD(optile_attach_request, job);
  FIELD(optile_attach_request, units);
  FIELD(optile_attach_request, omp_thread_limit);
  FIELD(optile_attach_request, openblas_num_threads);
  FIELD(optile_attach_request, goto_num_threads);
  FIELD(optile_attach_request, mkl_num_threads);
  FIELD(optile_attach_request, blis_num_threads);
  SIZE(optile_attach_reply);
  SIZE(optile_refused);
}

std::string layout() {  // NOLINT(readability-function-size): a line for each field
  std::ostringstream out;
  out << "version " << OPTILE_ABI_VERSION << "\n";
  SIZE(optile_plan_entry);
  FIELD(optile_plan_entry, key);
  FIELD(optile_plan_entry, context);
  FIELD(optile_plan_entry, width);
  FIELD(optile_plan_entry, flags);
  FIELD(optile_plan_entry, accepted_loss);
  FIELD(optile_plan_entry, schedule);
  FIELD(optile_plan_entry, baseline_ticks);
  SIZE(optile_plan_page);
  FIELD(optile_plan_page, generation);
  FIELD(optile_plan_page, flags);
  FIELD(optile_plan_page, entry_count);
  FIELD(optile_plan_page, marker_key);
  FIELD(optile_plan_page, marker_context);
  FIELD(optile_plan_page, schedule_length);
  FIELD(optile_plan_page, binding);
  FIELD(optile_plan_page, cpu_count);
  FIELD(optile_plan_page, default_width_cap);
  FIELD(optile_plan_page, schedule_binding);
  FIELD(optile_plan_page, schedule_flow);
  FIELD(optile_plan_page, schedule_flow_cap);
  FIELD(optile_plan_page, flow);
  FIELD(optile_plan_page, flow_cap);
  FIELD(optile_plan_page, admitting_cores);
  FIELD(optile_plan_page, hardware_threads);
  FIELD(optile_plan_page, compact_order);
  FIELD(optile_plan_page, spread_order);
  FIELD(optile_plan_page, slots);
  FIELD(optile_plan_page, menus);
  SIZE(optile_plan_menu);
  FIELD(optile_plan_menu, op);
  FIELD(optile_plan_menu, per_step);
  FIELD(optile_plan_menu, width);
  FIELD(optile_plan_menu, seconds);
  SIZE(optile_plan_region);
  FIELD(optile_plan_region, magic);
  FIELD(optile_plan_region, abi_version);
  FIELD(optile_plan_region, generation);
  FIELD(optile_plan_region, heartbeat);
  FIELD(optile_plan_region, tails);
  FIELD(optile_plan_region, main_issuer);
  FIELD(optile_plan_region, wait_cap);
  FIELD(optile_plan_region, mask_follows);
  FIELD(optile_plan_region, held_mask);
  FIELD(optile_plan_region, pages);
  SIZE(optile_event);
  FIELD(optile_event, begin_ticks);
  FIELD(optile_event, ticks);
  FIELD(optile_event, context);
  FIELD(optile_event, region_ticks);
  FIELD(optile_event, op_id);
  FIELD(optile_event, generation_low);
  FIELD(optile_event, step);
  FIELD(optile_event, width);
  FIELD(optile_event, flags);
  FIELD(optile_event, regions);
  FIELD(optile_event, kind);
  FIELD(optile_event, column);
  FIELD(optile_event, binding);
  FIELD(optile_event, width_changes);
  SIZE(optile_aggregate);
  FIELD(optile_aggregate, count);
  FIELD(optile_aggregate, ticks);
  FIELD(optile_aggregate, min_ticks);
  FIELD(optile_aggregate, squares);
  FIELD(optile_aggregate, region_ticks);
  FIELD(optile_aggregate, regions);
  FIELD(optile_aggregate, default_width_count);
  SIZE(optile_thread_slot);
  FIELD(optile_thread_slot, head);
  FIELD(optile_thread_slot, dropped);
  FIELD(optile_thread_slot, tid);
  FIELD(optile_thread_slot, ring);
  FIELD(optile_thread_slot, aggregates);
  SIZE(optile_disabled_entry);
  FIELD(optile_disabled_entry, key);
  FIELD(optile_disabled_entry, context);
  FIELD(optile_disabled_entry, entry_ticks);
  FIELD(optile_disabled_entry, own_ticks);
  FIELD(optile_disabled_entry, generation_low);
  FIELD(optile_disabled_entry, width);
  SIZE(optile_op_record);
  FIELD(optile_op_record, key);
  FIELD(optile_op_record, flags);
  FIELD(optile_op_record, probe);
  FIELD(optile_op_record, name);
  FIELD(optile_op_record, shape);
  SIZE(optile_client_header);
  FIELD(optile_client_header, ticks_per_second);
  FIELD(optile_client_header, attach_ticks);
  FIELD(optile_client_header, progress);
  FIELD(optile_client_header, adopted_generation);
  FIELD(optile_client_header, registry_count);
  FIELD(optile_client_header, fallbacks);
  FIELD(optile_client_header, default_width);
  FIELD(optile_client_header, default_width_source);
  FIELD(optile_client_header, blas_threads);
  FIELD(optile_client_header, steps);
  FIELD(optile_client_header, runtime_path);
  FIELD(optile_client_header, blas_path);
  FIELD(optile_client_header, blas_ready);
  FIELD(optile_client_header, counter_tier);
  FIELD(optile_client_header, counter_groups);
  FIELD(optile_client_header, counter_errno);
  FIELD(optile_client_header, counter_events);
  FIELD(optile_client_header, disabled_count);
  FIELD(optile_client_header, disabled);
  FIELD(optile_client_header, life);
  FIELD(optile_client_header, most_in_ops);
  FIELD(optile_client_header, region_width);
  FIELD(optile_client_header, wait_changes);
  FIELD(optile_client_header, blas_beside);
  SIZE(optile_client_region);
  FIELD(optile_client_region, ops);
  FIELD(optile_client_region, threads);
  add_frames(out);
  return out.str();
}

std::string layout_of_regions() {
  std::ostringstream out;
  FIELD(optile_op_record, tuning);
  FIELD(optile_thread_slot, open);
  SIZE(optile_open_region);
  FIELD(optile_open_region, key);
  FIELD(optile_open_region, since);
  FIELD(optile_open_region, width);
  SIZE(optile_thread_binding);
  FIELD(optile_thread_binding, count);
  FIELD(optile_thread_binding, thread);
  FIELD(optile_thread_binding, units);
  FIELD(optile_client_region, bindings);
  return out.str();
}

TEST(Layout, MatchesGoldenFile) {
  std::ifstream file(OPTILE_GOLDEN_LAYOUT);
  ASSERT_TRUE(file) << "missing " << OPTILE_GOLDEN_LAYOUT;
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(layout() + layout_of_regions(), golden.str())
      << "the shared memory layout changed: raise OPTILE_ABI_VERSION and freeze a new copy";
}

TEST(Layout, SizesAgreeBetweenCAndCxx) {
  const size_t in_cxx[] = {sizeof(optile_plan_entry),     sizeof(optile_plan_page),
                           sizeof(optile_plan_region),    sizeof(optile_event),
                           sizeof(optile_thread_slot),    sizeof(optile_client_region),
                           sizeof(optile_attach_request), sizeof(optile_attach_reply)};
  for (size_t i = 0; i < std::size(in_cxx); ++i) EXPECT_EQ(optile_sizes_in_c[i], in_cxx[i]) << i;
}

TEST(Context, ForgetsKeyAfterEightOps) {
  uint64_t a = optile_next_context(1, 111);
  uint64_t b = optile_next_context(1, 222);
  EXPECT_NE(a, b);
  for (uint64_t key = 1; key <= 8; ++key) {
    a = optile_next_context(a, key * 977);
    b = optile_next_context(b, key * 977);
  }
  EXPECT_EQ(a, b);
  EXPECT_NE(a, 0u);
}

}  // namespace
