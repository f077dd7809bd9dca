"""What a step takes where ranks share cores (bindings/python/optile/distributed/shared_cores.py),
beside played ranks on cores that are given to one of them at a time."""
import collections
import random
import unittest

from parts import shared_cores, stages, step_units

Need, RankCores, SharedCores, Task = (shared_cores.Need, shared_cores.RankCores,
                                      shared_cores.SharedCores, shared_cores.Task)
StageSeconds = stages.StageSeconds
TURN = 0.05  # seconds that a played core stays with a rank


def ranks_on(*cores, threads=1):
    """A rank for each of these tuples, on one host."""
    return SharedCores([RankCores("one", one, threads) for one in cores])


class PlayedCores:
    """Ranks with a core each, which those that want it have in turn."""

    def __init__(self, tasks, core_of):
        self.tasks, self.core_of = tasks, core_of
        self.ends = [[] for _ in tasks]
        self.left = [None] * len(tasks)
        self.now = 0.0

    def wants(self, rank):
        if len(self.ends[rank]) == len(self.tasks[rank]):
            return False
        if self.left[rank] is None:
            task = self.tasks[rank][len(self.ends[rank])]
            for need in task.needs:
                if len(self.ends[need.rank]) <= need.task:
                    return False
                if self.ends[need.rank][need.task] + need.seconds > self.now:
                    return False
            self.left[rank] = task.seconds
        return True

    def run(self):
        turns = collections.deque(range(len(self.tasks)))
        while any(len(ends) < len(tasks) for ends, tasks in zip(self.ends, self.tasks)):
            running = {}
            for rank in turns:
                if self.wants(rank):
                    running.setdefault(self.core_of[rank], rank)
            for rank in running.values():
                turns.remove(rank)
                turns.append(rank)
            self.now += TURN
            for rank in running.values():
                self.left[rank] -= TURN
                if self.left[rank] <= 1e-9:
                    self.left[rank] = None
                    self.ends[rank].append(self.now)
        return self.now


class Rates(unittest.TestCase):
    def test_a_core_is_divided_equally_between_ranks_that_compute(self):
        cores = ranks_on((0,), (0,), (1,))
        self.assertEqual([0.5, 0.5, 1.0], cores.rates_together)
        self.assertEqual([1.0, 0.0, 1.0], cores.rates(frozenset((0, 2))))
        self.assertEqual([True, True, False], [cores.shares(rank) for rank in range(3)])

    def test_threads_of_ranks_that_are_not_bound(self):
        both = (0, 1)
        self.assertFalse(ranks_on(both, both).any)
        self.assertEqual([0.5] * 4, ranks_on(both, both, both, both).rates_together)
        self.assertEqual([0.5] * 2, ranks_on(both, both, threads=2).rates_together)
        self.assertEqual([0.5, 0.75], ranks_on((0,), both, threads=2).rates_together)

    def test_hosts_and_clocks_that_are_given_have_cores_of_their_own(self):
        apart = SharedCores([RankCores("one", (0,), 1), RankCores("other", (0,), 1)])
        self.assertFalse(apart.any)
        self.assertFalse(ranks_on((0,), (0,), threads=0).any)

    def test_a_place_is_as_fast_as_in_the_slowest_replica(self):
        cores = ranks_on((0,), (1,), (1,), (2,))
        self.assertEqual([0.5, 0.5], shared_cores.rates_by_place(cores, 2))
        cores = ranks_on((0,), (1,), (2,), (1,))
        self.assertEqual([1.0, 0.5], shared_cores.rates_by_place(cores, 2))


class Tasks(unittest.TestCase):
    def test_by_hand(self):
        # Both on one core until 2; the second rank alone until 4; a message until 5, and 1 more.
        tasks = [[Task(1.0), Task(1.0, (Need(1, 0, 1.0),))], [Task(3.0)]]
        ends = shared_cores.run_tasks(tasks, ranks_on((0,), (0,)))
        self.assertEqual([[2.0, 6.0], [4.0]], ends)

    def test_one_core_does_all_work_one_after_the_other(self):
        source = random.Random(1)
        for _ in range(50):
            ranks = source.randint(1, 5)
            tasks = [[Task(source.random()) for _ in range(source.randint(1, 6))]
                     for _ in range(ranks)]
            ends = shared_cores.run_tasks(tasks, ranks_on(*[(0,)] * ranks))
            self.assertAlmostEqual(sum(task.seconds for one in tasks for task in one),
                                   max(one[-1] for one in ends))

    def test_replicas_wait_for_their_own_ranks(self):
        one = [[Task(1.0)], [Task(2.0, (Need(0, 0, 0.5),))]]
        both = shared_cores.repeated(one, 2)
        self.assertEqual(one, both[:2])
        self.assertEqual([[Task(1.0)], [Task(2.0, (Need(2, 0, 0.5),))]], both[2:])

    def test_messages_alone_count_for_what_the_passes_took_beyond_computing(self):
        self.assertEqual((3.0, 6.0), shared_cores.with_messages(9.0, 2.0, 4.0))
        self.assertEqual((2.0, 4.0), shared_cores.with_messages(5.0, 2.0, 4.0))
        self.assertEqual((0.0, 0.0), shared_cores.with_messages(5.0, 0.0, 0.0))


