"""What a job tells of its plan (bindings/python/optile/distributed/plan_record.py)."""
import json
import socket
import tempfile
import unittest
from unittest import mock

from parts import changes, placements, plan_record, plan_telling, shares, stages

NAMED = {"job": "train", "run": "r", "epoch": 2, "step": 20, "since_step": 10}


class Record(unittest.TestCase):
    def test_has_shares_as_measured(self):
        controller = shares.ShareController(2)
        for step in (7, 12):
            controller.add(shares.Window([30, 30], [1.0, 2.0], 60.0), step)
        record = plan_record.plan_record(NAMED, controller.in_force, ["a", "b"],
                                         controller.rank_times(), controller.changes)
        self.assertEqual("shares", record["kind"])
        self.assertIsNone(record["measured_seconds"])  # of the shares that are tried now
        self.assertEqual(40.0, record["predicted_seconds"])
        self.assertEqual([0.666667, 0.333333], [one["part"] for one in record["ranks"]])
        self.assertEqual([None, None], [one["busy"] for one in record["ranks"]])
        self.assertEqual([60.0, 120.0], [one["whole_seconds"] for one in record["ranks"]])
        self.assertEqual([60.0, 120.0], record["changes"][0]["whole_seconds"])
        self.assertIsNone(record["changes"][0]["measured"])
        controller.add(shares.Window([40, 20], [1.0, 2.0], 40.0), 20)
        record = plan_record.plan_record(NAMED, controller.in_force, ["a", "b"],
                                         controller.rank_times(), controller.changes)
        self.assertEqual(40.0, record["measured_seconds"])
        self.assertEqual([1.0, 1.0], [one["busy"] for one in record["ranks"]])
        self.assertEqual(1.5, record["changes"][0]["measured"])

    def test_has_layers_and_latest_changes(self):
        plan, other = stages.Plan((6,), 4), stages.Plan((4,), 8)
        tried = [changes.Change(step, other, plan, 1.2, 1.01, False, "x" * 999)
                 for step in range(20)]
        in_force = plan_record.PlanInForce(plan, 8, "1f1b", 0.5, None)
        record = plan_record.plan_record(NAMED, in_force, ["a", "b"], [], tried)
        self.assertEqual("pipeline", record["kind"])
        self.assertEqual([6.0, 2.0], [one["part"] for one in record["ranks"]])
        self.assertIsNone(record["ranks"][0]["busy"])
        self.assertEqual(list(range(12, 20)), [one["step"] for one in record["changes"]])
        self.assertEqual({"parts": [4.0, 4.0], "micro_batches": 8}, record["changes"][0]["before"])
        self.assertEqual(256, len(record["changes"][0]["reason"]))

    def test_has_units_of_each_rank(self):
        plan, other = placements.Placement((0, 0, 0)), placements.Placement((0, 1, 0))
        in_force = plan_record.PlanInForce(plan, 3)
        tried = [changes.Change(5, other, plan, 1.2, None)]
        record = plan_record.plan_record(NAMED, in_force, ["a", "b"], [], tried)
        self.assertEqual("placement", record["kind"])
        self.assertEqual([3.0, 0.0], [one["part"] for one in record["ranks"]])
        self.assertEqual({"parts": [2.0, 1.0], "micro_batches": 0}, record["changes"][0]["before"])

    def test_has_ranks_of_all_replicas(self):
        plan, other = stages.Plan((6,), 4), stages.Plan((4,), 8)
        tried = [changes.Change(5, other, plan, 1.2, whole_seconds=[1.0, 2.0])]
        in_force = plan_record.PlanInForce(plan, 8, "1f1b", 0.5, None, 2)
        record = plan_record.plan_record({**NAMED, "choice": "as given"}, in_force,
                                         ["a", "b", "c", "d"], [], tried)
        self.assertEqual(("pipeline", 2, "as given"),
                         (record["kind"], record["replicas"], record["choice"]))
        self.assertEqual([6.0, 2.0, 6.0, 2.0], [one["part"] for one in record["ranks"]])
        change, = record["changes"]
        self.assertEqual([4.0, 4.0, 4.0, 4.0], change["before"]["parts"])
        self.assertEqual([1.0, 2.0, 1.0, 2.0], change["whole_seconds"])
        placed = plan_record.PlanInForce(placements.Placement((0, 0, 1)), replicas=2)
        record = plan_record.plan_record(NAMED, placed, ["a", "b", "c", "d"], [], [])
        self.assertEqual([2.0, 1.0, 2.0, 1.0], [one["part"] for one in record["ranks"]])

    def test_has_generation_and_lost_nodes_of_a_job_that_outlives_its_nodes(self):
        said = {"OPTILE_CLUSTER_GENERATION": "2", "OPTILE_CLUSTER_LOST_NODES": "node0,node2"}
        with mock.patch.dict("os.environ", said):
            self.assertEqual({"generation": 2, "lost_nodes": ["node0", "node2"]},
                             plan_telling.generation())
        said = {"OPTILE_CLUSTER_GENERATION": "1", "OPTILE_CLUSTER_LOST_NODES": ""}
        with mock.patch.dict("os.environ", said):
            self.assertEqual({"generation": 1, "lost_nodes": []}, plan_telling.generation())
        with mock.patch.dict("os.environ", {"OPTILE_CLUSTER_GENERATION": "0"}):
            self.assertEqual({}, plan_telling.generation())
        self.assertEqual({}, plan_telling.generation())

    def test_has_weights_of_each_rank(self):
        in_force = plan_record.PlanInForce(plan_record.SplitsInForce([0.75, 0.5]))
        record = plan_record.plan_record(NAMED, in_force, ["a", "b"], [], [])
        self.assertEqual("splits", record["kind"])
        self.assertEqual([0.75, 0.5], [one["part"] for one in record["ranks"]])

    def test_of_most_ranks_fits_into_a_request(self):
        names, equal = ["n" * 63] * 100, [1 / 3] * 100
        tried = [changes.Change(1, equal, equal, 1.2, 1.01, True, "x" * 256, [1 / 3] * 100)] * 8
        times = [plan_record.RankTimes(1 / 3, 1 / 3, 1 / 3)] * 100
        record = plan_record.plan_record(NAMED, plan_record.PlanInForce(equal), names, times, tried)
        self.assertLess(len(json.dumps(record)), 64 << 10)


