#!/usr/bin/env python3
"""Trains Keras models that are made at random, one after the other; prints each one's losses.

tensorflow_generated.py --models N --first SEED --steps N

Branches of different depth, recurrent layers with while loops, attention, conditions, and a queue
beside them; the same seed makes the same model and data.
"""
import argparse
import os
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

BATCH, WORDS, WIDTH = 8, 12, 24


class Halved(keras.layers.Layer):
    """A condition in the graph."""

    def call(self, x):
        return tf.cond(tf.reduce_mean(x) > 0.0, lambda: x * 0.5, lambda: tf.nn.relu(x) + x)


def convolved(x, choose):
    image = keras.layers.Reshape((WORDS, WIDTH, 1))(x)
    for _ in range(choose.randint(1, 3)):
        image = keras.layers.Conv2D(choose.choice([4, 16, 32]), choose.choice([1, 3, 5]),
                                    padding="same", activation="relu")(image)
    return keras.layers.Dense(WIDTH)(keras.layers.Reshape((WORDS, -1))(image))


def recurrent(x, choose):
    layer = choose.choice([keras.layers.LSTM, keras.layers.GRU])
    return layer(WIDTH, return_sequences=True, use_cudnn=False)(x)


def attended(x, choose):
    return keras.layers.MultiHeadAttention(choose.choice([1, 2, 4]), WIDTH)(x, x)


def dense(x, choose):
    return keras.layers.Dense(WIDTH, activation="tanh")(
        keras.layers.Dense(choose.choice([64, 256, 512]), activation="gelu")(x))


def normalised(x, choose):
    layer = choose.choice([keras.layers.BatchNormalization, keras.layers.LayerNormalization])
    return layer()(x)


def halved(x, choose):
    del choose
    return Halved()(x)


PARTS = (convolved, recurrent, attended, dense, dense, normalised, halved)


def branch(x, choose, depth):
    for _ in range(choose.randint(1, 3)):
        if depth > 0 and choose.random() < 0.3:
            tops = [branch(x, choose, depth - 1) for _ in range(choose.randint(2, 4))]
            x = keras.layers.add(tops)
        else:
            x = choose.choice(PARTS)(x, choose)
    return x


def model_of(choose):
    inputs = keras.layers.Input((WORDS, WIDTH), BATCH)
    tops = [branch(inputs, choose, 1) for _ in range(choose.randint(1, 4))]
    top = keras.layers.add(tops) if len(tops) > 1 else tops[0]
    return keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(top)))


def train(seed, steps):
    keras.utils.set_random_seed(seed)
    model = model_of(random.Random(seed))
    data = tf.random.normal((BATCH, WORDS, WIDTH), seed=seed)
    target = tf.random.normal((BATCH, 1), seed=seed)
    queue = tf.queue.FIFOQueue(4, [tf.float32], [(BATCH, WORDS, WIDTH)])

    @tf.function
    def step():
        queue.enqueue(data)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(queue.dequeue(), training=True) - target) ** 2)
        variables = model.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            if gradient is not None:
                variable.assign_sub(1e-3 * tf.clip_by_norm(gradient, 1.0))
        return loss
    return [float(step()) for _ in range(steps)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--inter", type=int, default=0)
    options = parser.parse_args()
    tf.config.threading.set_inter_op_parallelism_threads(options.inter)
    for seed in range(options.first, options.first + options.models):
        losses = train(seed, options.steps)
        print(f"model {seed} losses", *(loss.hex() for loss in losses), flush=True)
        keras.backend.clear_session()


if __name__ == "__main__":
    main()
