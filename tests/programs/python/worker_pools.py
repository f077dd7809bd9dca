"""Products of whole numbers in pools of processes and threads, as data loaders and grid searches
make them: multiprocessing by fork and by spawn, joblib's loky and threads. Prints the sum of each.
"""
import multiprocessing
import warnings

import numpy
from joblib import Parallel, delayed


def product(seed):
    numbers = numpy.random.default_rng(seed).integers(-2, 3, (160, 160)).astype(numpy.float32)
    return float((numbers @ numbers).sum())


def main():
    # Threads of numpy's BLAS before the fork make Python wonder, optile or not.
    warnings.simplefilter("ignore")
    expected = sum(map(product, range(12)))
    for how in ("fork", "spawn"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            print(how, sum(pool.map(product, range(12))) == expected, flush=True)
    for backend in ("loky", "threading"):
        results = Parallel(n_jobs=2, backend=backend)(delayed(product)(i) for i in range(12))
        print(backend, sum(results) == expected, flush=True)
    print(f"total {expected:.0f}")


if __name__ == "__main__":
    main()
