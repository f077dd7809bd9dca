#!/usr/bin/env python3
"""Trains a Keras network, or lets it predict, and times each step.

Steps are calls of a tf.function on the same data. --json writes what bench/workloads' programs
write. --intra and --inter, or TF_INTRA and TF_INTER, are TensorFlow's numbers of threads, 0 for its
own default.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import time
from typing import Any, Callable, Dict, Tuple

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "played"))

import models  # noqa: E402
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402
from models import Descent, Momentum, Step  # noqa: E402

Built = Tuple[Any, Any, Any, Any]  # a model, its inputs, labels, an optimizer
TOKENS = 64
SHOWN_SECONDS = 0.25


def language(kind: Callable[..., Any]) -> Built:
    """Two recurrent layers, with a while loop each: batch 20, 20 words."""
    batch = 20
    model = keras.Sequential(
        [
            keras.Input((models.WORDS,), batch, dtype="int32"),
            layers.Embedding(models.VOCABULARY, models.HIDDEN),
            kind(models.HIDDEN, return_sequences=True, use_cudnn=False),
            kind(models.HIDDEN, return_sequences=True, use_cudnn=False),
            layers.Dense(models.VOCABULARY),
        ]
    )
    shape = (batch, models.WORDS + 1)
    text = tf.random.uniform(shape, 0, models.VOCABULARY, tf.int32, seed=models.SEED)
    return model, text[:, :-1], text[:, 1:], Descent(0.5, clip_norm=5.0)


def pictures(model: Any, size: int, classes: int, batch: int) -> Built:
    images = tf.random.uniform((batch, size, size, 3), seed=models.SEED)
    labels = tf.random.uniform((batch,), 0, classes, tf.int32, seed=models.SEED)
    return model, images, labels, Momentum(1e-4, 0.9)


def resnet50() -> Built:
    models.BATCH = 2
    return pictures(models.resnet50_model(), 32, 10, models.BATCH)


def inception_v3() -> Built:
    model = keras.applications.InceptionV3(
        weights=None, classifier_activation=None, input_tensor=keras.Input((75, 75, 3), 4),
        include_top=True, classes=100,
    )  # fmt: skip
    return pictures(model, 75, 100, 4)


def efficientnet() -> Built:
    model = keras.applications.EfficientNetB0(
        weights=None, classifier_activation=None, input_tensor=keras.Input((64, 64, 3), 8),
        classes=100,
    )  # fmt: skip
    return pictures(model, 64, 100, 8)


def encoder_block(x: Any, width: int) -> Any:
    attended = layers.MultiHeadAttention(4, width // 4)(x, x)
    x = layers.LayerNormalization()(layers.add([x, attended]))
    inner = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(x))
    return layers.LayerNormalization()(layers.add([x, inner]))


def bert() -> Built:
    """BERT's encoder in the size of bert-mini: 4 layers of width 256, 64 tokens."""
    batch, width = 8, 256
    words = keras.Input((TOKENS,), batch, dtype="int32")
    x = layers.LayerNormalization()(layers.Embedding(models.VOCABULARY, width)(words))
    for _ in range(4):
        x = encoder_block(x, width)
    model = keras.Model(words, layers.Dense(models.VOCABULARY)(x))
    text = tf.random.uniform((batch, TOKENS), 0, models.VOCABULARY, tf.int32, seed=models.SEED)
    return model, text, text, Descent(0.1)


NETWORKS: Dict[str, Callable[[], Built]] = {
    "lstm": lambda: language(layers.LSTM),
    "gru": lambda: language(layers.GRU),
    "resnet50": resnet50,
    "inception_v3": inception_v3,
    "efficientnet": efficientnet,
    "bert": bert,
}
ALL = sorted([*NETWORKS, "dcgan"])


def dcgan(predicts: bool) -> Step:
    models.BATCH = 16
    if not predicts:
        return models.dcgan()
    generate = models.generator()
    noise = tf.random.normal((models.BATCH, 110), seed=models.SEED)
    return tf.function(lambda: tf.reduce_sum(generate(noise, training=False)))


def step_of(name: str, predicts: bool) -> Step:
    if name == "dcgan":
        return dcgan(predicts)
    model, inputs, labels, optimizer = NETWORKS[name]()
    if predicts:
        return tf.function(lambda: tf.reduce_sum(model(inputs, training=False)))
    return models.classifier(model, inputs, labels, optimizer)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=ALL)
    parser.add_argument("--predict", action="store_true", help="the forward pass alone")
    parser.add_argument("--steps", type=int, default=20, help="timed ones")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--seconds", type=float, help="end after this many, whatever --steps says")
    parser.add_argument("--inter", type=int, default=os.environ.get("TF_INTER", "0"))
    parser.add_argument("--intra", type=int, default=os.environ.get("TF_INTRA", "0"))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    tf.config.threading.set_inter_op_parallelism_threads(options.inter)
    tf.config.threading.set_intra_op_parallelism_threads(options.intra)
    keras.utils.set_random_seed(models.SEED)
    step = step_of(options.network, options.predict)
    seconds, losses, begin = [], [], time.monotonic()
    total, shown = options.warmup + options.steps, 0.0
    for number in range(total):
        taken, loss = models.timed(step)
        losses.append(loss)
        if not options.quiet and time.monotonic() - shown >= SHOWN_SECONDS:
            shown = time.monotonic()
            print(f"step {number + 1}/{total} loss {loss:.4g} {taken:.3g} s", flush=True)
        if number >= options.warmup:
            seconds.append(taken)
        if options.seconds and time.monotonic() - begin > options.seconds and seconds:
            break
    report = {
        "workload": options.network, "step_seconds": seconds, "steps": len(seconds),
        "median_seconds": statistics.median(seconds), "losses": losses,
        "tensorflow_version": tf.__version__,
    }  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(report), encoding="utf-8")
    if not options.quiet:
        print(f"{options.network}: {statistics.median(seconds) * 1e3:.4g} ms a step")


if __name__ == "__main__":
    main()
