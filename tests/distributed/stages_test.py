"""Which layers the stages of a pipeline have (bindings/python/optile/distributed/stages.py)."""
import itertools
import random
import unittest

from parts import changes, stages

Plan, Speed, StageSeconds = stages.Plan, stages.Speed, stages.StageSeconds


def profile(layers, ranks, backward=2.0, transfer=0.0):
    """Ranks that are alike; a backward pass takes so many times the forward pass."""
    return stages.Profile([layers] * ranks, [[one * backward for one in layers]] * ranks,
                          [[transfer] * len(layers)] * ranks)


class World:
    """Ranks as they are, of which a controller sees measurements only."""

    def __init__(self, layers, ranks, micro_batches=8, schedule="1f1b", seed=1):
        self.schedule = schedule
        self.elements = [0] * len(layers)
        self.profile = profile(layers, ranks)
        self.slowness = [1.0] * ranks
        self.source = random.Random(seed)
        self.noise = 0.0
        self.controller = stages.StageController(schedule, {micro_batches: self.profile},
                                                 self.elements)

    def stages(self):
        exact = stages.Costs(self.profile, self.elements,
                             [Speed(one, one) for one in self.slowness])
        return [StageSeconds(one.forward * self.disturbed(), one.backward * self.disturbed())
                for one in exact.stages(self.controller.plan.boundaries)]

    def disturbed(self):
        return 1 + self.noise * self.source.random()

    def step_seconds(self, found):
        count = self.controller.plan.micro_batches
        return stages.simulate(self.schedule, count, found) * self.disturbed()

    def window(self, step=0):
        found = self.stages()
        return self.controller.add(stages.Window(found, self.step_seconds(found)), step)


class Profiles(unittest.TestCase):
    def test_slowest_rank_tells_the_level_and_all_of_them_how_layers_compare(self):
        # Each rank was disturbed in another layer: the second one took longest in all.
        found = stages.slowest_profile([[4.0, 1.0, 1.0], [2.0, 1.0, 6.0]])
        self.assertAlmostEqual(9.0, sum(found))
        self.assertAlmostEqual(3.0, found[0] / found[1])
        self.assertEqual([0.0, 0.0], stages.slowest_profile([[0.0, 0.0]] * 2))


class Simulation(unittest.TestCase):
    def test_gpipe_by_hand(self):
        # Forward 0-1 1-2, 1-4 4-7; backward 7-11 11-15, 11-13 15-17.
        both = [StageSeconds(1, 2), StageSeconds(3, 4)]
        self.assertEqual(17, stages.simulate("gpipe", 2, both))

    def test_gpipe_is_what_its_formula_says(self):
        source = random.Random(3)
        for _ in range(200):
            found = [StageSeconds(source.randint(1, 9), source.randint(1, 9))
                     for _ in range(source.randint(1, 5))]
            count = source.randint(1, 8)
            longest = max(one.forward for one in found) + max(one.backward for one in found)
            through = sum(one.forward + one.backward for one in found)
            self.assertEqual(through + (count - 1) * longest,
                             stages.simulate("gpipe", count, found))

    def test_1f1b_by_hand(self):
        # First: F 0-1 1-2, B 4-6, F 6-7, B 7-9 10-12. Second: F 1-2, B 2-4, F 4-5, B 5-7, F 7-8,
        # B 8-10.
        self.assertEqual(12, stages.simulate("1f1b", 3, [StageSeconds(1, 2)] * 2))
        # First: F 0-2 2-4, B 4-7 7-10. Second: F 2-3, B 3-4, F 4-5, B 5-6.
        self.assertEqual(10, stages.simulate("1f1b", 2, [StageSeconds(2, 3), StageSeconds(1, 1)]))

    def test_ends_with_last_update(self):
        both = [StageSeconds(2, 3, 1), StageSeconds(1, 1, 9)]
        self.assertEqual(15, stages.simulate("1f1b", 2, both))

    def test_orders_passes(self):
        self.assertEqual([True, True, False, True, False, False],
                         stages.passes("1f1b", 0, 2, 3))
        self.assertEqual([True, False] * 3, stages.passes("1f1b", 1, 2, 3))
        self.assertEqual([True] * 3 + [False] * 3, stages.passes("gpipe", 1, 2, 3))


