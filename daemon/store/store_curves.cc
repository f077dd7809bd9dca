#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/store_tables.h"
#include "daemon/store/store_values.h"
#include "perfmodel/profile/launch_plan.h"

namespace optile::daemon {
namespace {

constexpr int kMostCurveCores = 65536;
constexpr int kWidestCurve = 8192;
constexpr int64_t kMaxCurvePoints = 1024;  // of a curve

// One after the other, each of one launch plan.
struct PlansCurve {
  std::string launch_plan;
  EarlierCurve curve;
};

std::vector<PlansCurve> curves_of(const std::vector<Row>& rows) {
  std::vector<PlansCurve> curves;
  for (const Row& row : rows) {
    const std::string launch_plan = as_text(row[7]);
    if (curves.empty() || curves.back().launch_plan != launch_plan) {
      curves.push_back(
          {launch_plan,
           {{unsigned_word(row[1]), small(row[2], kWidestCurve)}, seconds(row[6]), {}}});
    }
    const CurvePoint point = {small(row[0], kMostCurveCores), seconds(row[3]),
                              as_integer(row[4]) != 0, as_integer(row[5])};
    if (point.cores > 0 && point.seconds > 0) curves.back().curve.points.push_back(point);
  }
  return curves;
}

}  // namespace

const char* const kCurveSchema = R"sql(
CREATE TABLE IF NOT EXISTS curves (
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, cores INTEGER NOT NULL,
  step_fingerprint INTEGER NOT NULL, default_width INTEGER NOT NULL, steered REAL NOT NULL,
  seconds REAL NOT NULL, measured INTEGER NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (program_id, machine, launch_plan, cores)) STRICT, WITHOUT ROWID;
)sql";

base::Status write_curve(Database& database, int64_t program, const CurveRecord& record) {
  const Conditions& at = record.conditions;
  base::Status status =
      database.run("DELETE FROM curves WHERE program_id = ?1 AND machine = ?2 AND launch_plan = ?3",
                   {program, at.machine, at.launch_plan});
  int64_t points = 0;
  for (const CurvePoint& point : record.curve.points) {
    if (!status.ok() || ++points > kMaxCurvePoints) break;
    status = put_row(database, "curves",
                     {program, at.machine, at.launch_plan, int64_t{point.cores},
                      word(record.curve.about.step_fingerprint),
                      int64_t{record.curve.about.default_width}, finite(record.curve.steered),
                      finite(point.seconds), int64_t{point.measured ? 1 : 0}, point.when});
  }
  return status;
}

std::optional<EarlierCurve> Store::find_curve(const Conditions& conditions, int64_t since) {
  const ProgramKey& program = conditions.program;
  const Row values = {program.executable,      program.program, program.arguments,
                      conditions.machine,      since,           conditions.launch_plan,
                      int64_t{kMaxCurvePoints}};
  const std::string sql =
      "WITH known AS (SELECT curves.*, max(curves.made_at) OVER (PARTITION BY launch_plan) AS last "
      "FROM curves JOIN programs ON programs.id = program_id "
      "WHERE executable = ?1 AND program = ?2 AND arguments = ?3 AND machine = ?4 "
      "AND curves.made_at >= ?5) "
      "SELECT cores, step_fingerprint, default_width, seconds, measured, made_at, steered, "
      "launch_plan "
      "FROM known ORDER BY launch_plan = ?6 DESC, last DESC, launch_plan, cores LIMIT ?7";
  // What waits to be written replaces what is in the file, launch plan by launch plan.
  std::vector<PlansCurve> found = curves_of(rows_in(memory_.get(), sql, values));
  for (PlansCurve& kept : curves_of(rows_in(file_.get(), sql, values))) {
    const bool replaced = std::any_of(found.begin(), found.end(), [&kept](const auto& one) {
      return one.launch_plan == kept.launch_plan;
    });
    if (!replaced) found.push_back(std::move(kept));
  }
  leave_damaged();
  if (found.empty()) return std::nullopt;
  std::stable_partition(found.begin(), found.end(), [&conditions](const auto& one) {
    return one.launch_plan == conditions.launch_plan;
  });
  const auto alike = [&conditions](const PlansCurve& one) {
    return perfmodel::scale_alike(one.launch_plan, conditions.launch_plan);
  };
  const auto best = std::find_if(found.begin(), found.end(), alike);
  if (best == found.end()) {
    for (CurvePoint& point : found.front().curve.points) point.measured = false;
    return found.front().curve;
  }
  EarlierCurve curve = best->curve;
  for (const PlansCurve& other : found) {
    if (&other != &*best && alike(other)) curve = completed(std::move(curve), other.curve);
  }
  return curve;
}

}  // namespace optile::daemon
