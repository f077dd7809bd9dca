"""Which folder may include what: the layers of docs/architecture.md as a table, and its check.

Two rules. Our own headers are included by their path from the root of the repository, and only
those that the table lets a folder see. A third-party header is included only by the files that the
second table names; a header that no table knows is a violation, so that a new library is a choice
and not an accident.
"""

from __future__ import annotations

import fnmatch
import pathlib
import re
from dataclasses import dataclass
from typing import Dict, FrozenSet, List, Mapping, Optional, Tuple

import tree
from tree import Problem


@dataclass(frozen=True)
class Folder:
    level: int
    sees: FrozenSet[str] = frozenset()  # other folders
    sees_files: FrozenSet[str] = frozenset()  # single headers of folders it does not see


def _sees(*names: str) -> FrozenSet[str]:
    return frozenset(names)


def _preload(*rooms: str) -> Tuple[str, ...]:
    return tuple(f"bindings/preload/{room}" for room in rooms)


PROBES = "bindings/preload/probes"


def probe_folders(root: pathlib.Path) -> List[str]:
    return sorted(f"{PROBES}/{one.name}" for one in (root / PROBES).iterdir() if one.is_dir())


LIBC_BASE = _sees(
    "base/bridge_file.h", "base/cpu_counter.h", "base/hash.h", "base/launched_width.h",
    "base/local_ranks.h", "base/other_managers.h", "base/preload_limits.h",
)  # fmt: skip