class Boundaries(unittest.TestCase):
    def costs(self, source, ranks, layers):
        def random_times():
            return [[source.randint(0, 9) for _ in range(layers)] for _ in range(ranks)]
        times = stages.Profile(random_times(), random_times(), random_times())
        speeds = [Speed(source.randint(1, 3), source.randint(1, 3), source.randint(0, 2))
                  for _ in range(ranks)]
        return stages.Costs(times, [source.randint(0, 5) for _ in range(layers)], speeds)

    def test_are_those_that_trying_all_finds(self):
        source = random.Random(4)
        for schedule, number in itertools.product(stages.SCHEDULES, range(150)):
            ranks = source.randint(1, 4)
            layers = source.randint(ranks, 8)
            costs = self.costs(source, ranks, layers)
            count = source.randint(ranks, 6)
            best = min(stages.simulate(schedule, count, costs.stages(boundaries))
                       for boundaries in itertools.combinations(range(1, layers), ranks - 1))
            found, seconds = stages.best_boundaries(costs, schedule, count)
            self.assertEqual(best, seconds, (schedule, number))
            self.assertEqual(best, stages.simulate(schedule, count, costs.stages(found)))

    def test_give_slow_rank_fewer_layers(self):
        slow = stages.Costs(profile([1] * 9, 2), [0] * 9, [Speed(1, 1), Speed(2, 2)])
        self.assertEqual(((6,), stages.simulate("1f1b", 8, [StageSeconds(6, 12)] * 2)),
                         stages.best_boundaries(slow, "1f1b", 8))

    def test_are_where_little_is_passed(self):
        times = profile([1] * 6, 2)
        passed = stages.Profile(times.forward, times.backward, [[9, 9, 0, 9, 9, 9]] * 2)
        costs = stages.Costs(passed, [0] * 6, [Speed()] * 2)
        self.assertEqual((2,), stages.best_boundaries(costs, "1f1b", 4)[0])

    def test_of_many_layers_are_found_in_bounded_time(self):
        source = random.Random(5)
        times = profile([source.random() for _ in range(60)], 8)
        costs = stages.Costs(times, [0] * 60, [Speed(source.random() + 0.5)] * 8)
        found, seconds = stages.best_boundaries(costs, "1f1b", 16)
        equal = stages.simulate("1f1b", 16, costs.stages([60 * one // 8 for one in range(1, 8)]))
        self.assertEqual(7, len(found))
        self.assertLess(seconds, equal)

    def test_reject_fewer_layers_than_ranks(self):
        costs = stages.Costs(profile([1, 1], 3), [0, 0], [Speed()] * 3)
        with self.assertRaisesRegex(ValueError, "2 layers are no pipeline of 3 ranks"):
            stages.best_boundaries(costs, "1f1b", 4)


class MicroBatches(unittest.TestCase):
    def test_divide_the_batch(self):
        self.assertEqual([2, 4, 8, 16], stages.micro_batch_counts(32, 2))
        self.assertEqual([3], stages.micro_batch_counts(3, 3))
        self.assertLessEqual(len(stages.micro_batch_counts(720, 4)), 5)
        for count in stages.micro_batch_counts(720, 4):
            self.assertEqual(0, 720 % count)

    def test_reject_batch_that_cannot_be_divided(self):
        with self.assertRaisesRegex(ValueError, "a batch of 37 rows has no divisor from 2 to 16"):
            stages.micro_batch_counts(37, 2)

    def chosen(self, fixed):
        """Of 32 rows, where each pass of a layer takes so long beside its rows."""
        profiles = {count: profile([32 / count + fixed] * 4, 2) for count in (2, 4, 8, 16)}
        return stages.StageController("1f1b", profiles, [0] * 4).plan

    def test_are_many_where_they_cost_nothing(self):
        self.assertEqual(Plan((2,), 16), self.chosen(0))

    def test_are_few_where_each_costs(self):
        self.assertEqual(Plan((2,), 2), self.chosen(100))


class WarmUp(unittest.TestCase):
    def test_keeps_shape_of_quick_rounds_and_level_of_all(self):
        self.assertEqual([2, 4], stages.profile_of([[1, 2], [4, 2], [1, 8]]))

    def test_allows_layers_that_take_no_time(self):
        self.assertEqual([0, 0], stages.profile_of([[0, 0]]))


class Controller(unittest.TestCase):
    def test_does_not_flap(self):
        world = World([1.0] * 12, 3)
        world.noise = 0.1
        for step in range(1000):
            self.assertFalse(world.window(step))
        self.assertEqual((4, 8), world.controller.plan.boundaries)

    def test_changes_once_for_rank_that_stays_slow(self):
        world = World([1.0] * 12, 3)
        world.noise = 0.1
        world.slowness[1] = 2.0
        for step in range(1000):
            world.window(step)
        self.assertEqual((5, 7), world.controller.plan.boundaries)
        change, = world.controller.changes
        self.assertTrue(change.kept)

    def test_comes_back_after_slow_down(self):
        world = World([1.0] * 12, 2)
        for slowness in (2.0, 2.0, 2.0, 1.0, 1.0, 1.0):
            world.slowness[1] = slowness
            world.window()
        self.assertEqual((6,), world.controller.plan.boundaries)
        slower, back = world.controller.changes
        self.assertEqual((8,), slower.after.boundaries)
        self.assertAlmostEqual(slower.predicted, slower.measured)
        self.assertTrue(back.kept)

    def test_predicts_what_is_measured(self):
        world = World([1.0, 2.0, 3.0, 4.0], 2)
        world.slowness[0] = 1.5
        for _ in range(3):
            world.window()
        self.assertEqual(1, len(world.controller.changes))
        self.assertAlmostEqual(world.controller.measured_seconds,
                               world.controller.predicted_seconds)

    def test_takes_back_change_without_gain(self):
        world = World([1.0] * 12, 2)
        before = world.controller.plan
        world.slowness[1] = 2.0
        found = world.stages()
        seconds = world.step_seconds(found)
        self.assertFalse(world.controller.add(stages.Window(found, seconds), 7))
        self.assertTrue(world.controller.add(stages.Window(found, seconds), 12))
        for step in range(changes.Thresholds().windows - 1):
            self.assertFalse(world.controller.add(stages.Window(world.stages(), seconds), step))
        self.assertTrue(world.controller.add(stages.Window(world.stages(), seconds), 40))
        self.assertEqual(before, world.controller.plan)
        change, = world.controller.changes
        self.assertFalse(change.kept)
        self.assertIn("1.00 times as fast and not 1.", change.reason)
        for step in range(changes.Thresholds().pause):
            self.assertFalse(world.window(step))
        self.assertTrue(world.window())

    def test_expects_nothing_of_time_that_no_plan_shortens(self):
        world = World([1.0] * 12, 2)
        world.slowness[1] = 1.5
        found = world.stages()
        self.assertFalse(world.controller.add(stages.Window(found, 10_000), 10))

    def test_keeps_given_boundaries(self):
        times = profile([1.0] * 12, 2)
        fixed = stages.StageController("gpipe", {4: times}, [0] * 12, [3])
        found = [StageSeconds(3, 6), StageSeconds(90, 180)]
        self.assertFalse(fixed.add(stages.Window(found, 2000), 10))
        self.assertEqual(Plan((3,), 4), fixed.plan)
        self.assertEqual(stages.simulate("gpipe", 4, found), fixed.predicted_seconds)


class Windows(unittest.TestCase):
    def test_leave_first_steps_of_a_plan_out(self):
        medians = changes.WindowMedians()
        for number in (100, 100, 1, 2, 4, 9):
            self.assertIsNone(medians.add((number, 0)))
        self.assertEqual([4, 0], medians.add((5, 0)))
        for number in (1, 2, 3, 4):
            self.assertIsNone(medians.add((number, 0)))
        medians.begin_plan()
        for number in (100, 100, 1, 2, 3, 4):
            self.assertIsNone(medians.add((number, 0)))
        self.assertEqual([3, 0], medians.add((5, 0)))

    def test_tell_of_one_speed_or_of_the_other(self):
        for slow_steps in range(6):
            medians = changes.WindowMedians()
            for number in (0, 0, *[1] * (5 - slow_steps), *[2] * slow_steps):
                window = medians.add((number,))
            self.assertEqual([1 if slow_steps < 3 else 2], window)


if __name__ == "__main__":
    unittest.main()
