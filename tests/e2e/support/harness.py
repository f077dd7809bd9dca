"""What every end-to-end test needs: a private place to run in, the built binaries, a daemon that is
known to be ready, requests over its Unix socket, and waiting for events instead of for time.

Each Workspace has directories of its own for everything that optile or a program could write, and
takes every process that it started, or that the launcher started for it, down at its end.
"""
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ.get("OPTILE_BUILD_DIR", "build")).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
OPTILE = BUILD / "bin" / "optile"
OPTILE_TOOL = BUILD / "bin" / "optile-tool"  # what `optile` becomes for all but `run`
OPTILED = BUILD / "bin" / "optiled"
PRELOAD = BUILD / "lib" / "liboptile_preload.so"
PROGRAMS = BUILD / "tests" / "programs"
SCRIPTS = SOURCE / "programs" / "python"
PYTHON = "/usr/bin/python3"  # Debian's: the one that python3-torch is installed for
ATTACH_SUFFIX = ".attach"

# Generous, for a loaded machine with two cores; no test's verdict depends on how long it takes.
DEADLINE = 150.0

# Nothing of the caller's environment that could steer a program under test.
_FOREIGN = ("OMP_", "GOMP_", "KMP_", "OPTILE_", "OPENBLAS_", "BLIS_", "MKL_", "DNNL_", "LD_",
            "XDG_", "PYTHON", "ASAN_")


class Finished:
    """How a program ended."""

    def __init__(self, code, stdout, stderr):
        self.code = code
        self.stdout = stdout
        self.stderr = stderr

    @property
    def shell_code(self):
        """As `$?` shows it: death by a signal is 128 + its number."""
        return 128 - self.code if self.code < 0 else self.code

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


def wait_until(condition, what, deadline=DEADLINE):
    """Asks until `condition()` is true and returns what it returned."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline:.0f} s in vain for {what}")
        time.sleep(0.02)


def library_folder():
    return pathlib.Path("/usr/lib") / (sysconfig.get_config_var("MULTIARCH") or "")


_BLAS_PACKAGES = {"openblas-openmp": "libopenblas0-openmp",
                  "openblas-pthread": "libopenblas0-pthread", "blis-openmp": "libblis4-openmp"}


def blas(provider):
    """The environment that makes a process load `provider`'s BLAS."""
    folder = library_folder() / provider
    if not (folder / "libblas.so.3").exists():
        raise AssertionError(f"{folder} is missing: install Debian's {_BLAS_PACKAGES[provider]}")
    return {"LD_LIBRARY_PATH": str(folder)}


# What most tests with PyTorch pin: one thread pool in the process, so that they are quick.
QUICK_BLAS = "openblas-openmp"


def usable_cpus():
    return len(os.sched_getaffinity(0))


