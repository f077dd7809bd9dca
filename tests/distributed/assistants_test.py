"""Assistants that hand units over (bindings/python/optile/distributed/assistants.py), with the
command that runs them."""
import os
import pathlib
import select
import unittest
from unittest import mock

from parts import assistants, corrections, placements, stages, step_units
from placements_test import World

PROGRAMS = pathlib.Path(os.environ["OPTILE_BINARY_DIR"], "bin")
PATH = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
MEMORY = assistants.Resources([1e-12] * 8, [1 << 30] * 8)


class PatientCommand(assistants.AssistantsCommand):
    """Answers of samples are there before the next window."""

    def sample(self, line):
        super().sample(line)
        if self.runs:
            select.select([self._running.stdout], [], [])


class SlowSearch:
    """Whose answers come so many windows later."""

    def __init__(self, world, windows):
        self._world = world
        self._windows = windows
        self._answers = []

    @property
    def searching(self):
        return bool(self._answers) or self._world.controller.wants_search

    def found(self):
        if not self._answers:
            return None
        left, answer = self._answers[0]
        self._answers = [(left - 1, answer)] if left > 0 else []
        return answer if left == 0 else None

    def end_window(self, changed, _):
        if not changed and not self._answers and self._world.controller.wants_search:
            self._world.controller.note_search()
            costs = self._world.controller.costs()
            self._answers = [(self._windows, self._world.search(costs))]

    def report(self):
        return {}


class NoSearch(SlowSearch):
    searching = False

    def end_window(self, changed, _):
        pass


class CorrectedWorld(World):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.correction = NoSearch(self, 0)

    def decide(self, window):
        measured = stages.Window([stages.StageSeconds(*one[:2]) for one in window],
                                 max(one[2] for one in window))
        found, searching = self.correction.found(), self.correction.searching
        changed = self.controller.add(measured, self.step, found, searching)
        if changed:
            self.switches += 1
            for median in self.medians:
                median.begin_plan()
        self.correction.end_window(changed, measured.stages)


class Assisted(unittest.TestCase):
    def assist(self, world):
        with mock.patch.dict("os.environ", PATH), \
                mock.patch.object(corrections, "AssistantsCommand", PatientCommand):
            world.correction = corrections.AssistedCorrection(
                world.correction, world.controller, world.graph, [1] * len(world.seconds), MEMORY)
        self.addCleanup(world.correction._command.end)
        return world

    def test_follow_a_rank_that_becomes_slow_and_recovers(self):
        """By themselves, and never by a step that is slower."""
        for slow in (2.0, 3.0, 10.0):
            with self.subTest(slow):
                world = self.assist(CorrectedWorld(2, deviation=0.02))
                world.run(40)
                for factor in (slow, 1.0, slow, 1.0):
                    world.slowness[-1] = factor
                    took = world.run(200)
                    self.assertLessEqual(max(took), took[0] * (1 + 1e-9), took)
                    self.assertLess(took[-1], 1.3, took)

    def test_lose_less_until_a_search_has_an_answer(self):
        for ranks, slow, most in ((2, 2.0, 1.03), (2, 3.0, 0.97), (2, 10.0, 0.95), (3, 3.0, 1.03)):
            with self.subTest(ranks=ranks, slow=slow):
                took = []
                for assisted in (False, True):
                    world = CorrectedWorld(ranks, deviation=0.02)
                    world.correction = SlowSearch(world, 8)
                    if assisted:
                        self.assist(world)
                    world.run(40)
                    took.append(0.0)
                    for factor in (slow, 1.0, slow, 1.0):
                        world.slowness[-1] = factor
                        took[-1] += sum(world.run(100))
                self.assertLess(took[1], most * took[0])

    def test_noise_alone_moves_nothing(self):
        world = self.assist(CorrectedWorld(3, seed=2, deviation=0.05))
        world.run(1000)
        self.assertEqual(0, world.switches)

    def test_command_that_ends_stops_nothing(self):
        world = self.assist(CorrectedWorld(2))
        world.run(20)
        command = world.correction._command
        command._running.kill()
        command._running.wait()
        world.slowness[-1] = 1.9  # one rank alone would not be faster
        world.run(60)
        self.assertEqual(0, world.switches)
        self.assertFalse(world.correction.report()["assistants"]["run"])

    def test_absent_command_stops_nothing(self):
        with mock.patch.object(assistants, "find_command", side_effect=RuntimeError("absent")):
            world = CorrectedWorld(2)
            world.correction = corrections.AssistedCorrection(
                world.correction, world.controller, world.graph, [1] * len(world.seconds), MEMORY)
        world.run(20)
        self.assertFalse(world.correction.report()["assistants"]["run"])

    def test_answer_to_a_former_plan_is_none(self):
        world = self.assist(CorrectedWorld(2))
        world.run(7)  # a window; its answer is not read yet
        command, moves = world.correction._command, world.correction._moves
        one = world.controller
        command.begin(moves.begin(one.plan, one.costs(), one.schedule))
        self.assertEqual([], command.answers())
        world.correction.end_window(False, [stages.StageSeconds(1.0, 2.0)] * 2)
        self.assertEqual(1, len(command.answers()))


class Bounds(unittest.TestCase):
    def test_what_limits_a_unit(self):
        for (computing, copying, sending), bound in {
            (1.0, 0.1, 0.5): ("compute", 1.0),
            (1.0, 0.6, 0.5): ("memory", 0.6),
            (1.0, 0.6, 1.5): ("network", 1.5),
        }.items():
            self.assertEqual(bound, assistants.bound_of(computing, copying, sending))

    def test_lines_say_what_is_used(self):
        """A unit of rank 0 makes 6 bytes for two units of rank 1, and has a gradient back."""
        graph = step_units.UnitGraph(["a", "b", "c"],
                                     [step_units.Value("v", 0, (1, 2), 6, True)])
        costs = step_units.UnitCosts([[1.0] * 3, [2.0] * 3], [[2.0] * 3, [4.0] * 3],
                                     step_units.Link(0.1, 0.05), [[0.0] * 3] * 2)
        moves = assistants.ProposedMoves(graph, [0, 1, 0], assistants.Resources([0.1, 0.1], [7, 8]))
        plan = placements.Placement((0, 1, 1))
        schedule = step_units.simulate(graph, costs, plan.owners)
        line = moves.begin(plan, costs, schedule)
        self.assertEqual(["compute", "memory", "network"],
                         [rule["resource"] for rule in line["rules"]])
        self.assertEqual([0, 1, 1], [node["owner"] for node in line["nodes"]])
        self.assertEqual(["memory", "memory", "compute"],
                         [node["bound"] for node in line["nodes"]])
        sample = moves.sample(plan, costs, schedule, [stages.StageSeconds(1.0, 2.0),
                                                      stages.StageSeconds(4.0, 8.0)], 5)
        seconds = schedule.seconds
        first, second = sample["samples"]
        self.assertAlmostEqual(3.0 / seconds, first["compute"])
        self.assertAlmostEqual(12.0 / seconds, second["compute"])
        # 6 bytes there and back, each 0.1 + 6 * 0.05 seconds, at both ends.
        self.assertAlmostEqual(0.8 / seconds, first["network"])
        self.assertAlmostEqual(first["network"], second["network"])
        # Each unit touches the value's 6 bytes, and b 4 bytes of weights, three times each.
        self.assertAlmostEqual(1.8 / seconds, first["memory"])
        self.assertAlmostEqual(4.8 / seconds, second["memory"])
        self.assertEqual([7, 8], [one["free_bytes"] for one in sample["samples"]])


if __name__ == "__main__":
    unittest.main()