class Telling(unittest.TestCase):
    def tell(self, teller, step, tried=()):
        teller.tell(step, plan_record.PlanInForce([1.0]), [], list(tried))

    def test_nothing_happens_without_daemon(self):
        with mock.patch.dict("os.environ", {"OPTILE_SOCKET": "/nowhere/optiled.sock"}):
            self.tell(plan_telling.PlanTeller(["a"]), 1)

    def test_socket_that_nobody_reads_holds_up_nobody(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as deaf:
            path = f"{folder}/optiled.sock"
            deaf.bind(path)
            deaf.listen(0)
            with mock.patch.dict("os.environ", {"OPTILE_SOCKET": path}):
                teller = plan_telling.PlanTeller(["a"])
                for step in range(50):
                    teller.changed(step)
                    self.tell(teller, step)

    def test_same_plan_is_told_again_after_a_while(self):
        told = []
        with mock.patch.dict("os.environ", {"OPTILE_SOCKET": "/x"}), \
                mock.patch.object(plan_telling, "_tell", lambda *told_to: told.append(told_to)), \
                mock.patch.object(plan_telling.time, "monotonic") as now:
            teller = plan_telling.PlanTeller(["a"])
            change = changes.Change(1, [1.0], [1.0], 1.2)
            for now.return_value, tried in ((100.0, ()), (104.0, ()), (106.0, ()),
                                            (107.0, (change,))):
                self.tell(teller, 1, tried)
            change.measured = 1.1
            self.tell(teller, 2, [change])
        self.assertEqual(4, len(told))

    def test_names_are_such_as_a_cluster_takes(self):
        self.assertEqual("a-b-c.py", plan_telling.as_name("a b/c.py", "job"))
        self.assertEqual("job", plan_telling.as_name("", "job"))
        self.assertEqual(63, len(plan_telling.as_name("x" * 99, "job")))


if __name__ == "__main__":
    unittest.main()
