#include "daemon/store/database.h"

#include <sqlite3.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/runtime_path.h"

namespace optile::daemon {
namespace {

using base::Error;
using base::ErrorKind;
using base::Status;

// Another daemon on the same store commits in far less; the event loop must not wait longer.
constexpr int kBusyTimeoutMs = 50;
constexpr std::size_t kMostStatements = 128;  // kept; more than the store has

// File systems whose locks or shared mappings SQLite's WAL cannot rely on.
constexpr std::array<uint64_t, 11> kNetworkFileSystems = {
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
    0x517b,      // SMB
    0x65735546,  // FUSE, sshfs among them
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x5346414f,  // AFS
    0x00c36400,  // Ceph
    0x01021997,  // 9P
};

bool is_on_network(const std::string& path) {
  struct statfs found {};
  if (statfs(base::parent_directory(path).c_str(), &found) != 0) return false;
  const auto type = static_cast<uint64_t>(found.f_type) & 0xffffffffU;
  return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), type) !=
         kNetworkFileSystems.end();
}

DatabaseFault fault_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DatabaseFault::kCorrupt;
    default:
      return DatabaseFault::kUnavailable;
  }
}

// A prepared statement with its owner.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement() { sqlite3_finalize(statement_); }
  sqlite3_stmt* release() { return std::exchange(statement_, nullptr); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool bind(const Row& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (bind_one(static_cast<int>(i) + 1, values[i]) != SQLITE_OK) return false;
    }
    return true;
  }
  int step() { return sqlite3_step(statement_); }

  Row row() const {
    Row row;
    const int columns = sqlite3_column_count(statement_);
    for (int i = 0; i < columns; ++i) row.push_back(column(i));
    return row;
  }

 private:
  int bind_one(int at, const Value& value) {
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      return sqlite3_bind_int64(statement_, at, *integer);
    }
    if (const auto* real = std::get_if<double>(&value)) {
      return sqlite3_bind_double(statement_, at, *real);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      return sqlite3_bind_text(statement_, at, text->c_str(), static_cast<int>(text->size()),
                               SQLITE_TRANSIENT);
    }
    return sqlite3_bind_null(statement_, at);
  }

  Value column(int at) const {
    switch (sqlite3_column_type(statement_, at)) {
      case SQLITE_INTEGER:
        return int64_t{sqlite3_column_int64(statement_, at)};
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement_, at);
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, at));
        const int bytes = sqlite3_column_bytes(statement_, at);
        if (text == nullptr) return std::monostate{};
        return std::string(text, static_cast<std::size_t>(bytes));
      }
      default:
        return std::monostate{};
    }
  }

  sqlite3_stmt* statement_;
};

}  // namespace

int64_t as_integer(const Value& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  return integer == nullptr ? 0 : *integer;
}

double as_real(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(as_integer(value));
}

std::string as_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