# Folder -> its layer and what it sees besides itself. Siblings are blind to each other.
FOLDERS: Mapping[str, Folder] = {
    "base": Folder(0),
    "bindings/abi": Folder(0),
    "bindings/annotate": Folder(0),
    "perfmodel/machine": Folder(1, _sees("base")),
    "perfmodel/profile": Folder(1, _sees("base")),
    "perfmodel/synthetic": Folder(2, _sees("base", "perfmodel/machine", "perfmodel/profile")),
    "perfmodel/networks": Folder(
        3, _sees("base", "perfmodel/machine", "perfmodel/profile", "perfmodel/synthetic")
    ),
    "tuner/plan": Folder(2, _sees("base", "perfmodel/profile")),
    "tuner/search": Folder(3, _sees("perfmodel/profile", "tuner/plan")),
    "tuner/statistics": Folder(3, _sees("base", "perfmodel/profile", "tuner/plan")),
    "tuner/steps": Folder(
        4, _sees("base", "perfmodel/profile", "tuner/plan", "tuner/search")
    ),
    "tuner/session": Folder(
        5, _sees("base", "perfmodel/profile", "tuner/plan", "tuner/search", "tuner/statistics",
                 "tuner/steps")
    ),
    "sched/cores": Folder(
        4, _sees("base", "perfmodel/machine", "perfmodel/profile", "perfmodel/synthetic")
    ),
    "sched/leases": Folder(4, _sees("base", "perfmodel/machine")),
    "sched/strategies": Folder(
        5, _sees("base", "perfmodel/profile", "perfmodel/synthetic", "sched/cores")
    ),
    "sched/simulation": Folder(
        6, _sees("base", "perfmodel/profile", "perfmodel/synthetic", "sched/cores",
                 "sched/strategies")
    ),
    "placement": Folder(4, _sees("base", "perfmodel/synthetic")),
    # The shim lives in other people's programs: of `base` only what needs nothing but libc.
    "bindings/preload/counters": Folder(1, _sees("bindings/abi")),
    # Not the shim but a library of its own, opened by it: it has a C++ runtime.
    "bindings/preload/admission": Folder(
        6, _sees("bindings/abi", "sched/strategies"), _sees("bindings/preload/core/admission_api.h")
    ),
    "bindings/preload/support": Folder(1, _sees("bindings/abi"), LIBC_BASE),
    "bindings/preload/shared_memory": Folder(2, _sees("bindings/abi", *_preload("support"))),
    "bindings/preload/runtimes": Folder(
        3, _sees("bindings/abi", *_preload("support", "shared_memory")), LIBC_BASE
    ),
    "bindings/preload/children": Folder(
        4, _sees("bindings/abi", *_preload("support", "shared_memory", "runtimes")), LIBC_BASE
    ),
    "bindings/preload/actuators": Folder(
        4, _sees("bindings/abi", *_preload("support", "shared_memory", "runtimes")), LIBC_BASE
    ),
    "bindings/preload/core": Folder(
        5,
        _sees("bindings/abi", "bindings/annotate",
              *_preload("support", "shared_memory", "runtimes", "actuators", "counters")),
        LIBC_BASE,
    ),
    "bindings/preload/daemon_link": Folder(
        6,
        _sees("bindings/abi",
              *_preload("support", "shared_memory", "runtimes", "actuators", "children", "core")),
        LIBC_BASE,
    ),
    # A probe is a folder, which sees neither another one nor who connects to the daemon.
    **{
        folder: Folder(
            6,
            _sees("bindings/abi",
                  *_preload("support", "shared_memory", "runtimes", "actuators", "core")),
            LIBC_BASE,
        )
        for folder in probe_folders(tree.source_root())
    },
    # What agrees with other nodes; the command line's `launch` does so too.
    "daemon/cluster": Folder(6, _sees("base"), _sees("bindings/abi/api_fields.h")),
    "daemon/support": Folder(7, _sees("base", "tuner/session")),
    "daemon/transport": Folder(8, _sees("base", "bindings/abi", "daemon/support")),
    "daemon/process": Folder(8, _sees("base", "bindings/abi", "daemon/support")),
    "daemon/store": Folder(
        8, _sees("base", "bindings/abi", "perfmodel/profile", "tuner/plan", "tuner/session",
                 "daemon/support")
    ),
    "daemon/load": Folder(9, _sees("base", "daemon/support", "daemon/process")),
    "daemon/client": Folder(
        10, _sees("base", "bindings/abi", "perfmodel/machine", "perfmodel/profile", "tuner/plan",
                  "tuner/session", "sched/cores", "daemon/transport", "daemon/process",
                  "daemon/store", "daemon/load")
    ),
    "daemon/leases": Folder(
        11, _sees("base", "bindings/abi", "perfmodel/machine", "perfmodel/profile",
                  "perfmodel/synthetic", "tuner/session", "tuner/statistics", "sched/leases",
                  "daemon/support", "daemon/process", "daemon/store", "daemon/load",
                  "daemon/client")
    ),
    "daemon/views": Folder(
        11, _sees("bindings/abi", "perfmodel/machine", "tuner/session", "daemon/support",
                  "daemon/transport", "daemon/store", "daemon/client")
    ),
    "daemon/controller": Folder(
        12, _sees("base", "perfmodel/machine", "daemon/support", "daemon/process", "daemon/store",
                  "daemon/leases", "daemon/client")
    ),
    "daemon/metrics": Folder(
        13, _sees("base", "daemon/support", "daemon/transport", "daemon/client", "daemon/views",
                  "daemon/controller")
    ),
    "daemon/api": Folder(
        14, _sees("base", "bindings/abi", "sched/leases", "daemon/cluster", "daemon/support",
                  "daemon/transport", "daemon/client", "daemon/views", "daemon/controller",
                  "daemon/metrics")
    ),
    "daemon": Folder(
        15, _sees("base", "bindings/abi", "daemon/cluster", "daemon/support", "daemon/transport",
                  "daemon/process", "daemon/store", "daemon/leases", "daemon/client",
                  "daemon/controller", "daemon/metrics", "daemon/api")
    ),
    "bindings/cli": Folder(
        7, _sees("base", "bindings/abi", "perfmodel/machine", "perfmodel/profile",
                 "perfmodel/synthetic", "perfmodel/networks", "sched/simulation", "placement",
                 "daemon/cluster")
    ),
}
UNRESTRICTED = ("tests", "bench")  # the top layer sees everything
GENERATED = ("optile_version.h", "optile_bridge_key.h")

