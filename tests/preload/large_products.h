// What tests of products in libraries share: `multiply(rows)` is a product of rows x 200 x 300.
#pragma once

#include <string>

#include "bindings/preload/attachment.h"
#include "tests/preload/check_or_exit.h"
#include "tests/preload/fake_daemon.h"

namespace optile::test {

// The first large product lets the program attach.
template <typename Multiply>
void attach_by_products(FakeDaemon& daemon, Multiply multiply) {
  daemon.answer_one_client();
  multiply(99);
  daemon.wait_for_client();
  for (int i = 0; i < 10'000'000 && preload::attachment() == nullptr; ++i) multiply(99);
  CHECK_OR_EXIT(preload::attachment() != nullptr);
}

inline uint64_t key_of_shape(const FakeDaemon& daemon, const std::string& shape) {
  const optile_client_region& client = daemon.client();
  for (uint32_t i = 0; i < client.header.registry_count; ++i) {
    if (client.ops[i].shape == shape) return client.ops[i].key;
  }
  CHECK_OR_EXIT(false);
  return 0;
}

inline void record_all(optile_plan_page& page) {
  page.flags = OPTILE_PAGE_RECORD_ALL;
}

}  // namespace optile::test
