#include "daemon/metrics/op_ledger.h"

#include <gtest/gtest.h>

#include <chrono>

namespace optile::daemon {
namespace {

using std::chrono::seconds;

ClientView client_of(uint64_t id, const std::string& program) {
  ClientView client;
  client.id = id;
  client.attach_request.program = program;
  return client;
}

void set_op(ClientView& client, uint64_t key, const std::string& name, int64_t total_seconds,
            uint64_t executions) {
  client.ops[key].key = key;
  client.ops[key].name = name;
  client.ops[key].shape = "[1]";
  client.totals[key].time = seconds(total_seconds);
  client.totals[key].count = executions;
}

std::optional<ClientView> nobody(uint64_t) {
  return std::nullopt;
}

// Of the row of this op; -1 where there is none.
double seconds_of_row(const OpLedger& ledger, const std::string& op) {
  for (const OpLedger::Row& row : ledger.rows()) {
    if (row.op == op) return row.seconds;
  }
  return -1;
}

TEST(OpLedger, AddsUpClientsOfSameProgram) {
  OpLedger ledger;
  std::vector<ClientView> clients = {client_of(1, "a"), client_of(2, "a"), client_of(3, "b")};
  set_op(clients[0], 7, "mm", 10, 100);
  set_op(clients[1], 7, "mm", 20, 200);
  set_op(clients[2], 7, "mm", 5, 50);
  ledger.update(clients, nobody);
  const std::vector<OpLedger::Row> rows = ledger.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].program, "a");
  EXPECT_EQ(rows[0].seconds, 30);
  EXPECT_EQ(rows[0].executions, 300);
  EXPECT_EQ(rows[1].program, "b");
}

TEST(OpLedger, KeepsCountsOfDepartedClient) {
  OpLedger ledger;
  std::vector<ClientView> clients = {client_of(1, "a"), client_of(2, "a")};
  set_op(clients[0], 7, "mm", 10, 1);
  set_op(clients[1], 7, "mm", 20, 1);
  ledger.update(clients, nobody);
  ClientView last = clients[1];
  set_op(last, 7, "mm", 23, 2);
  last.finished = true;
  ledger.update({clients[0]}, [&](uint64_t id) {
    EXPECT_EQ(id, 2u);
    return std::optional(last);
  });
  EXPECT_EQ(seconds_of_row(ledger, "mm"), 33);  // its last three seconds as well
  ledger.update({clients[0]}, nobody);
  EXPECT_EQ(seconds_of_row(ledger, "mm"), 33);
  // The program's series go with its last client, after one more page.
  ledger.update({}, nobody);
  EXPECT_TRUE(ledger.rows().empty());
}

TEST(OpLedger, CountersNeverDecrease) {
  OpLedger ledger;
  std::vector<ClientView> clients = {client_of(1, "a")};
  set_op(clients[0], 7, "mm", 10, 100);
  ledger.update(clients, nobody);
  set_op(clients[0], 7, "mm", 2, 5);
  ledger.update(clients, nobody);
  EXPECT_EQ(seconds_of_row(ledger, "mm"), 10);
  set_op(clients[0], 7, "mm", 3, UINT64_MAX);
  ledger.update(clients, nobody);
  EXPECT_EQ(seconds_of_row(ledger, "mm"), 11);
}

TEST(OpLedger, LongestOpsHaveRowsAndOtherOnlyRises) {
  OpLedger ledger;
  std::vector<ClientView> clients = {client_of(1, "a")};
  const int ops = 80;
  for (int i = 0; i < ops; ++i)
    set_op(clients[0], 1000u + unsigned(i), "op" + std::to_string(i), 100 + i, 1);
  ledger.update(clients, nobody);
  EXPECT_EQ(ledger.rows().size(), kMaxOpRows + 1);
  EXPECT_EQ(seconds_of_row(ledger, "op0"), -1);
  const double other = seconds_of_row(ledger, "other");
  EXPECT_EQ(other, 30 * 100 + 29 * 30 / 2);
  // The shortest becomes the longest: a row from now on, and nothing is taken from "other".
  set_op(clients[0], 1000, "op0", 1000, 2);
  ledger.update(clients, nobody);
  EXPECT_EQ(seconds_of_row(ledger, "op0"), 900);
  EXPECT_EQ(seconds_of_row(ledger, "other"), other);
  // The one that lost its row goes on under "other".
  const double executions = ledger.rows().back().executions;
  set_op(clients[0], 1030, "op30", 130, 8);
  ledger.update(clients, nobody);
  EXPECT_EQ(seconds_of_row(ledger, "op30"), -1);
  EXPECT_EQ(ledger.rows().back().op, "other");
  EXPECT_EQ(ledger.rows().back().executions, executions + 7);
}

TEST(OpLedger, OpsOverLimitCountAsOther) {
  OpLedger ledger;
  std::vector<ClientView> clients = {client_of(1, "a")};
  const uint64_t ops = kMaxOpsKnown + 10;
  for (uint64_t key = 1; key <= ops; ++key) {
    set_op(clients[0], key, "op" + std::to_string(key), 1, 1);
  }
  ledger.update(clients, nobody);
  double executions = 0;
  for (const OpLedger::Row& row : ledger.rows()) executions += row.executions;
  EXPECT_EQ(executions, static_cast<double>(ops));
  EXPECT_EQ(ledger.rows().size(), kMaxOpRows + 1);
}

TEST(OpLedger, NamesWithEqualLabelsShareRow) {
  OpLedger ledger;
  std::vector<ClientView> clients = {client_of(1, "a")};
  set_op(clients[0], 1, "bad\xff", 1, 1);
  set_op(clients[0], 2, "bad\xfe", 2, 1);
  set_op(clients[0], 3, std::string(10000, 'x') + "1", 3, 1);
  set_op(clients[0], 4, std::string(10000, 'x') + "2", 4, 1);
  ledger.update(clients, nobody);
  ASSERT_EQ(ledger.rows().size(), 2u);
  EXPECT_EQ(ledger.rows()[0].seconds, 7);
  EXPECT_EQ(ledger.rows()[1].seconds, 3);
}

TEST(OpLedger, ReportsMaximumWidthOverContexts) {
  OpLedger ledger;
  std::vector<ClientView> clients = {client_of(1, "a")};
  set_op(clients[0], 7, "mm", 10, 100);
  clients[0].session = tuner::SessionView();
  clients[0].session->default_width = 4;
  for (const int width : {2, 1}) {
    tuner::OpView op;
    op.place = {7, static_cast<uint64_t>(width)};
    op.width = width;
    clients[0].session->ops.push_back(op);
  }
  ledger.update(clients, nobody);
  EXPECT_EQ(ledger.rows()[0].width, 2);
  clients[0].session->ops[1].width = 0;  // the program's own
  ledger.update(clients, nobody);
  EXPECT_EQ(ledger.rows()[0].width, 4);
}

}  // namespace
}  // namespace optile::daemon
