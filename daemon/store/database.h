// The one place that knows SQLite: a database file opened the way the store needs it, statements
// with bound values, rows as values. One thread at a time. SQLite's codes end here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace optile::daemon {

using Value = std::variant<std::monostate, int64_t, double, std::string>;
using Row = std::vector<Value>;

int64_t as_integer(const Value& value);  // 0 when it is none
double as_real(const Value& value);      // 0 when it is none
std::string as_text(const Value& value);

inline constexpr const char* kMemoryPath = ":memory:";  // a database that is on no disk

enum class DatabaseFault {
  kNone,
  kCorrupt,      // not a database, or a damaged one
  kForeign,      // somebody else's database, or one of a newer optile
  kUnavailable,  // cannot be opened or written: permissions, full disk, busy
};

class Database {
 public:
  struct Opened {
    std::unique_ptr<Database> database;  // null on a fault
    DatabaseFault fault = DatabaseFault::kNone;
    std::string message;
  };
  struct Identity {
    int32_t application_id = 0;
    int schema_version = 0;
    const char* schema = nullptr;  // statements that make it
    // And what later versions added, which an older one does not mind; run at every opening.
    const char* additions = nullptr;
    // What makes this schema of older ones, one after the other: each of what every version before
    // `to` has. 0 = of none.
    int oldest_version = 0;
    struct Upgrade {
      int to = 0;
      std::string statements;
    };
    std::vector<Upgrade> upgrades = {};
  };
  // Checks a file that exists (identity, quick_check) and upgrades it,
  // makes the schema in a new one, and makes sure that it can be written. WAL unless it lies on a
  // network file system.
  static Opened open(const std::string& path, const Identity& identity);

  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  base::Status run(const std::string& sql, const Row& values = {});
  base::Result<std::vector<Row>> query(const std::string& sql, const Row& values = {});
  int64_t last_row_id() const;
  // Of the last run() or query() that failed.
  DatabaseFault last_fault() const { return last_fault_; }
  bool is_damaged() const { return damaged_; }  // as some run() or query() has found

 private:
  Database() = default;
  base::Error fail(const std::string& what);
  sqlite3_stmt* take_statement(const std::string& sql);
  void keep_statement(const std::string& sql, sqlite3_stmt* statement);
  base::Status prepare(const std::string& path, const Identity& identity);
  base::Status check_identity(const Identity& identity);

  sqlite3* handle_ = nullptr;
  // Prepared and not in use, by text: to prepare one costs several times what it does.
  std::map<std::string, sqlite3_stmt*> statements_;
  DatabaseFault last_fault_ = DatabaseFault::kNone;
  bool damaged_ = false;
};

// What cannot be read is not there; null: nothing is.
std::vector<Row> rows_in(Database* database, const std::string& sql, const Row& values);

}  // namespace optile::daemon