class Pipelines(unittest.TestCase):
    def stages(self, source, ranks):
        return [StageSeconds(source.uniform(1, 3), source.uniform(2, 6), source.random())
                for _ in range(ranks)]

    def test_with_cores_of_their_own_steps_are_as_without_a_word_of_cores(self):
        source = random.Random(2)
        for _ in range(100):
            ranks, count = source.randint(1, 5), source.randint(5, 9)
            found = self.stages(source, ranks)
            own = ranks_on(*[(rank,) for rank in range(ranks)])
            for schedule in stages.SCHEDULES:
                self.assertAlmostEqual(stages.simulate(schedule, count, found),
                                       stages.simulate(schedule, count, found, own))

    def test_steps_are_those_of_played_cores(self):
        """Two cores: a pipeline of four ranks, and two replicas of two."""
        source = random.Random(3)
        for ranks, count in ((4, 4), (4, 8), (2, 2), (2, 4)):
            for _ in range(10):
                found = self.stages(source, ranks)
                core_of = [rank % 2 for rank in range(4)]
                tasks = shared_cores.repeated(stages.step_tasks("1f1b", count, found), 4 // ranks)
                played = PlayedCores(tasks, core_of).run()
                cores = ranks_on(*[(core,) for core in core_of])
                predicted = stages.simulate("1f1b", count, found, cores)
                with self.subTest(ranks=ranks, count=count, played=played):
                    self.assertLess(0.9, predicted / played)
                    self.assertLess(predicted / played, 1.1)
                    self.assertLess(stages.simulate("1f1b", count, found) / played, 0.8)

    def test_a_rank_with_a_core_of_its_own_has_more_layers(self):
        layers, count = [1.0] * 12, 8
        one = stages.Profile([layers] * 3, [layers] * 3, [[0.0] * 12] * 3)
        for cores, expected in ((None, (4, 4, 4)), (ranks_on((0,), (0,), (1,)), (3, 3, 6))):
            controller = stages.StageController("gpipe", {count: one}, [0] * 12, cores=cores)
            own = [len(controller.plan.layers_of(rank, 12)) for rank in range(3)]
            self.assertEqual(expected, tuple(own))

    def test_what_messages_take_from_a_shared_core_is_in_its_speed(self):
        one = stages.Profile([[1.0] * 4] * 2, [[2.0] * 4] * 2, [[0.5] * 4] * 2)
        shared = stages.StageController("gpipe", {4: one}, [0] * 4, (2,), ranks_on((0,), (0,)))
        # What is expected of both: twice 1 or 2, and a message for the second forward, the first
        # backward. It took twice as long.
        window = stages.Window([StageSeconds(4.0, 9.0), StageSeconds(5.0, 8.0)], 100.0)
        shared.add(window, 5)
        self.assertAlmostEqual(4 * (4.0 + 9.0 + 5.0 + 8.0), shared.predicted_seconds)


class Placements(unittest.TestCase):
    GRAPH = step_units.UnitGraph(["a", "b", "c", "d"], [
        step_units.Value("a", 0, (1, 2), 8, True), step_units.Value("b", 1, (3,), 4, True),
        step_units.Value("c", 2, (3,), 4, True)])

    def costs(self, cores, link=0.5):
        forward = [[1.0, 2.0, 3.0, 1.0]] * 2
        backward = [[2.0, 4.0, 6.0, 2.0]] * 2
        return step_units.UnitCosts(forward, backward, step_units.Link(link), [[0.25] * 4] * 2,
                                    cores)

    def seconds(self, cores, owners, link=0.5):
        return step_units.simulate(self.GRAPH, self.costs(cores, link), owners).seconds

    def test_with_cores_of_their_own_steps_are_as_without_a_word_of_cores(self):
        own = ranks_on((0,), (1,))
        for number in range(16):
            owners = [number >> unit & 1 for unit in range(4)]
            self.assertAlmostEqual(self.seconds(None, owners), self.seconds(own, owners))

    def test_dividing_between_ranks_of_one_core_gains_nothing(self):
        shared, own = ranks_on((0,), (0,)), ranks_on((0,), (1,))
        for owners in ([0, 0, 1, 0], [0, 1, 0, 0]):
            self.assertLess(self.seconds(own, owners), 22.0)
            self.assertAlmostEqual(22.0, self.seconds(shared, owners, link=0.0))
        # The other branch of this one is too short to hide its messages behind.
        self.assertLess(22.0, self.seconds(shared, [0, 0, 1, 0]))

    def test_the_command_is_told_what_units_take_while_all_compute(self):
        files = [step_units.place_file(self.GRAPH, self.costs(cores), ["x", "y"])
                 for cores in (None, ranks_on((0,), (0,)))]
        alone, shared = ([one["accelerator_ms"] for one in file["nodes"]] for file in files)
        self.assertEqual([2 * one for one in alone], shared)


if __name__ == "__main__":
    unittest.main()
