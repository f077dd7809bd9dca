"""Says how many threads numpy or PyTorch has for a product, and where each thread of the process
may run once it has had them."""
import ctypes
import os
import sys


def count_of_openblas():
    with open("/proc/self/maps", encoding="ascii") as maps:
        paths = {line.split()[-1] for line in maps if "openblas" in line}
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        if hasattr(library, "openblas_get_num_threads"):
            return library.openblas_get_num_threads()
    raise SystemExit("no OpenBLAS is loaded")


def with_numpy():
    import numpy
    ones = numpy.ones((600, 600))
    ones @ ones
    return count_of_openblas()


def with_torch():
    import torch
    ones = torch.ones(600, 600)
    ones @ ones
    torch.ones(1000000) + 1
    return torch.get_num_threads()


def masks():
    found = []
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/status", encoding="utf-8") as status:
            found += [line.split()[1] for line in status if line.startswith("Cpus_allowed_list")]
    return sorted(found)


print({"numpy": with_numpy, "torch": with_torch}[sys.argv[1]](), "threads:", *masks())