def without_privileges(command):
    """`command` with root's power to ignore permissions taken away, where the caller is root."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *command]


def processes_mentioning(text):
    """Pids of running processes with `text` in their command line, our own excluded."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in line and "\nState:\tZ" not in (entry / "status").read_text():
                found.append(int(entry.name))
    return found


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def get(socket_path, target):
    """GET over the Unix socket: (status, decoded JSON)."""
    connection = _UnixConnection(socket_path)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def connectable(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


class Daemon:
    """A running optiled of this test."""

    def __init__(self, process, socket_path):
        self.process = process
        self.socket = socket_path

    def status(self):
        code, body = get(self.socket, "/v1/status")
        assert code == 200, (code, body)
        return body

    def kill(self):
        """As the kernel would: no word of farewell."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("the daemon did not end after SIGTERM") from None


class Workspace:
    """A private directory with the environment to run things in it."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="optile-e2e-"))
        self.runtime = self.dir / "runtime"
        self.socket = self.dir / "optiled.sock"
        self.store = self.dir / "store.db"
        for name in ("runtime", "home", "cache", "config", "data", "state", "tmp"):
            (self.dir / name).mkdir(mode=0o700)
        self._daemons = []
        self._programs = []

    def environment(self, extra=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
        env.update(HOME=str(self.dir / "home"), TMPDIR=str(self.dir / "tmp"),
                   XDG_RUNTIME_DIR=str(self.runtime), XDG_CACHE_HOME=str(self.dir / "cache"),
                   XDG_CONFIG_HOME=str(self.dir / "config"), XDG_DATA_HOME=str(self.dir / "data"),
                   XDG_STATE_HOME=str(self.dir / "state"), PYTHONDONTWRITEBYTECODE="1",
                   OPTILE_EXTERNAL_LOAD="ignore",  # tests run beside each other
                   OPTILE_PATIENCE="1500",  # and so a daemon may answer late
                   # The machine's own is none of a test's business.
                   OPTILE_SYSTEM_SOCKET=str(self.dir / "no-system-daemon.sock"))
        env.update(extra or {})
        return env

    # ---- the daemon
    def start_daemon(self, store=None, wrap=lambda command: command, options=()):
        command = wrap([str(OPTILED), "--socket", str(self.socket), "--store",
                        str(store or self.store), *options])
        log = (self.dir / "optiled.err").open("ab")
        with log:
            process = subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log)
        daemon = Daemon(process, self.socket)
        self._daemons.append(daemon)

        def ready():
            if process.poll() is not None:
                raise AssertionError(f"optiled ended at start with {process.returncode}:\n"
                                     + self.daemon_log())
            return (connectable(self.socket, socket.SOCK_STREAM)
                    and connectable(f"{self.socket}{ATTACH_SUFFIX}", socket.SOCK_SEQPACKET))

        wait_until(ready, "the daemon to accept connections")
        return daemon

    def daemon_log(self):
        path = self.dir / "optiled.err"
        return path.read_text(errors="replace") if path.exists() else ""

    def get(self, target):
        code, body = get(self.socket, target)
        assert code == 200, (target, code, body)
        return body

    # ---- programs
    def launcher(self, *options, command=None, verb="run"):
        """`optile VERB OPTIONS -- COMMAND` with this workspace's socket and store."""
        line = [str(OPTILE), verb, "--socket", str(self.socket), "--store", str(self.store)]
        line += [str(option) for option in options]
        return line + ["--", *map(str, command)] if command else line

    def popen(self, command, env=None, **options):
        defaults = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True)
        defaults.update(options)
        process = subprocess.Popen(list(map(str, command)), env=self.environment(env),
                                   cwd=self.dir, **defaults)
        self._programs.append(process)
        return process

    def run(self, command, env=None, input_text="", deadline=DEADLINE):
        return finish(self.popen(command, env), input_text, deadline)

    def untouched(self, command, env=None, **options):
        return self.run(command, env, **options)

    def preloaded(self, command, env=None, **options):
        """The shim alone, without a launcher; it finds this workspace's daemon if there is one."""
        return self.run(command, {"LD_PRELOAD": str(PRELOAD), "OPTILE_SOCKET": str(self.socket),
                                  **(env or {})}, **options)

    def launched(self, command, *launcher_options, env=None, **options):
        return self.run(self.launcher(*launcher_options, command=command), env, **options)

    def ask(self, *words):
        """`optile WORDS --socket …`, such as status, ops or explain."""
        return self.run([OPTILE, *words, "--socket", self.socket])

    def ask_json(self, *words):
        answer = self.ask(*words, "--json")
        assert answer.code == 0, answer
        return json.loads(answer.stdout)

    def bridges(self):
        """A cache with the bridge to the PyTorch of OPTILE_WHEEL_PYTHON, one for all tests of this
        build folder: whoever comes first builds it, the others wait."""
        folder = BUILD / "tests" / "bridges"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        env = {"XDG_CACHE_HOME": str(folder)}
        python = ["--python", os.environ["OPTILE_WHEEL_PYTHON"]]
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.run([OPTILE, "bridge", "check", *python], env).code != 0:
                built = self.run([OPTILE, "bridge", "build", *python], env, deadline=4 * DEADLINE)
                assert built.code == 0, built
        return str(folder)

    # ---- the end
    def daemon_pids(self):
        """Daemons that serve this workspace, whoever started them."""
        return [pid for pid in processes_mentioning(str(self.dir)) if _is_daemon(pid)]

    def close(self):
        for process in self._programs:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for daemon in self._daemons:
            if daemon.process.poll() is None:
                daemon.kill()
        for pid in self.daemon_pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: pid not in self.daemon_pids(), "a daemon to be gone")
        for path in self.dir.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.dir, ignore_errors=True)


def _is_daemon(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "optiled"
    return False


def finish(process, input_text="", deadline=DEADLINE):
    """Feeds `input_text`, waits, and returns how it ended. Past the deadline the process is killed
    and the test fails."""
    try:
        stdout, stderr = process.communicate(input_text, timeout=deadline)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        raise AssertionError(f"still running after {deadline:.0f} s: {process.args}\n"
                             f"--- stdout\n{stdout}\n--- stderr\n{stderr}") from None
    return Finished(process.returncode, stdout, stderr)


def read_until(process, line):
    """Reads the process's output up to and including `line`; returns all that was read."""
    seen = []
    for text in process.stdout:
        seen.append(text)
        if text.rstrip("\n") == line:
            return "".join(seen)
    raise AssertionError(f"{line!r} never came; exit {process.wait()}, output {''.join(seen)!r}, "
                         f"errors {process.stderr.read()!r}")


class EndToEndTest(unittest.TestCase):
    """A test with a workspace of its own."""

    maxDiff = None

    def setUp(self):
        for binary in (OPTILE, OPTILED, PRELOAD):
            self.assertTrue(binary.exists(), f"{binary} is missing: build all targets first")
        self.space = Workspace()
        self.addCleanup(self.space.close)

    untouched_runs = {}

    def untouched_once(self, command, env, key=None):
        """An untouched run that serves all tests of the class which compare with it. `key`: of the
        command, where a file of this test is part of it."""
        key = (type(self), key or tuple(map(str, command)), tuple(sorted(env.items())))
        if key not in self.untouched_runs:
            self.untouched_runs[key] = self.space.untouched(command, env)
        return self.untouched_runs[key]

    def assert_same_run(self, expected, got):
        """Exit code and output are the program's own."""
        self.assertEqual(expected.code, got.code, got)
        self.assertEqual(expected.stdout, got.stdout, got)

    def report(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)


if __name__ == "__main__":
    sys.exit("the tests are in test_*.py")