# Header pattern -> patterns of the files that may include it. `tests/**` may use what it tests.
THIRD_PARTY: Tuple[Tuple[str, Tuple[str, ...]], ...] = (
    ("hwloc*", ("perfmodel/machine/hwloc_machine_source.cc",)),
    ("sqlite3.h", ("daemon/store/database.cc",)),
    ("boost/asio/ssl/*", ("daemon/cluster/etcd_tls.*",)),
    ("openssl/*", ("daemon/cluster/etcd_tls.cc",)),
    ("boost/*", ("daemon/*", "bindings/cli/*")),
    (
        "nlohmann/*",
        (
            "daemon/*",
            "bindings/cli/*",
            "perfmodel/synthetic/step_graph_json.cc",
            "placement/*",
        ),
    ),
    ("zlib.h", ("placement/import/compressed.cc",)),
    ("metis.h", ("placement/methods/metis_partition.cc",)),
    ("Eigen/*", ("placement/policy/matrix.h",)),
    ("coin/*", ("placement/methods/cbc_program.cc",)),
    ("scotch.h", ("placement/methods/scotch_partition.cc",)),
    ("simgrid/*", ()),
    ("ncurses.h", ("bindings/cli/top/ncurses_terminal.cc",)),
    ("CLI/*", ("bindings/cli/*.cc", "daemon/main.cc")),
    ("prometheus/*", ("daemon/metrics/exposition.cc",)),
    ("spdlog/*", ("daemon/support/log.cc",)),
    ("ATen/*", ("bindings/preload/probes/torch/*",)),
    ("c10/*", ("bindings/preload/probes/torch/*",)),
    ("torch/*", ("bindings/preload/probes/torch/*",)),
    ("optile/*", ()),  # our own, as annotated programs include it
    ("papi.h", ("bindings/preload/counters/papi_source.cc",)),
    # x86 is assumed nowhere else.
    ("x86intrin.h", ("base/cpu_counter.h",)),
    ("immintrin.h", ("base/cpu_counter.h",)),
    ("cpuid.h", ("base/cpu_counter.h",)),
    ("gtest/*", ()),
    ("gmock/*", ()),
    ("omp.h", ()),
    ("dnnl*", ()),
    ("oneapi/*", ()),
    ("cblas.h", ()),
    ("libxsmm.h", ()),
    ("parallel/*", ()),  # libstdc++'s parallel mode
)

