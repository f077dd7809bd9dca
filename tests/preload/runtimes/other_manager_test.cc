// Beside another manager of threads the shim only watches, whenever that one comes.
#include "bindings/preload/runtimes/other_manager.h"

#include <dlfcn.h>

#include "bindings/preload/support/stepped_aside.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

void load_manager() {
  CHECK_OR_EXIT(dlopen(OPTILE_TEST_FAKE_MANAGER, RTLD_NOW | RTLD_LOCAL) != nullptr);
}

TEST_F(OpBoundary, TunesWithoutOtherThreadManager) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(!stepped_aside());
    CHECK_OR_EXIT(daemon.attach_request().mode == OPTILE_MODE_TUNE);
  });
}

TEST_F(OpBoundary, OnlyObservesBesideOtherThreadManager) {
  in_child([](FakeDaemon& daemon) {
    load_manager();
    attach(daemon);
    CHECK_OR_EXIT(stepped_aside());
    CHECK_OR_EXIT(daemon.attach_request().mode == OPTILE_MODE_OBSERVE);
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_OTHER_MANAGER) != 0);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}}, 0,
                   [](optile_plan_page& page) { page.default_width_cap = 2; });
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

TEST_F(OpBoundary, LaterThreadManagerStopsSteeringAndIsReported) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 2);
    CHECK_OR_EXIT(run_op(kOp) == 2);
    load_manager();
    daemon.answer_one_client();
    while (!stepped_aside()) run_op(kOp);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    while (daemon.attach_request().mode != OPTILE_MODE_OBSERVE) run_op(kOp);
    daemon.wait_for_client();
  });
}

// The next daemon answers; whatever is due is done at once.
void attach_anew(FakeDaemon& daemon) {
  const Attachment* before = attachment();
  daemon.hang_up();
  daemon.answer_one_client();
  while (attachment() == before) maintain_attachment(UINT64_MAX);
  daemon.wait_for_client();
}

TEST_F(OpBoundary, LastAttachmentReportsOtherThreadManager) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    for (int i = 1; i < kMaxAttachments; ++i) attach_anew(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == 2);
    CHECK_OR_EXIT(!daemon.client_hung_up());
    load_manager();
    maintain_attachment(UINT64_MAX);
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_OTHER_MANAGER) != 0);
    CHECK_OR_EXIT(daemon.client_hung_up());  // no lease is held for it
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

// There is no daemon any more that it would attach to: it runs on with what it was told.
TEST_F(OpBoundary, KeepsPlanAfterLastAttachmentEnds) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    for (int i = 1; i < kMaxAttachments; ++i) attach_anew(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}});
    const Attachment* last = attachment();
    daemon.hang_up();
    for (int i = 0; i < 100; ++i) {
      maintain_attachment(UINT64_MAX);
      CHECK_OR_EXIT(run_op(kOp) == 2);
    }
    CHECK_OR_EXIT(attachment() == last);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

}  // namespace
}  // namespace optile::preload
