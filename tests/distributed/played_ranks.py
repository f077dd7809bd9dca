"""Ranks whose steps are played: they have speeds, which may change, and noise. What decides is
optile.distributed's own code, that of all ranks at once, since all of them decide alike."""
import math
import random

from parts import changes, shares, stages

FORWARD = 1 / 3  # of the seconds of a step
DISTURBED = 0.01  # of the passes: something else ran
MOST_DISTURBED = 3.0  # times as long


class Noise:
    def __init__(self, seed, deviation, disturbed):
        self._source = random.Random(seed)
        self._deviation = deviation
        self._disturbed = disturbed

    def __call__(self):
        factor = math.exp(self._source.gauss(0, self._deviation))
        if self._source.random() < self._disturbed:
            factor *= self._source.uniform(1, MOST_DISTURBED)
        return factor


class PlayedRanks:
    """`slowness`: how many times as long each rank takes; may be changed between steps."""

    def __init__(self, ranks, seed, deviation, disturbed=DISTURBED):
        self.slowness = [1.0] * ranks
        self.steps = 0
        self.switches = 0
        self.noise = Noise(seed, deviation, disturbed)
        self._windows = [changes.WindowMedians() for _ in range(ranks)]

    def run(self, steps):
        """Returns what each step would have taken without noise, beside the best plan's."""
        return [self._step() for _ in range(steps)]

    def _step(self):
        lost = self.seconds(self.slowness) / self.best_seconds()
        self.steps += 1
        medians = [window.add(numbers) for window, numbers in
                   zip(self._windows, self.measured())]
        if medians[0] is not None and self.decide(medians):
            self.switches += 1
            for window in self._windows:
                window.begin_plan()
        return lost


class PlayedShares(PlayedRanks):
    ROWS = 16  # a rank
    OTHERWISE = 0.1  # of a step among equals: what no share changes

    def __init__(self, ranks, seed, deviation, disturbed=DISTURBED):
        super().__init__(ranks, seed, deviation, disturbed)
        self.controller = shares.ShareController(ranks)
        self._batch = self.ROWS * ranks

    def _longest(self, rows, slowness):
        return max(count * slow for count, slow in zip(rows, slowness)) / self.ROWS

    def _rows(self):
        return shares.divide(self.controller.shares, self._batch)

    def seconds(self, slowness):
        return self._longest(self._rows(), slowness) + self.OTHERWISE

    def best_seconds(self):
        best = shares.divide([1 / slow for slow in self.slowness], self._batch)
        return self._longest(best, self.slowness) + self.OTHERWISE

    def measured(self):
        rows = self._rows()
        forward = [slow * self.noise() for slow in self.slowness]
        backward = [slow * self.noise() for slow in self.slowness]
        whole = [one * FORWARD + other * (1 - FORWARD) for one, other in zip(forward, backward)]
        step = self._longest(rows, whole) + self.OTHERWISE
        return [(one * FORWARD / self.ROWS, step) for one in forward]

    def decide(self, medians):
        window = shares.Window(self._rows(), [one for one, _ in medians],
                               max(step for _, step in medians))
        return self.controller.add(window, self.steps)


class PlayedStages(PlayedRanks):
    LAYERS = 8  # a rank

    def __init__(self, ranks, seed, deviation, schedule="1f1b"):
        super().__init__(ranks, seed, deviation)
        source = random.Random(seed)
        layers = [source.uniform(0.5, 1.5) for _ in range(self.LAYERS * ranks)]
        self._profile = stages.Profile([layers] * ranks, [[2 * one for one in layers]] * ranks,
                                       [[0.0] * len(layers)] * ranks)
        self._schedule, self._count = schedule, 4 * ranks
        self._elements = [0] * len(layers)
        self.controller = stages.StageController(schedule, {self._count: self._profile},
                                                 self._elements)
        self._best = {}

    def _costs(self, slowness):
        speeds = [stages.Speed(one, one) for one in slowness]
        return stages.Costs(self._profile, self._elements, speeds)

    def _simulated(self, slowness):
        found = self._costs(slowness).stages(self.controller.plan.boundaries)
        return stages.simulate(self._schedule, self._count, found)

    def seconds(self, slowness):
        return self._simulated(slowness)

    def best_seconds(self):
        key = tuple(self.slowness)
        if key not in self._best:
            costs = self._costs(self.slowness)
            self._best[key] = stages.best_boundaries(costs, self._schedule, self._count)[1]
        return self._best[key]

    def measured(self):
        noisy = [slow * self.noise() for slow in self.slowness]
        step = self._simulated(noisy)
        found = self._costs(noisy).stages(self.controller.plan.boundaries)
        return [(one.forward, one.backward, step) for one in found]

    def decide(self, medians):
        found = [stages.StageSeconds(forward, backward) for forward, backward, _ in medians]
        return self.controller.add(stages.Window(found, medians[0][2]), self.steps)
