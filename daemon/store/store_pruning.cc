#include "daemon/store/store_pruning.h"

namespace optile::daemon {
namespace {

using base::Result;
using base::Status;

constexpr int64_t kMaxPrograms = 512;
constexpr int64_t kMaxRunsPerProgram = 128;
constexpr int64_t kMaxPlansPerProgram = 32;

Status prune_programs(Database& database) {
  const Result<std::vector<Row>> count = database.query("SELECT count(*) FROM programs");
  if (!count.ok()) return count.status();
  if (as_integer(count.value().at(0).at(0)) <= kMaxPrograms) return {};
  return database.run(
      "DELETE FROM programs WHERE id IN "
      "(SELECT id FROM programs ORDER BY last_seen DESC, id DESC LIMIT -1 OFFSET ?1)",
      {kMaxPrograms});
}

// Along the indexes by program.
Status prune_program(Database& database, int64_t program) {
  Status status = database.run(
      "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE program_id = ?1 "
      "ORDER BY finished_at DESC, id DESC LIMIT -1 OFFSET ?2)",
      {program, kMaxRunsPerProgram});
  if (!status.ok()) return status;
  return database.run(
      "DELETE FROM plans WHERE id IN (SELECT id FROM plans WHERE program_id = ?1 "
      "ORDER BY made_at DESC, id DESC LIMIT -1 OFFSET ?2)",
      {program, kMaxPlansPerProgram});
}

Status prune_each(Database& database) {
  const Result<std::vector<Row>> rows = database.query("SELECT id FROM programs");
  if (!rows.ok()) return rows.status();
  Programs all;
  for (const Row& row : rows.value()) all.insert(as_integer(row.at(0)));
  return prune(database, all);
}

}  // namespace

Status prune(Database& database, const Programs& written) {
  if (written.empty()) return {};
  for (const int64_t program : written) {
    if (Status status = prune_program(database, program); !status.ok()) return status;
  }
  return prune_programs(database);
}

Status prune_all(Database& database) {
  if (Status begun = database.run("BEGIN IMMEDIATE"); !begun.ok()) return begun;
  Status status = prune_each(database);
  if (status.ok()) status = database.run("COMMIT");
  if (!status.ok()) static_cast<void>(database.run("ROLLBACK").ok());
  return status;
}

}  // namespace optile::daemon
