"""One everyday program, as its user writes it: everyday_program.py NAME. Prints the seconds of its
work, without its start, as the last line."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict

SEED = 1


def training_on_gpu() -> Callable[[], Any]:
    """A ResNet-18 on the GPU, fed by eight worker processes that augment on CPUs."""
    import torch
    import torchvision
    from torchvision.transforms import v2

    class Images(torch.utils.data.Dataset):  # type: ignore[misc]
        augment = v2.Compose([
            v2.RandomResizedCrop(160),
            v2.RandomHorizontalFlip(),
            v2.GaussianBlur(5),
        ])  # fmt: skip

        def __len__(self) -> int:
            return 6400

        def __getitem__(self, index: int) -> Any:
            image = torch.rand(3, 256, 256, generator=torch.Generator().manual_seed(index))
            return self.augment(image), index % 10

    torch.manual_seed(SEED)
    model = torchvision.models.resnet18(num_classes=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Images(), batch_size=64, num_workers=8)

    def work() -> None:
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.cuda.synchronize()

    return work


def inference_of_bert() -> Callable[[], Any]:
    import torch
    import transformers

    torch.manual_seed(SEED)
    config = transformers.BertConfig(num_hidden_layers=6)
    model = transformers.BertModel(config).eval()
    words = torch.randint(0, 1000, (1, 64))

    def work() -> None:
        with torch.inference_mode():
            for _ in range(250):
                model(words)

    return work


def random_forest() -> Callable[[], Any]:
    """Threads of joblib, one tree each."""
    import numpy
    import sklearn.ensemble

    source = numpy.random.default_rng(SEED)
    rows, labels = source.normal(size=(20000, 30)), source.integers(0, 2, 20000)
    forest = sklearn.ensemble.RandomForestClassifier(200, n_jobs=-1, random_state=SEED)
    return lambda: forest.fit(rows, labels)


def boosted_trees() -> Callable[[], Any]:
    """OpenMP regions of scikit-learn."""
    import numpy
    import sklearn.ensemble

    source = numpy.random.default_rng(SEED)
    rows, labels = source.normal(size=(50000, 40)), source.integers(0, 2, 50000)
    trees = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=150, random_state=SEED)
    return lambda: trees.fit(rows, labels)


def joblib_processes() -> Callable[[], Any]:
    """A process for each core, each with its own BLAS."""
    import joblib
    import numpy

    def decompose(index: int) -> float:
        source = numpy.random.default_rng(index)
        return float(numpy.linalg.svd(source.normal(size=(400, 400)))[1][0])

    return lambda: joblib.Parallel(n_jobs=-1)(joblib.delayed(decompose)(i) for i in range(300))


def matrix_products() -> Callable[[], Any]:
    import numpy

    source = numpy.random.default_rng(SEED)
    large, small = source.normal(size=(3000, 3000)), source.normal(size=(200, 200))

    def work() -> None:
        for _ in range(15):
            large @ large  # noqa: B018
            for _ in range(300):
                small @ small  # noqa: B018

    return work


def training_with_jax() -> Callable[[], Any]:
    import os

    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    keys = jax.random.split(jax.random.PRNGKey(SEED), 4)
    weights = [jax.random.normal(key, (1024, 1024)) * 0.03 for key in keys]
    rows = jax.random.normal(keys[0], (512, 1024))

    def loss(layers: Any) -> Any:
        values = rows
        for layer in layers:
            values = jax.numpy.tanh(values @ layer)
        return (values**2).mean()

    step = jax.jit(lambda layers: [w - 0.1 * g for w, g in zip(layers, jax.grad(loss)(layers))])

    def work() -> None:
        layers = weights
        for _ in range(120):
            layers = step(layers)
        jax.block_until_ready(layers)

    return work


PROGRAMS: Dict[str, Callable[[], Callable[[], Any]]] = {
    made.__name__: made
    for made in (
        training_on_gpu, inference_of_bert, boosted_trees, matrix_products, random_forest,
        joblib_processes, training_with_jax,
    )
}  # fmt: skip

if __name__ == "__main__":
    ready = PROGRAMS[sys.argv[1]]()
    begin = time.perf_counter()
    ready()
    print(time.perf_counter() - begin)