Database::Opened Database::open(const std::string& path, const Identity& identity) {
  Opened opened;
  std::unique_ptr<Database> database(new Database);
  const int code =
      sqlite3_open_v2(path.c_str(), &database->handle_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Status status;
  if (code != SQLITE_OK) {
    status = database->fail("cannot open the store " + path);
  } else {
    sqlite3_extended_result_codes(database->handle_, 1);
    sqlite3_busy_timeout(database->handle_, kBusyTimeoutMs);
    status = database->prepare(path, identity);
  }
  if (status.ok()) {
    opened.database = std::move(database);
    return opened;
  }
  opened.fault = database->last_fault_;
  opened.message = status.message();
  return opened;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(handle_);
}

Status Database::prepare(const std::string& path, const Identity& identity) {
  if (Status status = check_identity(identity); !status.ok()) return status;
  const bool plain = path == kMemoryPath || is_on_network(path);
  // WAL with NORMAL: a committed batch survives any end of this process; the last ones may be lost
  // with the machine's power, the file stays whole.
  const std::string mode = plain ? "PRAGMA journal_mode = TRUNCATE" : "PRAGMA journal_mode = WAL";
  for (const std::string& sql :
       {mode, std::string(plain ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"),
        std::string("PRAGMA foreign_keys = ON"), std::string("BEGIN IMMEDIATE")}) {
    if (auto rows = query(sql); !rows.ok()) return rows.status();
  }
  const base::Result<std::vector<Row>> version = query("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const int64_t found = as_integer(version.value()[0][0]);
  if (found < identity.schema_version) {
    std::string sql = found == 0 ? identity.schema : "";
    for (const Identity::Upgrade& upgrade : identity.upgrades) {
      if (found != 0 && found < upgrade.to) sql += upgrade.statements;
    }
    sql += ";PRAGMA application_id = " + std::to_string(identity.application_id) +
           ";PRAGMA user_version = " + std::to_string(identity.schema_version);
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      return fail("cannot make the store's tables");
    }
  }
  if (identity.additions != nullptr &&
      sqlite3_exec(handle_, identity.additions, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return fail("cannot make the store's tables");
  }
  return run("COMMIT");
}

Status Database::check_identity(const Identity& identity) {
  const base::Result<std::vector<Row>> id = query("PRAGMA application_id");
  if (!id.ok()) return id.status();
  const base::Result<std::vector<Row>> version = query("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const base::Result<std::vector<Row>> tables = query("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  const int64_t found_id = as_integer(id.value()[0][0]);
  const int64_t found_version = as_integer(version.value()[0][0]);
  const bool is_new = found_id == 0 && found_version == 0 && as_integer(tables.value()[0][0]) == 0;
  if (!is_new && found_id != identity.application_id) {
    last_fault_ = DatabaseFault::kForeign;
    return Error{ErrorKind::kInvalid,
                 "the store's file belongs to another program; name another with --store"};
  }
  const bool is_older = identity.oldest_version > 0 && found_version >= identity.oldest_version &&
                        found_version < identity.schema_version;
  if (!is_new && !is_older && found_version != identity.schema_version) {
    last_fault_ = DatabaseFault::kForeign;
    return Error{ErrorKind::kInvalid,
                 "the store has version " + std::to_string(found_version) + ", this daemon knows " +
                     std::to_string(identity.schema_version) + "; name another with --store"};
  }
  if (is_new) return {};
  const base::Result<std::vector<Row>> check = query("PRAGMA quick_check(1)");
  if (!check.ok()) return check.status();
  if (check.value().empty() || as_text(check.value()[0][0]) != "ok") {
    last_fault_ = DatabaseFault::kCorrupt;
    return Error{ErrorKind::kInvalid, "the store is damaged"};
  }
  return {};
}

Status Database::run(const std::string& sql, const Row& values) {
  return query(sql, values).status();
}

base::Result<std::vector<Row>> Database::query(const std::string& sql, const Row& values) {
  sqlite3_stmt* const raw = take_statement(sql);
  if (raw == nullptr) return fail("store");
  Statement statement(raw);
  if (!statement.bind(values)) return fail("store");
  std::vector<Row> rows;
  int code = statement.step();
  for (; code == SQLITE_ROW; code = statement.step()) rows.push_back(statement.row());
  if (code != SQLITE_DONE) return fail("store");
  keep_statement(sql, statement.release());
  return rows;
}

// Null on failure.
sqlite3_stmt* Database::take_statement(const std::string& sql) {
  if (const auto kept = statements_.extract(sql); !kept.empty()) return kept.mapped();
  sqlite3_stmt* fresh = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &fresh, nullptr);
  return code == SQLITE_OK ? fresh : nullptr;
}

void Database::keep_statement(const std::string& sql, sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (statements_.size() < kMostStatements && statements_.emplace(sql, statement).second) return;
  sqlite3_finalize(statement);
}

int64_t Database::last_row_id() const {
  return sqlite3_last_insert_rowid(handle_);
}

base::Error Database::fail(const std::string& what) {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(handle_);
  last_fault_ = fault_of(code);
  damaged_ = damaged_ || last_fault_ == DatabaseFault::kCorrupt;
  const char* text = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
  return {last_fault_ == DatabaseFault::kCorrupt ? ErrorKind::kInvalid : ErrorKind::kUnavailable,
          what + ": " + text};
}

std::vector<Row> rows_in(Database* database, const std::string& sql, const Row& values) {
  if (database == nullptr) return {};
  base::Result<std::vector<Row>> found = database->query(sql, values);
  return found.ok() ? std::move(found).value() : std::vector<Row>();
}

}  // namespace optile::daemon
