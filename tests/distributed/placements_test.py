"""Which rank runs which units, corrected (bindings/python/optile/distributed/placements.py)."""
import itertools
import random
import unittest

from parts import changes, placements, stages, step_units
from played_ranks import Noise

Placement = placements.Placement
BRANCHES = (1.0, 2.0, 3.0, 2.0)
BLOCKS = 2


def made_graph():
    """Blocks of branches behind one another, each begun and ended by a unit that takes no time."""
    seconds, values = [0.0], []
    for _ in range(BLOCKS):
        begin = len(seconds) - 1
        branches = range(begin + 1, begin + 1 + len(BRANCHES))
        values.append(step_units.Value(f"v{begin}", begin, tuple(branches), 1, True))
        seconds += [*BRANCHES, 0.0]
        values += [step_units.Value(f"v{one}", one, (branches.stop,), 1, True) for one in branches]
    return step_units.UnitGraph([f"u{one}" for one in range(len(seconds))], values), seconds


class World:
    """Ranks as they are, and a search that tries every placement of one block's branches and ends a
    window after it began."""

    def __init__(self, ranks, seed=1, deviation=0.0):
        self.graph, self.seconds = made_graph()
        self.ranks = ranks
        self.slowness = [1.0] * ranks
        self.unforeseen = 0.0  # what steps of a division take beyond the simulation
        self.noise = Noise(seed, deviation, 0.0)
        self.profile = self.costs_of([1.0] * ranks)
        self.controller = placements.PlacementController(
            self.graph, self.profile, [0] * len(self.seconds), self.search(self.profile), False)
        self.found = None
        self.medians = [changes.WindowMedians() for _ in range(ranks)]
        self.step = 0
        self.switches = 0

    def costs_of(self, slowness):
        forward = [[one * slow for one in self.seconds] for slow in slowness]
        return step_units.UnitCosts(forward, [[2 * one for one in of_rank] for of_rank in forward],
                                    step_units.Link(0.01), [[0.0] * len(self.seconds)] * self.ranks)

    def search(self, costs):
        def seconds(owners):
            return step_units.simulate(self.graph, costs, owners).seconds

        fastest = min(range(self.ranks), key=costs.whole_seconds)
        choices = itertools.product(range(self.ranks), repeat=len(BRANCHES))
        return Placement(min((self.repeated(one, fastest) for one in choices), key=seconds))

    @staticmethod
    def repeated(choice, fastest):
        return (fastest, *(*choice, fastest) * BLOCKS)

    def measured(self, rank):
        probe = self.controller.probe_of(rank)
        slow = self.slowness[rank]
        if probe is not None:
            return [self.seconds[probe] * slow * self.noise(), 0.0]
        own = sum(one for one, owner in zip(self.seconds, self.controller.plan.owners)
                  if owner == rank) * slow
        return [own * self.noise(), 2 * own * self.noise()]

    def run(self, steps):
        """Returns what each step took, without noise, beside that of the best placement."""
        costs = self.costs_of(self.slowness)
        best = step_units.simulate(self.graph, costs, self.search(costs).owners).seconds
        return [self.run_step(costs) / best for _ in range(steps)]

    def run_step(self, costs):
        took = step_units.simulate(self.graph, costs, self.controller.plan.owners).seconds
        if self.controller.plan.is_divided:
            took += self.unforeseen
        self.step += 1
        window = [median.add([*self.measured(rank), took * self.noise()])
                  for rank, median in enumerate(self.medians)]
        if window[0] is not None:
            self.decide(window)
        return took

    def decide(self, window):
        found, self.found = self.found, None
        measured = stages.Window([stages.StageSeconds(*one[:2]) for one in window],
                                 max(one[2] for one in window))
        if self.controller.add(measured, self.step, found):
            self.switches += 1
            for median in self.medians:
                median.begin_plan()
        elif self.controller.wants_search:
            self.controller.note_search()
            self.found = self.search(self.controller.costs())