# The standard libraries of C++20 and C11, and the folders of POSIX and Linux.
STANDARD = frozenset(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv
    chrono cinttypes climits clocale cmath codecvt compare complex concepts condition_variable
    coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar
    cwctype deque exception execution filesystem format forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map
    memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio
    regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept
    stop_token streambuf string string_view syncstream system_error thread tuple type_traits
    typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
    assert.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h
    stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h
    string.h threads.h time.h uchar.h wchar.h wctype.h
    cxxabi.h dirent.h dlfcn.h elf.h execinfo.h fcntl.h features.h ftw.h getopt.h glob.h grp.h
    ifaddrs.h langinfo.h libgen.h link.h malloc.h netdb.h poll.h pthread.h pwd.h regex.h sched.h
    semaphore.h spawn.h strings.h sysexits.h syslog.h termios.h ucontext.h unistd.h
    utime.h""".split()
)
SYSTEM_FOLDERS = ("sys/", "linux/", "asm/", "bits/", "net/", "netinet/", "arpa/")

INCLUDE = re.compile(r'^\s*#\s*include(?:_next)?\s*(?:"(?P<ours>[^"]+)"|<(?P<angle>[^>]+)>)')
X86 = re.compile(r"\b(__x86_64__|__i386__|__rdtscp?|_mm_\w+|__builtin_ia32_\w+|__cpuid\w*)\b")
X86_FILES = ("base/cpu_counter.h",)


def folder_of(name: str) -> Optional[str]:
    """The folder of the table that holds this path; the longest match wins."""
    best: Optional[str] = None
    for folder in FOLDERS:
        if name.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def unrestricted(name: str) -> bool:
    return name.split("/", 1)[0] in UNRESTRICTED


def table_problems() -> List[str]:
    """The table itself must point down."""
    found = []
    for name, folder in FOLDERS.items():
        for seen in sorted(folder.sees):
            if seen not in FOLDERS:
                found.append(f"{name} sees {seen}, which the table does not have")
            elif FOLDERS[seen].level >= folder.level:
                found.append(f"{name} (layer {folder.level}) sees {seen}, which is not below it")
        for header in sorted(folder.sees_files):
            home = folder_of(header)
            if home is None or FOLDERS[home].level >= folder.level:
                found.append(f"{name} sees {header}, which is not below it")
    return found


def _ours_problem(name: str, header: str, known: FrozenSet[str]) -> Optional[str]:
    if header in GENERATED:
        return None
    if header not in known:
        return f'"{header}" is no path from the root of the repository'
    if unrestricted(name):
        return None
    here, there = folder_of(name), folder_of(header)
    if here is None:
        return "this folder is in no layer: add it to FOLDERS in tests/repo/layering.py"
    if there is None:
        return f'"{header}" is in no layer that {here} may see'
    if there == here or there in FOLDERS[here].sees or header in FOLDERS[here].sees_files:
        return None
    return f'{here} must not see {there} ("{header}")'


def _angle_problem(name: str, header: str) -> Optional[str]:
    if header in STANDARD or header.startswith(SYSTEM_FOLDERS):
        return None
    for pattern, allowed in THIRD_PARTY:
        if fnmatch.fnmatch(header, pattern):
            if unrestricted(name) or any(fnmatch.fnmatch(name, one) for one in allowed):
                return None
            where = ", ".join(allowed) or "tests and bench"
            return f"<{header}> is for {where} only"
    return f"<{header}> is in no table: add it to THIRD_PARTY in tests/repo/layering.py"


def include_problems(name: str, text: str, known: FrozenSet[str]) -> List[Problem]:
    """The violations of one file; `known` are the paths of all files of ours."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match["ours"]:
            # Programs under tests/ and their private headers are built as their users would.
            beside = (pathlib.PurePosixPath(name).parent / match["ours"]).as_posix()
            private = unrestricted(name) and beside in known
            problem = None if private else _ours_problem(name, match["ours"], known)
        elif match:
            problem = _angle_problem(name, match["angle"])
        elif X86.search(line) and not unrestricted(name) and name not in X86_FILES:
            problem = f"x86 is assumed outside {', '.join(X86_FILES)}"
        else:
            continue
        if problem:
            found.append(Problem(name, number, problem))
    return found


def problems(root: pathlib.Path) -> List[Problem]:
    names = tree.with_suffix(tree.files(root), *tree.CXX_SUFFIXES)
    known = frozenset(names)
    found: List[Problem] = []
    for name in names:
        found.extend(include_problems(name, tree.read(root, name), known))
    return found


def edges(root: pathlib.Path) -> Dict[str, FrozenSet[str]]:
    """Which folder really includes which, for people who read the output of the test."""
    seen: Dict[str, set] = {}
    for name in tree.with_suffix(tree.files(root), *tree.CXX_SUFFIXES):
        here = folder_of(name)
        if here is None:
            continue
        for line in tree.read(root, name).splitlines():
            match = INCLUDE.match(line)
            there = folder_of(match["ours"]) if match and match["ours"] else None
            if there and there != here:
                seen.setdefault(here, set()).add(there)
    return {folder: frozenset(others) for folder, others in seen.items()}
