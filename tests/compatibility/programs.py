"""Real programs of Debian's packages and from pip, each a short piece of its usual work on whole
numbers, so that its output is the same at any width. One entry: package, what is done, runtime, how
that is loaded, command, BLAS (None: none of the process's business), options of the launcher, and
where it has to wait for --repeats or --write."""
import os
import pathlib
import sys
from typing import List, NamedTuple, Optional, Tuple

PYTHON = "/usr/bin/python3"
# One with numpy and scipy from pip, which carry an OpenBLAS each; without it they are left out.
WHEEL_PYTHON = os.environ.get("OPTILE_WHEEL_PYTHON", "")


class Program(NamedTuple):
    package: str
    work: str
    runtime: str
    loaded: str
    command: List[str]
    blas: Optional[str] = None
    options: Tuple[str, ...] = ()  # of the launcher
    bridge: bool = False  # to the wheel's PyTorch: built before
    long: bool = False  # too long for every run of the suite


# C and C++ on Debian's libraries, built with the other programs.
BUILT = pathlib.Path(os.environ.get("OPTILE_BUILD_DIR", "build")).resolve() / "tests" / "programs"


def _python(code: str) -> List[str]:
    return [PYTHON, "-c", code]


_MATRICES = """
import numpy
numbers = numpy.random.default_rng(1).integers(-2, 3, (256, 256)).astype(numpy.float64)
"""
PRODUCTS = _MATRICES + """
total = 0.0
for _ in range(3000):
    total += float((numbers @ numbers).sum())
print(total)
"""
DECOMPOSITION = _MATRICES + """
for _ in range(80):
    values = numpy.linalg.svd(numbers, compute_uv=False)
print([round(float(value), 6) for value in values[:5]])
"""
SOLVE = _MATRICES + """
import scipy.linalg
for _ in range(400):
    found = scipy.linalg.solve(numbers + 400 * numpy.eye(256), numbers)
print(round(float(abs(found).sum()), 6))
"""
TRANSFORM = _MATRICES + """
import scipy.fft
for _ in range(100):
    back = scipy.fft.ifft2(scipy.fft.fft2(numbers, workers=2), workers=2)
print(numpy.rint(back.real).sum())
"""
CLUSTERS = _MATRICES + """
from sklearn.cluster import KMeans
for _ in range(150):
    found = KMeans(5, n_init=1, random_state=1).fit(numbers)
print(sorted(numpy.bincount(found.labels_)))
"""
BOOSTING = _MATRICES + """
from sklearn.ensemble import HistGradientBoostingClassifier
found = HistGradientBoostingClassifier(max_iter=200, random_state=1).fit(
    numbers[:, :20], numbers[:, 20] > 0)
print(int(found.predict(numbers[:, :20]).sum()))
"""
FOREST = _MATRICES + """
from sklearn.ensemble import RandomForestClassifier
found = RandomForestClassifier(20, n_jobs=2, random_state=1).fit(
    numbers[:, :20], numbers[:, 20] > 0)
print(int(found.predict(numbers[:, :20]).sum()))
"""
NEIGHBOURS = _MATRICES + """
from sklearn.neighbors import NearestNeighbors
found = NearestNeighbors(n_neighbors=3, algorithm="brute", n_jobs=2).fit(numbers)
for _ in range(300):
    far, near = found.kneighbors(numbers)
print(int((near[:, 0] == numpy.arange(256)).sum()))
"""
SEARCH = _MATRICES + """
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
found = GridSearchCV(Ridge(), {"alpha": [1, 10, 100]}, n_jobs=2).fit(
    numbers[:, :20], numbers[:, 21])
print(found.best_params_)
"""
SIMILAR = _MATRICES + """
import faiss
vectors = numpy.ascontiguousarray(numbers, dtype=numpy.float32)
for _ in range(1500):
    index = faiss.IndexFlatL2(256)
    index.add(vectors)
    far, near = index.search(vectors, 3)
print(int((near[:, 0] == numpy.arange(256)).sum()))
"""
INVERTED = _MATRICES + """
import faiss
vectors = numpy.ascontiguousarray(numpy.repeat(numbers, 4, axis=0), dtype=numpy.float32)
index = faiss.index_factory(256, "IVF4,Flat")
index.train(vectors)
index.add(vectors)
index.nprobe = 4
for _ in range(60):
    far, near = index.search(vectors, 8)
print(float(far.sum()))
"""
FFTW = _MATRICES + """
import pyfftw
forward = pyfftw.builders.fft2(numbers, threads=2)
for _ in range(200):
    back = pyfftw.interfaces.numpy_fft.ifft2(forward(), threads=2)
print(numpy.rint(back.real).sum())
"""
TREES = _MATRICES + """
import xgboost
table = xgboost.DMatrix(numbers[:, :20], label=numbers[:, 20] > 0)
found = xgboost.train({"objective": "binary:logistic", "tree_method": "hist", "nthread": 2,
                       "max_depth": 4, "seed": 1}, table, num_boost_round=1500)
print(int((found.predict(table) > 0.5).sum()))
"""
TENSORS = """
import torch
torch.manual_seed(1)
numbers = torch.randint(-2, 3, (256, 256)).float()
total = 0.0
for _ in range(3000):
    total += float((torch.relu(numbers @ numbers) + numbers).sum())
print(total)
"""
LOADER = """
import torch
class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return (torch.full((64, 64), float(index % 3)) @ torch.ones(64, 64)).sum()
loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2)
print(float(sum(batch.sum() for batch in loader)))
"""

