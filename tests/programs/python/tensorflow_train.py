#!/usr/bin/env python3
"""Trains a small network with TensorFlow as its users write it; prints the losses in full.

tensorflow_train.py --steps N --how fit|function|eager|session|branches --batch N
"""
import argparse
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


def train_by_hand(model, steps, batch, compiled):
    images, labels = batches(steps, batch)

    def step(image, label):
        with tf.GradientTape() as tape:
            loss = LOSS(label, model(image, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients):
            variable.assign_sub(0.01 * gradient)
        return loss

    run = tf.function(step) if compiled else step
    return [float(run(tf.constant(images[i:i + batch]), tf.constant(labels[i:i + batch])))
            for i in range(0, steps * batch, batch)]


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--how", default="fit",
                        choices=["fit", "function", "eager", "session", "branches"])
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    if options.how == "fit":
        losses = train_by_fit(options.steps, options.batch)
    elif options.how == "session":
        losses = train_in_session(options.steps, options.batch)
    else:
        model = branches() if options.how == "branches" else network()
        losses = train_by_hand(model, options.steps, options.batch, options.how != "eager")
    print("losses", " ".join(float(loss).hex() for loss in losses))


if __name__ == "__main__":
    main()