class Adaptation(unittest.TestCase):
    def test_follows_a_rank_that_becomes_slow_and_recovers(self):
        for ranks, slow in ((2, 2.0), (3, 3.0), (2, 50.0)):
            with self.subTest(ranks=ranks, slow=slow):
                world = World(ranks, deviation=0.02)
                world.run(40)
                for factor in (slow, 1.0, slow, 1.0):
                    world.slowness[-1] = factor
                    took = world.run(60)
                    self.assertLess(max(took[20:]), 1.11, took)

    def test_follows_changes_at_random(self):
        for seed in range(10):
            chosen = random.Random(seed)
            world = World(2 + seed % 2, seed=seed, deviation=0.03)
            world.run(40)
            for phase in range(5):
                world.slowness = [1.0] * world.ranks
                world.slowness[chosen.randrange(world.ranks)] = chosen.choice([1.0, 2.0, 10.0])
                took = world.run(45)
                self.assertLess(max(took[20:]), 1.12, (seed, phase, world.slowness))

    def test_noise_alone_moves_nothing(self):
        world = World(3, seed=2, deviation=0.05)
        world.run(1000)
        self.assertEqual(0, world.switches)

    def test_nothing_is_searched_twice_at_the_same_speeds(self):
        world = World(2)
        world.run(100)
        self.assertFalse(world.controller.wants_search)

    def test_placement_that_does_not_gain_is_taken_back(self):
        world = World(2)
        world.run(20)
        fast = world.controller.plan
        world.slowness = [1.0, 2.0]
        # Steps do not become shorter, whatever the simulation says.
        controller = world.controller
        for step in range(20, 100, 5):
            measured = stages.Window([stages.StageSeconds(*world.measured(rank))
                                      for rank in range(2)], 50.0)
            controller.add(measured, step, world.search(controller.costs()))
            if controller.changes and not controller.changes[0].kept:
                break
        self.assertIn("steps were 1.00 times as fast", controller.changes[0].reason)
        self.assertEqual(fast, controller.plan)

    def test_one_rank_alone_where_no_division_gains(self):
        """Which it finds out in a step's time, and does not forget while nothing changes."""
        for deviation in (0.0, 0.03):
            with self.subTest(deviation):
                world = World(2, seed=3, deviation=deviation)
                world.unforeseen = 36.0  # a division is simulated with 26, one rank takes 48
                world.run(40)
                self.assertFalse(world.controller.plan.is_divided)
                self.assertTrue(world.controller.changes[-1].kept)
                took = world.run(1000)
                self.assertFalse(world.controller.plan.is_divided)
                # A division is tried again, ever less often.
                self.assertLessEqual(world.switches, 5)
                self.assertLess(sum(one > 2.2 for one in took), 20)

    def test_division_again_where_it_gains_again(self):
        """At once where the rank that has all becomes slow, else when it is tried again."""
        for slowness, steps in ((2.0, 60), (1.0, 400)):
            with self.subTest(slowness):
                world = World(2)
                world.unforeseen = 36.0
                world.run(40)
                self.assertFalse(world.controller.plan.is_divided)
                world.unforeseen = 0.0
                world.slowness = [slowness, 1.0]
                world.run(steps)
                self.assertTrue(world.controller.plan.is_divided)

    def test_one_rank_alone_waits_for_a_search_that_runs(self):
        world = World(2)
        world.unforeseen = 36.0
        add = world.controller.add
        world.controller.add = lambda *args: add(*args, searching=True)
        world.run(100)
        self.assertTrue(world.controller.plan.is_divided)
        world.controller.add = add
        world.run(40)
        self.assertFalse(world.controller.plan.is_divided)

    def test_given_placement_stays(self):
        world = World(2)
        controller = placements.PlacementController(
            world.graph, world.profile, [0] * len(world.seconds),
            Placement((0,) * len(world.seconds)), True)
        window = stages.Window([stages.StageSeconds(16.0, 32.0), stages.StageSeconds(1.0, 0.0)],
                               48.0)
        for step in (5, 10, 15, 20):
            self.assertFalse(controller.add(window, step, world.search(world.profile)))
        self.assertFalse(controller.wants_search)
        self.assertEqual([48.0, 48.0], [round(one, 6) for one in controller.whole_seconds()])


if __name__ == "__main__":
    unittest.main()
