#!/usr/bin/env python3
"""Runs small graphs that are made at random, each again and again; prints what each computes.

tensorflow_graphs.py --graphs N --first SEED --runs N --inter N

While loops within each other, conditions, functions that are called and not inlined, queues whose
reader and writer are in one step, Python functions. Of a graph's runs one fails in a Python
function, one is given up after a time, one is cancelled. The sessions have 1, 2, 4 and 16 inter-op
threads of their own in turn; every fifth graph is a function instead, with those of the process.
Inputs are constant: all runs of a graph have to give the same. The same seed makes the same graph.
"""
import argparse
import os
import random
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.eager import cancellation  # noqa: E402

v1 = tf.compat.v1
INTER = (1, 2, 4, 16)
SIDES = (32, 96, 160)
TOLERANCE = 1e-3
GIVEN_UP_AFTER = 0.03  # seconds


class Graph:
    """One that is made at random, in whatever graph is the default one."""

    def __init__(self, seed):
        self.choose = random.Random(seed)
        self.side = self.choose.choice(SIDES)
        self.fails = self.is_python_called = False
        self.queues = []  # which live as long as these
        values = np.random.default_rng(seed).standard_normal((3, self.side, self.side))
        self.values = [tf.constant(one.astype("float32")) for one in values]
        for _ in range(self.choose.randint(4, 14)):
            self.values.append(self.operation(2))
        self.result = tf.add_n([tf.reduce_mean(one) for one in self.values[-6:]])

    def blocked(self):
        """Waits until the run is given up."""
        self.queues.append(tf.queue.FIFOQueue(1, [tf.float32], [()]))
        with tf.control_dependencies([self.values[-1]]):
            return self.queues[-1].dequeue() + self.result

    def one(self):
        return self.choose.choice(self.values[-5:])

    def operation(self, depth):
        kinds = [self.product, self.product, self.pointwise, self.rows, self.queued, self.python]
        if depth > 0:
            kinds += [self.loop, self.loop, self.condition, self.function]
        return self.choose.choice(kinds)(depth)

    def chain(self, depth):
        """Some operations, made anew out of a tensor wherever they are called."""
        kinds = [self.choose.choice(("product", "tanh", "softmax", "loop" if depth else "tanh"))
                 for _ in range(self.choose.randint(1, 3))]
        parallel = self.choose.choice((1, 2, 10))
        inner = self.chain(depth - 1) if "loop" in kinds else None
        weights = self.one()

        def compute(x):
            for kind in kinds:
                if kind == "product":
                    x = tf.tanh(tf.matmul(x, weights) / self.side)
                elif kind == "loop":
                    x = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, inner(y)), (0, x),
                                      parallel_iterations=parallel)[1]
                else:
                    x = tf.tanh(x) if kind == "tanh" else tf.nn.softmax(x)
            return x
        return compute

    def product(self, _):
        return tf.tanh(tf.matmul(self.one(), self.one(), transpose_b=True) / self.side)

    def pointwise(self, _):
        return tf.nn.relu(self.one()) - 0.5 * tf.sigmoid(self.one())

    def rows(self, _):
        x = self.one()
        return x - tf.reduce_mean(x, axis=self.choose.choice((0, 1)), keepdims=True)

    def loop(self, depth):
        body, times = self.chain(depth - 1), self.choose.randint(2, 6)
        return tf.while_loop(lambda i, _: i < times, lambda i, x: (i + 1, body(x)),
                             (0, self.one()), parallel_iterations=self.choose.choice((1, 4)))[1]

    def condition(self, depth):
        x, one, other = self.one(), self.chain(depth - 1), self.chain(depth - 1)
        return tf.cond(tf.reduce_mean(x) > 0, lambda: one(x), lambda: other(x))

    def function(self, depth):
        x, body = self.one(), self.chain(depth - 1)
        attributes = {"_noinline": True} if self.choose.random() < 0.5 else None
        return tf.function(lambda: tf.identity(body(x)), experimental_attributes=attributes)()

    def queued(self, _):
        """Its reader waits in the same step for its writer."""
        x = self.one()
        self.queues.append(tf.queue.FIFOQueue(1000, [tf.float32], [(self.side, self.side)]))
        written = self.queues[-1].enqueue(x)
        read = self.queues[-1].dequeue()
        if written is None:  # in a function, where they are in the order of the program
            return read
        with tf.control_dependencies([written]):
            return read + tf.zeros((self.side, self.side))

    def python(self, _):
        def halved(x):
            self.is_python_called = True
            if self.fails:
                raise ValueError("as this run was told to")
            return 0.5 * x
        x = tf.numpy_function(halved, [self.one()], tf.float32)
        return tf.ensure_shape(x, (self.side, self.side))


def expect(errors, call):
    try:
        call()
    except errors:
        return
    raise SystemExit("a run that cannot end well ended well")


def all_runs(graph, runs, once, blocked):
    """What the first run gave; the others have to be like it."""
    first = once()
    for number in range(1, runs):
        if number % 7 == 3 and graph.is_python_called:
            graph.fails = True
            expect(tf.errors.OpError, once)
            graph.fails = False
        elif number % 11 == 5:
            expect((tf.errors.DeadlineExceededError, tf.errors.CancelledError), blocked)
        elif not np.allclose(once(), first, rtol=TOLERANCE, atol=TOLERANCE):
            raise SystemExit(f"run {number} gave something else than {first}")
    return float(first)


def run_in_session(seed, runs, inter):
    with tf.Graph().as_default():
        graph = Graph(seed)
        config = v1.ConfigProto(inter_op_parallelism_threads=inter, use_per_session_threads=True)
        limit = v1.RunOptions(timeout_in_ms=int(GIVEN_UP_AFTER * 1e3))
        fetched, blocked = [graph.result, graph.values[-1]], graph.blocked()
        with v1.Session(config=config) as session:
            return all_runs(graph, runs, lambda: session.run(fetched)[0],
                            lambda: session.run(blocked, options=limit))


def run_as_function(seed, runs):
    kept = []

    def body():
        kept.append(Graph(seed))
        return kept[-1].result

    def waiting():
        kept.append(Graph(seed))
        return kept[-1].blocked()
    once = tf.function(body).get_concrete_function()
    cancelled = tf.function(waiting).get_concrete_function()

    def blocked():
        manager = cancellation.CancellationManager()
        timer = threading.Timer(GIVEN_UP_AFTER, manager.start_cancel)
        timer.start()
        try:
            manager.get_cancelable_function(cancelled)()
        finally:
            timer.join()
    return all_runs(kept[0], runs, lambda: once().numpy(), blocked)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--inter", type=int, default=0, help="threads of the process")
    options = parser.parse_args()
    tf.config.threading.set_inter_op_parallelism_threads(options.inter)
    for seed in range(options.first, options.first + options.graphs):
        if seed % 5 == 0:
            given = run_as_function(seed, options.runs)
        else:
            given = run_in_session(seed, options.runs, INTER[seed % len(INTER)])
        print(f"model {seed} losses {given.hex()}", flush=True)


if __name__ == "__main__":
    main()
