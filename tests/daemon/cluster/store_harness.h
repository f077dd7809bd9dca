// The stores that a contract is asked of, and a way to wait for their answers.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cluster/etcd_store.h"
#include "daemon/cluster/memory_store.h"
#include "tests/daemon/fixtures/etcd_process.h"

namespace optile::daemon {

class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  // Another way to the same keys; the harness's own.
  virtual ClusterStore& add_store() = 0;
  virtual std::chrono::nanoseconds now() const = 0;
  // Something happens, or a moment passes.
  virtual void go_on() = 0;

  // False where nothing comes of it for very long.
  bool serve_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(150);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      go_on();
    }
    return true;
  }

  template <typename T>
  base::Result<T> answer(const std::function<void(ClusterStore::Callback<T>)>& ask) {
    std::optional<base::Result<T>> got;
    ask([&](const base::Result<T>& outcome) { got = outcome; });
    EXPECT_FALSE(got) << "a callback came from within the call";
    EXPECT_TRUE(serve_until([&] { return got.has_value(); }));
    return got ? *got : base::Result<T>(base::invalid("no answer at all"));
  }
};

class MemoryHarness : public StoreHarness {
 public:
  ClusterStore& add_store() override {
    stores_.push_back(std::make_unique<MemoryStore>(server_));
    return *stores_.back();
  }
  std::chrono::nanoseconds now() const override { return server_.now(); }
  void go_on() override {
    bool delivered = false;
    for (const auto& store : stores_) delivered |= store->deliver();
    if (!delivered) server_.advance(std::chrono::milliseconds(50));
  }

 private:
  MemoryServer server_;
  std::vector<std::unique_ptr<MemoryStore>> stores_;
};

class EtcdHarness : public StoreHarness {
 public:
  explicit EtcdHarness(const EtcdProcess::Tls& tls = {}) : etcd_(tls) {}
  ClusterStore& add_store() override { return add_store(EtcdStore::Settings{{etcd_.endpoint()}}); }
  ClusterStore& add_store(EtcdStore::Settings settings) {
    stores_.push_back(std::make_unique<EtcdStore>(io_, std::move(settings)));
    return *stores_.back();
  }
  std::chrono::nanoseconds now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  void go_on() override {
    io_.restart();
    io_.run_one_for(std::chrono::milliseconds(20));
  }
  // It has just been started.
  bool answers() {
    ClusterStore& store = add_store();
    return serve_until(
        [&] { return answer<KeyRange>([&](auto done) { store.get("", done); }).ok(); });
  }

  EtcdProcess& etcd() { return etcd_; }
  boost::asio::io_context& io() { return io_; }

 private:
  EtcdProcess etcd_;
  boost::asio::io_context io_{1};
  std::vector<std::unique_ptr<EtcdStore>> stores_;
};

}  // namespace optile::daemon
