"""Real libraries in a loop of short steps: `loops.py NAME` makes them until it is ended. Prints,
twenty times a second at most, the monotonic clock in seconds and the steps so far. NAME: numpy,
sklearn, torch, tensorflow."""

import sys
import time


def numpy_step():
    import numpy

    a = numpy.random.default_rng(0).random((500, 500))

    def step():
        a @ a

    return step


def sklearn_step():
    import numpy
    from sklearn.cluster import KMeans

    points = numpy.random.default_rng(0).random((20000, 16))

    def step():
        KMeans(16, n_init=1, random_state=0, max_iter=4, tol=0).fit(points)

    return step


def torch_step():
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)])
    data = torch.randn(64, 256)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimiser.zero_grad()
        model(data).square().mean().backward()
        optimiser.step()

    return step


def tensorflow_step():
    import tensorflow

    layers = [tensorflow.keras.layers.Conv2D(32, 3, activation="relu") for _ in range(3)]
    model = tensorflow.keras.Sequential([*layers, tensorflow.keras.layers.Flatten(),
                                         tensorflow.keras.layers.Dense(10)])  # fmt: skip
    model.compile(optimizer="sgd", loss="mse")
    data = tensorflow.random.normal((16, 32, 32, 3))
    wanted = tensorflow.random.normal((16, 10))

    def step():
        model.train_on_batch(data, wanted)

    return step


STEPS = {
    "numpy": numpy_step,
    "sklearn": sklearn_step,
    "torch": torch_step,
    "tensorflow": tensorflow_step,
}


def main(words):
    step = STEPS[words[0]]()
    steps, told = 0, 0.0
    while True:
        now = time.monotonic()
        if now - told > 0.05:
            print(f"{now:.6f} {steps}", flush=True)
            told = now
        step()
        steps += 1


if __name__ == "__main__":
    main(sys.argv[1:])
