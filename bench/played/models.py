#!/usr/bin/env python3
"""Trains one of the paper's four networks, as a Keras model in TensorFlow, and prints its losses.

Batches are small, so that computing them takes little beside the times that are played. Each step
is one call of a tf.function, whose graph runs as it was traced: nothing is folded or fused, so that
--graph writes the nodes that run.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

BATCH = 2
SEED = 7
Step = Callable[[], Any]

# --- optimisers: one kernel for each variable, as in the paper's framework --------------------


class Descent:
    slots = 0

    def __init__(self, rate: float, factor: float = 0.0, clip_norm: Optional[float] = None) -> None:
        self.rate = rate
        self.factor = factor
        self.clip_norm = clip_norm
        self.kept: List[List[tf.Variable]] = []

    def build(self, variables: Sequence[Any]) -> None:
        self.kept = [
            [tf.Variable(tf.zeros(one.shape)) for _ in range(self.slots)] for one in variables
        ]

    def apply(self, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if self.clip_norm is not None:
            dense, _ = tf.clip_by_global_norm(dense, self.clip_norm)
        for variable, kept, gradient in zip(variables, self.kept, dense):
            self.update(variable.value.handle, [slot.handle for slot in kept], gradient)

    def update(self, variable: Any, kept: Sequence[Any], gradient: Any) -> None:
        tf.raw_ops.ResourceApplyGradientDescent(var=variable, alpha=self.rate, delta=gradient)


class Momentum(Descent):
    slots = 1

    def update(self, variable: Any, kept: Sequence[Any], gradient: Any) -> None:
        tf.raw_ops.ResourceApplyMomentum(
            var=variable, accum=kept[0], lr=self.rate, grad=gradient, momentum=self.factor
        )


class Adam(Descent):
    slots = 2

    def update(self, variable: Any, kept: Sequence[Any], gradient: Any) -> None:
        tf.raw_ops.ResourceApplyAdam(
            var=variable, m=kept[0], v=kept[1], beta1_power=self.factor, beta2_power=0.999,
            lr=self.rate, beta1=self.factor, beta2=0.999, epsilon=1e-2, grad=gradient,
        )  # fmt: skip


class RootMeanSquare(Descent):
    slots = 2

    def update(self, variable: Any, kept: Sequence[Any], gradient: Any) -> None:
        tf.raw_ops.ResourceApplyRMSProp(
            var=variable, ms=kept[0], mom=kept[1], lr=self.rate, rho=0.9, momentum=0.9,
            epsilon=1.0, grad=gradient,
        )  # fmt: skip


# --- LSTM: the language model of the Penn Treebank tutorial, "small" -------------------------

VOCABULARY, HIDDEN, WORDS = 10000, 200, 20


def lstm() -> Step:
    model = keras.Sequential(
        [
            keras.Input((WORDS,), BATCH, dtype="int32"),
            layers.Embedding(VOCABULARY, HIDDEN),
            layers.LSTM(HIDDEN, return_sequences=True, unroll=True, use_cudnn=False),
            layers.LSTM(HIDDEN, return_sequences=True, unroll=True, use_cudnn=False),
            layers.Dense(VOCABULARY),
        ]
    )
    text = tf.random.uniform((BATCH, WORDS + 1), 0, VOCABULARY, tf.int32, seed=SEED)
    return classifier(model, text[:, :-1], text[:, 1:], Descent(0.5, clip_norm=5.0))


# --- ResNet-50 on images of CIFAR's shape ----------------------------------------------------


def convolved(x: Any, channels: int, window: Any, stride: int = 1, padding: str = "same") -> Any:
    x = layers.Conv2D(channels, window, stride, padding, use_bias=False)(x)
    return layers.BatchNormalization()(x)


def bottleneck(x: Any, width: int, stride: int) -> Any:
    y = layers.ReLU()(convolved(x, width, 1))
    y = layers.ReLU()(convolved(y, width, 3, stride))
    y = convolved(y, 4 * width, 1)
    if stride != 1 or x.shape[-1] != 4 * width:
        x = convolved(x, 4 * width, 1, stride)
    return layers.ReLU()(layers.add([y, x]))


def resnet50_model() -> keras.Model:
    images = keras.Input((32, 32, 3), BATCH)
    x = layers.ReLU()(convolved(images, 64, 3))
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            x = bottleneck(x, width, stride if block == 0 else 1)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(images, layers.Dense(10)(x))


def resnet50() -> Step:
    return image_classifier(resnet50_model(), 32, 10, Momentum(1e-5, 0.9))


# --- Inception-v3 ----------------------------------------------------------------------------


def inception_v3() -> Step:
    model = keras.applications.InceptionV3(
        weights=None, classifier_activation=None, input_tensor=keras.Input((299, 299, 3), BATCH)
    )
    return image_classifier(model, 299, 1000, RootMeanSquare(0.001))


# --- DCGAN for 28x28 images ------------------------------------------------------------------


def generator() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((110,), BATCH),
            layers.Dense(1024), layers.BatchNormalization(), layers.ReLU(),
            layers.Dense(128 * 7 * 7), layers.BatchNormalization(), layers.ReLU(),
            layers.Reshape((7, 7, 128)),
            layers.Conv2DTranspose(128, 5, 2, "same"), layers.BatchNormalization(), layers.ReLU(),
            layers.Conv2DTranspose(1, 5, 2, "same", activation="sigmoid"),
        ]
    )  # fmt: skip


def discriminator() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((28, 28, 1), BATCH),
            layers.Conv2D(11, 5, 2, "same"), layers.LeakyReLU(),
            layers.Conv2D(74, 5, 2, "same"), layers.BatchNormalization(), layers.LeakyReLU(),
            layers.Flatten(),
            layers.Dense(1024), layers.BatchNormalization(), layers.LeakyReLU(),
            layers.Dense(1),
        ]
    )  # fmt: skip


def dcgan() -> Step:
    generate, judge = generator(), discriminator()
    optimizers = [Adam(2e-4, 0.5) for _ in range(2)]
    for optimizer, model in zip(optimizers, (judge, generate)):
        optimizer.build(model.trainable_variables)
    images = tf.random.uniform((BATCH, 28, 28, 1), seed=SEED)
    noise = tf.random.normal((BATCH, 110), seed=SEED)

    def cross_entropy(logits: Any, label: float) -> Any:
        labels = tf.fill(tf.shape(logits), label)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            fake = judge(generate(noise, training=True), training=True)
            judged = cross_entropy(judge(images, training=True), 1.0) + cross_entropy(fake, 0.0)
        variables = judge.trainable_variables
        optimizers[0].apply(tape.gradient(judged, variables), variables)
        for _ in range(2):
            with tf.GradientTape() as tape:
                fake = judge(generate(noise, training=True), training=True)
                generated = cross_entropy(fake, 1.0)
            variables = generate.trainable_variables
            optimizers[1].apply(tape.gradient(generated, variables), variables)
        return judged + generated

    return step


# --- what they share -------------------------------------------------------------------------


def image_classifier(model: Any, size: int, classes: int, optimizer: Any) -> Step:
    images = tf.random.uniform((BATCH, size, size, 3), seed=SEED)
    labels = tf.random.uniform((BATCH,), 0, classes, tf.int32, seed=SEED)
    return classifier(model, images, labels, optimizer)


def classifier(model: Any, inputs: Any, labels: Any, optimizer: Any) -> Step:
    optimizer.build(model.trainable_variables)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    return step


MODELS = {"lstm": lstm, "dcgan": dcgan, "resnet50": resnet50, "inception_v3": inception_v3}


def prepare(inter: int, intra: int) -> None:
    tf.config.threading.set_inter_op_parallelism_threads(inter)
    tf.config.threading.set_intra_op_parallelism_threads(intra)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    keras.utils.set_random_seed(SEED)


def described(operation: Any) -> Dict[str, Any]:
    def shapes(tensors: Sequence[Any]) -> List[Any]:
        return [one.shape.as_list() if one.shape.rank is not None else None for one in tensors]

    waited = [one.name for one in operation.control_inputs]
    return {
        "name": operation.name, "op": operation.type,
        "inputs": [one.op.name for one in operation.inputs] + waited,
        "takes": shapes(operation.inputs), "gives": shapes(operation.outputs),
    }  # fmt: skip


def write_graph(step: Any, path: pathlib.Path) -> None:
    operations = step.get_concrete_function().graph.get_operations()
    path.write_text(json.dumps([described(one) for one in operations]), encoding="utf-8")


def timed(step: Step) -> Tuple[float, float]:
    begin = time.perf_counter()
    loss = float(step().numpy())
    return time.perf_counter() - begin, loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--inter", type=int, default=1)
    parser.add_argument("--intra", type=int, default=1)
    parser.add_argument("--graph", type=pathlib.Path, help="write the nodes of a step here")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # in order: a summary may be written
    prepare(options.inter, options.intra)
    step = MODELS[options.model]()
    if options.graph is not None:
        write_graph(step, options.graph)
    for number in range(options.steps):
        seconds, loss = timed(step)
        print(f"step {number} seconds {seconds:.6f} loss {loss:.9g}", flush=True)


if __name__ == "__main__":
    main()
