// Numbers of ours as the store's columns hold them, and back. Only the store's sources include
// this.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/store/database.h"

namespace optile::daemon {

// Keys are 64 unsigned bits in the program and the same bits as a signed number here.
inline int64_t word(uint64_t unsigned_word) {
  return static_cast<int64_t>(unsigned_word);
}
inline uint64_t unsigned_word(const Value& value) {
  return static_cast<uint64_t>(as_integer(value));
}

// Numbers from a file that anybody may have edited.
inline int small(const Value& value, int highest) {
  return static_cast<int>(std::clamp<int64_t>(as_integer(value), 0, highest));
}
inline double seconds(const Value& value) {
  const double read = as_real(value);
  return std::isfinite(read) && read >= 0 ? read : 0;
}
// SQLite stores NaN as NULL, which the columns refuse.
inline double finite(double number) {
  return std::isfinite(number) ? number : 0;
}

// Instead of the row with the same key. `values`: of all columns, in their order.
inline base::Status put_row(Database& database, const std::string& table, const Row& values) {
  std::string places = "?1";
  for (std::size_t i = 2; i <= values.size(); ++i) places += ", ?" + std::to_string(i);
  return database.run("INSERT OR REPLACE INTO " + table + " VALUES (" + places + ")", values);
}

// A table holds what was made last. `keys`: of its primary key.
inline base::Status keep_newest(Database& database, const std::string& table,
                                const std::string& keys, int64_t most) {
  return database.run("DELETE FROM " + table + " WHERE (" + keys + ") NOT IN (SELECT " + keys +
                          " FROM " + table + " ORDER BY made_at DESC LIMIT ?1)",
                      {most});
}

// Of records with the same key the first counts.
template <typename Record, typename Key>
void add_unless_known(std::vector<Record>& found, const Record& record, Key key) {
  const bool known = std::any_of(found.begin(), found.end(), [&](const Record& one) {
    return std::invoke(key, one) == std::invoke(key, record);
  });
  if (!known) found.push_back(record);
}

}  // namespace optile::daemon