PACKAGED_PRODUCTS = _MATRICES + """
total = 0.0
for _ in range(2000):
    total += float((numbers @ numbers)[0, 0])
print(total)
"""
PACKAGED_SOLVE = _MATRICES + """
import scipy.linalg
for _ in range(200):
    found = scipy.linalg.solve(numbers + 400 * numpy.eye(256), numbers @ numbers)
print(round(float(abs(found).sum()), 6))
"""

WHEEL_TRAINING = """
import torch
from torch import nn
torch.manual_seed(1)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(4096, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
pictures, labels = torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))
for _ in range(300):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(pictures), labels)
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
"""
# Whole numbers: no sum depends on the order in which it is made.
_WHEEL_NET = """
import torch
from torch import nn
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
for one in net.parameters():
    one.requires_grad_(False).copy_(torch.randint(-2, 3, one.shape))
numbers = torch.randint(-2, 3, (128, 256)).float()
"""
WHEEL_INFERENCE = _WHEEL_NET + """
with torch.inference_mode():
    print(sum(net(numbers).double().sum().item() for _ in range(500)))
"""
WHEEL_INDUCTOR = _WHEEL_NET + """
compiled = torch.compile(net)
with torch.inference_mode():
    print(sum(compiled(numbers).double().sum().item() for _ in range(500)))
"""
WHEEL_ISSUERS = """
import threading, torch
numbers = torch.arange(65536).remainder(5).sub(2).float().reshape(256, 256)
sums = [0.0, 0.0]
def work(mine):
    for _ in range(500):
        sums[mine] += float((numbers @ numbers).relu().sum())
threads = [threading.Thread(target=work, args=(mine,)) for mine in range(2)]
for one in threads: one.start()
for one in threads: one.join()
print(sums)
"""
# A child that is spawned imports the program's file; it stands in one for that.
_WHEEL_LOADER = """
import sys, torch
class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return (torch.full((64, 64), float(index % 3)) @ torch.ones(64, 64)).sum()
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2,
                                         multiprocessing_context=sys.argv[1])
    print(float(sum(batch.sum() for batch in loader)))
"""
RANKS = _MATRICES + """
from mpi4py import MPI
total = 0.0
for _ in range(200):
    mine = float((numbers @ numbers)[MPI.COMM_WORLD.Get_rank()].sum())
    total += MPI.COMM_WORLD.allreduce(mine)
if MPI.COMM_WORLD.Get_rank() == 0:
    print(total)
"""
NUMBA = """
import numba
numba.config.THREADING_LAYER = "omp"
@numba.njit(parallel=True)
def total(count):
    found = 0
    for i in numba.prange(count):
        found += i % 7
    return found
print(sum(total(200000) for _ in range(1000)))
"""
R_PRODUCTS = """a <- matrix((1:65536 * 7) %% 5 - 2, 256); t <- 0
for (i in 1:300) t <- t + sum(a %*% a)
cat(t, fill = TRUE)"""


def _cyclic_roots(count: int) -> str:
    """The sums of products of neighbours on a circle, as mathicgb reads polynomials."""
    names = "abcdefgh"[:count]
    sums = ["+".join("".join(names[(i + j) % count] for j in range(degree)) for i in range(count))
            for degree in range(1, count)]
    lines = [f"32003 {count}", " ".join("1" * (count + 1)), str(count), *sums, names + "-1"]
    return "\\n".join(lines)


_TEXT = "seq 1 200000"


def _shell(line: str) -> List[str]:
    return ["sh", "-c", line]


def _with_blas(work: str, code: str, providers: List[str]) -> List[Program]:
    runtimes = {"openblas-openmp": "libgomp", "openblas-pthread": "threads of its own",
                "blis-openmp": "libgomp"}
    return [Program("python3-numpy", f"{work}, {provider}", runtimes[provider],
                    "with the BLAS, RTLD_LOCAL", _python(code), provider)
            for provider in providers]


