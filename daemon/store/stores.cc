#include "daemon/store/stores.h"

#include <utility>

namespace optile::daemon {
namespace {

constexpr unsigned kEverybody = 0;
constexpr const char* kMemory = ":memory:";

}  // namespace

Stores::Stores(std::string where, Rights rights) : where_(std::move(where)), rights_(rights) {}

Store* Stores::of(unsigned uid) {
  if (!rights_.is_one_user(uid)) return nullptr;
  const bool one_file = !rights_.system() || where_ == kMemory;
  std::unique_ptr<Store>& store = by_user_[rights_.system() ? uid : kEverybody];
  if (store == nullptr) {
    store = Store::open(one_file ? where_ : where_ + "/" + std::to_string(uid) + ".db");
  }
  return store.get();
}

}  // namespace optile::daemon
