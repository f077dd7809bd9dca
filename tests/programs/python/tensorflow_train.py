#!/usr/bin/env python3
"""Trains a small network with TensorFlow as its users write it; prints the losses in full.

tensorflow_train.py --steps N --how HOW --batch N
"""
import argparse
import multiprocessing
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

def network():
    return keras.Sequential([
        keras.layers.Input((32, 32, 3)), keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.MaxPooling2D(),
        keras.layers.Flatten(), keras.layers.Dense(10)])


def branches():
    image = keras.layers.Input((32, 32, 3))
    tops = []
    for kernel in (1, 3, 3, 5):
        branch = keras.layers.Conv2D(16, kernel, padding="same", activation="relu")(image)
        tops.append(keras.layers.Conv2D(16, 3, padding="same", activation="relu")(branch))
    pooled = keras.layers.GlobalAveragePooling2D()(keras.layers.concatenate(tops))
    return keras.Model(image, keras.layers.Dense(10)(pooled))


def batches(steps, batch):
    random = np.random.default_rng(1)
    return (random.random((steps * batch, 32, 32, 3), dtype="float32"),
            random.integers(0, 10, steps * batch))


LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train_by_fit(steps, batch):
    model = network()
    model.compile(optimizer="sgd", loss=LOSS)
    images, labels = batches(steps, batch)
    history = model.fit(images, labels, batch_size=batch, epochs=1, verbose=0, shuffle=False)
    return history.history["loss"]


def step_of(model):
    def step(image, label):
        with tf.GradientTape() as tape:
            loss = LOSS(label, model(image, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients):
            variable.assign_sub(0.01 * gradient)
        return loss
    return step


def each_batch(steps, batch, step):
    made = min(steps, 512)
    images, labels = batches(made, batch)
    return [float(step(tf.constant(images[i:i + batch]), tf.constant(labels[i:i + batch])))
            for i in ((number % made) * batch for number in range(steps))]


def train_by_hand(steps, batch):
    return each_batch(steps, batch, step_of(network()))


def train_function(steps, batch, model=network):
    return each_batch(steps, batch, tf.function(step_of(model())))


def train_branches(steps, batch):
    return train_function(steps, batch, branches)


def train_in_turns(steps, batch):
    """Two networks, each by a function of its own: a step is a call of both."""
    first, second = (tf.function(step_of(network())) for _ in range(2))
    return each_batch(steps, batch, lambda *data: first(*data) + second(*data))


def train_through_errors(steps, batch):
    """Every fifth step is given labels that one of its kernels refuses, in mid-step."""
    step, count = tf.function(step_of(branches())), iter(range(steps))

    def checked(image, label):
        if next(count) % 5 == 4:
            try:
                step(image, tf.constant([-7] + [1] * (batch - 1), label.dtype))
                raise SystemExit("a label of -7 was taken")
            except tf.errors.InvalidArgumentError:
                pass
        return step(image, label)
    return each_batch(steps, batch, checked)


def square(side):
    return float(np.ones((side, side)).dot(np.ones((side, side))).sum())


def train_beside_forks(steps, batch):
    """Children are forked between steps, and compute with NumPy."""
    step, count = tf.function(step_of(branches())), iter(range(steps))
    fork = multiprocessing.get_context("fork")

    def forked(image, label):
        if next(count) % 10 == 9:
            with fork.Pool(2) as pool:
                if pool.map(square, [64, 64]) != [64.0 ** 3] * 2:
                    raise SystemExit("a child computed something else")
        return step(image, label)
    return each_batch(steps, batch, forked)


def train_from_forking_dataset(steps, batch):
    """Its data come from a generator, which forks on TensorFlow's own thread in mid-step."""
    step, fork = tf.function(step_of(branches())), multiprocessing.get_context("fork")
    images, labels = batches(16, batch)

    def generate():
        for number in range(steps):
            if number % 20 == 19:
                with fork.Pool(2) as pool:
                    if pool.map(square, [64, 64]) != [64.0 ** 3] * 2:
                        raise SystemExit("a child computed something else")
            begin = number % 16 * batch
            yield images[begin:begin + batch], labels[begin:begin + batch]
    signature = (tf.TensorSpec((batch, 32, 32, 3)), tf.TensorSpec((batch,), tf.int64))
    data = tf.data.Dataset.from_generator(generate, output_signature=signature)
    data = data.map(lambda image, label: (image / 1.0, label), num_parallel_calls=2).prefetch(2)
    return [float(step(image, label)) for image, label in data]


def train_in_session(steps, batch):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        images = v1.placeholder(tf.float32, (batch, 3072))
        labels = v1.placeholder(tf.int64, (batch,))
        weights = v1.get_variable("w", (3072, 512), initializer=v1.ones_initializer(),
                                  use_resource=False)
        last = v1.get_variable("v", (512, 10), initializer=v1.ones_initializer())
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=tf.matmul(tf.matmul(images, weights * 1e-3), last)))
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
        session.run(v1.global_variables_initializer())
        data, targets = batches(steps, batch)
        data = data.reshape(-1, 3072)
        return [float(session.run([loss, train], {images: data[i:i + batch],
                                                  labels: targets[i:i + batch]})[0])
                for i in range(0, steps * batch, batch)]


HOW = {"fit": train_by_fit, "function": train_function, "eager": train_by_hand,
       "session": train_in_session, "branches": train_branches, "turns": train_in_turns,
       "errors": train_through_errors, "forks": train_beside_forks,
       "dataset": train_from_forking_dataset}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--how", default="fit", choices=HOW)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    losses = HOW[options.how](options.steps, options.batch)
    print("losses", " ".join(float(loss).hex() for loss in losses))


if __name__ == "__main__":
    main()