def _with_bridge() -> List[Program]:
    """PyTorch's wheel as people use it, with the bridge that shows its ops."""
    if not WHEEL_PYTHON:
        return []

    def one(work: str, loaded: str, command: List[str], long: bool = False) -> Program:
        return Program("torch from pip", work, "libgomp", loaded, command, bridge=True, long=long)

    alone = "a copy of its own, RTLD_LOCAL"
    loader = f"cat > loader.py <<'END'{_WHEEL_LOADER}END\nexec {WHEEL_PYTHON} loader.py "
    return [one("training a small network", alone, [WHEEL_PYTHON, "-c", WHEEL_TRAINING]),
            one("inference", alone, [WHEEL_PYTHON, "-c", WHEEL_INFERENCE], long=True),
            one("inference, compiled by Inductor", "the same copy, by its kernels",
                [WHEEL_PYTHON, "-c", WHEEL_INDUCTOR], long=True),
            one("products from 2 threads", alone, [WHEEL_PYTHON, "-c", WHEEL_ISSUERS]),
            one("a data loader, 2 workers", "forked workers", _shell(loader + "fork"), long=True),
            one("a data loader, 2 workers", "spawned workers", _shell(loader + "spawn"),
                long=True)]


def _clang_built() -> List[Program]:
    """Debian 12 has no program that is linked with LLVM's OpenMP, so clang makes two of libraries
    that people compile into theirs."""
    return [Program(package, work, "libomp", "by clang's code", [str(BUILT / name)])
            for package, work, name in (
                ("libeigen3-dev", "matrix products, compiled by clang", "eigen_products"),
                ("libstdc++-12-dev", "its parallel mode, compiled by clang", "parallel_mode"))
            if (BUILT / name).exists()]


def _sequences(count: int, length: int) -> str:
    """An awk program that prints sequences of a family, for the programs of biologists."""
    return (f"BEGIN {{ for (i = 0; i < {count}; i++) {{ print \">s\" i; line = \"\"; "
            f"for (j = 0; j < {length}; j++) {{ k = (j * j + j) % 20; "
            "if ((i * 31 + j * 17) % 7 == 0) k = (i * j + 3) % 20; "
            "line = line substr(\"ACDEFGHIKLMNPQRSTVWY\", k + 1, 1) } print line } }")


def _from_pip() -> List[Program]:
    if not WHEEL_PYTHON:
        return []
    pool = ("threads of its own", "in itself, under other names")
    return [Program(package, work, *how, [WHEEL_PYTHON, "-c", code],
                    # Nothing is built for the PyTorch that lies beside.
                    options=("--torch-bridge", "off"))
            for package, work, how, code in (
                ("numpy from pip", "matrix products", pool, PACKAGED_PRODUCTS),
                ("scipy from pip", "linear systems", pool, PACKAGED_SOLVE),
                ("xgboost from pip", "boosted trees, 2 threads", ("libgomp", "a copy of its own"),
                 TREES))]


