"""What a placement of a step's units costs (bindings/python/optile/distributed/step_units.py)."""
import unittest

from parts import step_units

Link, UnitCosts, UnitGraph, Value = (step_units.Link, step_units.UnitCosts, step_units.UnitGraph,
                                     step_units.Value)

# a is read by b and c, both by d, which ends with the loss.
DIAMOND = UnitGraph(["a", "b", "c", "d"], [
    Value("a", 0, (1, 2), 8, True), Value("b", 1, (3,), 4, True), Value("c", 2, (3,), 4, True)])
FORWARD = [1.0, 2.0, 3.0, 1.0]


def costs(ranks=2, link=Link(0.5, 0.0), slowness=(1.0, 1.0), update=0.0):
    forward = [[one * slowness[rank] for one in FORWARD] for rank in range(ranks)]
    backward = [[2 * one for one in of_rank] for of_rank in forward]
    return UnitCosts(forward, backward, link, [[update] * 4] * ranks)


class Simulation(unittest.TestCase):
    def test_one_rank_runs_one_unit_after_the_other(self):
        schedule = step_units.simulate(DIAMOND, costs(update=0.25), [0, 0, 0, 0])
        self.assertEqual(22.0, schedule.seconds)
        # Of b and c, the one with the longer way to the end goes first.
        self.assertEqual([0, 2, 1, 3], schedule.order)

    def test_two_ranks_by_hand(self):
        # Forward a 0-1, b 1-3, c 1.5-4.5, d 5-6; backward d 6-8, b 8-12, c 8.5-14.5, a 15-17.
        schedule = step_units.simulate(DIAMOND, costs(), [0, 0, 1, 0])
        self.assertEqual(17.0, schedule.seconds)
        self.assertEqual([0, 1, 3], schedule.of_rank([0, 0, 1, 0], 0))

    def test_what_is_sent_takes_time_by_its_bytes(self):
        # a takes 4 more there, c 2 more back; the same again backward.
        schedule = step_units.simulate(DIAMOND, costs(link=Link(0.5, 0.5)), [0, 0, 1, 0])
        self.assertEqual(17.0 + 2 * (4 + 2), schedule.seconds)

    def test_slow_rank_is_slow(self):
        # Forward c 1.5-7.5, d 8-9; backward d 9-11, c 11.5-23.5, a 24-26.
        schedule = step_units.simulate(DIAMOND, costs(slowness=(1.0, 2.0)), [0, 0, 1, 0])
        self.assertEqual(26.0, schedule.seconds)

    def test_value_without_gradient_costs_nothing_backward(self):
        graph = UnitGraph(["a", "b"], [Value("a", 0, (1,), 8, False)])
        both = UnitCosts([[1.0, 1.0]] * 2, [[0.0, 2.0]] * 2, Link(0.5), [[0.0, 0.0]] * 2)
        self.assertEqual(1 + 0.5 + 1 + 2, step_units.simulate(graph, both, [0, 1]).seconds)


class PlaceFile(unittest.TestCase):
    def file(self):
        return step_units.place_file(DIAMOND, costs(slowness=(1.0, 3.0)), ["node0", "node1"])

    def test_devices_have_their_speeds(self):
        cluster = self.file()["cluster"]
        self.assertEqual(["node0", "node1"], [one["name"] for one in cluster["devices"]])
        fast, slow = (one["speed"] for one in cluster["devices"])
        self.assertAlmostEqual(3.0, fast / slow)
        self.assertEqual(500.0, cluster["latency_ms"])

    def test_a_unit_is_one_colour_forward_and_backward(self):
        file = self.file()
        nodes = {one["name"]: one for one in file["nodes"]}
        # A unit's times are those of a device of speed 1.
        fast = file["cluster"]["devices"][0]["speed"]
        self.assertAlmostEqual(3000.0, nodes["c"]["accelerator_ms"] / fast)
        self.assertAlmostEqual(2.0, nodes["c_backward"]["accelerator_ms"] /
                               nodes["c"]["accelerator_ms"])
        for name in ("c", "c_backward", "c_value", "a_gradient_2"):
            self.assertEqual(2, nodes[name]["colour"])
        edges = {(file["nodes"][one["source"]]["name"], file["nodes"][one["target"]]["name"])
                 for one in file["edges"]}
        self.assertLessEqual({("a", "a_value"), ("a_value", "c"), ("c_backward", "a_gradient_2"),
                              ("a_gradient_2", "a_backward"), ("d", "d_backward")}, edges)


class Answer(unittest.TestCase):
    ANSWER = {"nodes": ["a", "b", "c", "d", "a_value"], "assignment": [0, 1, 1, 0, 0]}

    def test_says_the_rank_of_each_unit(self):
        self.assertEqual([0, 1, 1, 0], step_units.owners_of(self.ANSWER, DIAMOND, 2))

    def test_of_something_else_is_refused(self):
        for answer, message in (({}, "no answer of"), ([1], "no answer of"),
                                ({"nodes": [[]], "assignment": [1]}, "no answer of"),
                                ({"nodes": [], "assignment": [1]}, "length"),
                                ({"nodes": ["a"], "assignment": [0]}, "does not place b")):
            with self.subTest(answer), self.assertRaisesRegex(ValueError, message):
                step_units.owners_of(answer, DIAMOND, 2)
        with self.assertRaisesRegex(ValueError, "device 1, and there are 1 ranks"):
            step_units.owners_of(self.ANSWER, DIAMOND, 1)


if __name__ == "__main__":
    unittest.main()