PROGRAMS = [
    *_with_blas("matrix products", PRODUCTS, ["openblas-openmp", "openblas-pthread"]),
    # Fewer: BLIS's threads spin where they meet, which takes minutes on a machine with other work.
    *_with_blas("matrix products", PRODUCTS.replace("3000", "400"), ["blis-openmp"]),
    *_with_blas("singular values", DECOMPOSITION, ["openblas-openmp", "openblas-pthread"]),
    Program("python3-scipy", "linear systems", "libgomp", "with the BLAS, RTLD_LOCAL",
            _python(SOLVE), "openblas-openmp"),
    Program("python3-scipy", "Fourier transforms, 2 workers", "threads of its own", "in itself",
            _python(TRANSFORM), "openblas-openmp"),
    Program("python3-sklearn", "k-means", "libgomp", "by its extensions, RTLD_LOCAL",
            _python(CLUSTERS), "openblas-openmp"),
    Program("python3-sklearn", "gradient boosting", "libgomp", "by its extensions, RTLD_LOCAL",
            _python(BOOSTING), "openblas-openmp"),
    Program("python3-sklearn", "random forest, 2 threads", "joblib's threads", "in Python",
            _python(FOREST), "openblas-openmp"),
    Program("python3-sklearn", "nearest neighbours", "libgomp", "by its extensions, RTLD_LOCAL",
            _python(NEIGHBOURS), "openblas-openmp"),
    Program("python3-sklearn", "grid search, 2 processes", "loky", "spawned workers",
            _python(SEARCH), "openblas-openmp"),
    Program("python3-faiss", "exact neighbours", "libgomp", "with the BLAS, RTLD_LOCAL",
            _python(SIMILAR), "openblas-openmp"),
    Program("python3-faiss", "neighbours by inverted lists", "libgomp",
            "with the BLAS, RTLD_LOCAL", _python(INVERTED), "openblas-openmp", long=True),
    Program("python3-pyfftw", "Fourier transforms, 2 threads", "libgomp", "with libfftw3_omp",
            _python(FFTW), "openblas-openmp"),
    Program("python3-torch", "products and element-wise ops", "libgomp", "with libtorch",
            _python(TENSORS), "openblas-openmp"),
    Program("python3-torch", "products and element-wise ops", "libgomp, OpenBLAS's threads",
            "with libtorch", _python(TENSORS), "openblas-pthread", long=True),
    Program("python3-torch", "a data loader, 2 workers", "libgomp", "forked workers",
            _python(LOADER), "openblas-openmp"),
    Program("graphicsmagick", "blur and scale pictures", "libgomp", "in itself",
            _shell("for i in 1 2 3; do gm convert -size 400x400 gradient:red-blue -blur 0x4 "
                   "-resize 300x200 rgb:- | md5sum; done")),
    # The leading terms: the rest of the basis depends on which thread was first.
    Program("mathicgb", "a Gröbner basis, 2 threads", "oneTBB", "in itself",
            _shell(f"mkdir -p r && cd r && printf '{_cyclic_roots(7)}\\n' > c.ideal && "
                   "mgb gb c -reducer 26 -threadCount 2 -outputResult -printInterval 0 && "
                   "grep -o '^ *[a-z0-9]*' c.gb | tail -n +2 | sort | md5sum")),
    Program("imagemagick", "blur and scale pictures", "libgomp", "in itself",
            _shell("for i in 1 2 3; do convert-im6.q16 -size 400x400 gradient:red-blue -blur 0x4 "
                   "-resize 300x200 rgb:- | md5sum; done")),
    Program("libxsmm-dev", "matrix products, libxsmmext", "libgomp", "in itself",
            [str(BUILT / "xsmm_products")]),
    *_clang_built(),
    Program("clustalo", "an alignment of proteins, 2 threads", "libgomp", "in itself",
            _shell(f"awk '{_sequences(60, 150)}' > answer; clustalo -i answer --threads 2 | "
                   "md5sum")),
    Program("fasttree", "a tree of proteins, 2 threads", "libgomp", "in itself",
            _shell(f"awk '{_sequences(40, 150)}' | fasttreeMP -quiet -nopr 2>/dev/null | md5sum")),
    Program("sox", "two channels of sound, filtered", "libgomp", "in itself",
            _shell("sox -V1 -D --multi-threaded -n -r 48000 -t raw - synth 3 sine 300-3000 gain -9 "
                   "channels 2 equalizer 1000 1q 6 | md5sum")),
    Program("r-base-core", "matrix products", "libgomp", "with the BLAS",
            ["Rscript", "-e", R_PRODUCTS], "openblas-openmp"),
    Program("python3-mpi4py", "matrix products, 2 ranks under mpirun", "libgomp",
            "with the BLAS, in each rank",
            ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun",
             "--oversubscribe", "-np", "2", PYTHON, "-c", RANKS], "openblas-openmp"),
    Program("python3-numba", "a sum in parallel", "libgomp", "by its layer of threads",
            _python(NUMBA), long=True),
    *_with_bridge(),
    *_from_pip(),
    Program("xz-utils", "compression, 2 threads", "threads of its own", "in itself",
            _shell(f"{_TEXT} | xz -T2 | xz -dT2 | md5sum")),
    Program("coreutils", "sort, 2 threads", "threads of its own", "in itself",
            _shell(f"{_TEXT} | sort --parallel=2 -r | md5sum")),
    Program("gcc", "a C program, compiled and run", "none", "-",
            _shell("printf 'int main(void){return 0;}' | gcc -x c - -o answer && ./answer && echo "
                   "compiled")),
    Program("git", "a repository and a commit", "threads of its own", "in itself",
            _shell("git init -q r && cd r && seq 1 999 > f && git add f && git -c user.name=a -c "
                   "user.email=a@b commit -qm m && git log --format=%s")),
    Program("perl", "a loop", "none", "-", ["perl", "-e", "$t += $_ for 1 .. 99999; print $t"]),
    Program("bash", "a loop", "none", "-",
            ["bash", "-c", "t=0; for i in {1..9999}; do t=$((t + i)); done; echo $t"]),
]

if __name__ == "__main__":
    sys.exit("the test is tests/e2e/host_programs/test_compatibility.py")
