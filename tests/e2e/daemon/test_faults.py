"""What goes wrong around a program does not go wrong in it: daemons that die, lie, stall or are not
allowed, and places that cannot be written."""
import array
import json
import os
import pathlib
import signal
import socket
import stat
import struct
import threading
import unittest

from support.harness import (ATTACH_SUFFIX, OPTILE, OPTILED, PRELOAD, PROGRAMS, PYTHON, QUICK_BLAS,
                             SCRIPTS, EndToEndTest, blas, connectable, finish, read_until,
                             usable_cpus, wait_until, without_privileges)
from support.hostile_client import ATTACH_REQUEST_BYTES
from support.hostile_client import VERSION as ABI_VERSION

TRAINER = [PYTHON, SCRIPTS / "train_small.py"]
MAGIC = 0x6C697470
ATTACH_REQUEST, ATTACH_REPLY, REFUSED = 1, 2, 3


class FaultTest(EndToEndTest):
    """The program's widths are fixed in observe mode, so its output must be the untouched one's."""

    program = TRAINER

    def setUp(self):
        super().setUp()
        self.env = blas(QUICK_BLAS)

    def untouched(self, *arguments):
        return self.untouched_once([*self.program, *arguments],
                                   {**self.env, "OMP_NUM_THREADS": "2"})

    def run_observed(self, *arguments, wrap=lambda command: command, options=()):
        line = self.space.launcher("--mode", "observe", *options,
                                   command=[*self.program, *arguments])
        return self.space.run(wrap(line), {**self.env, "OMP_NUM_THREADS": "2"})


class ShortProgramTest(FaultTest):
    """With a program that starts in a moment: what goes wrong is before its first step."""
    program = [str(PROGRAMS / "blas_steps")]
    steps = ("200",)


class DaemonLoss(FaultTest):
    def interrupted(self, mode, act):
        """The trainer's end, with `act` done in the middle of it."""
        program = self.space.popen(
            self.space.launcher("--mode", mode, command=[*TRAINER, "--steps", "120", "--pause-at",
                                                         "40"]),
            {**self.env, "OMP_NUM_THREADS": "2"})
        before = read_until(program, "paused")
        act()
        finished = finish(program, "\n")
        finished.stdout = (before + finished.stdout).replace("paused\n", "")
        return finished

    def test_leaves_program_running_after_kill(self):  # fault: F1
        untouched = self.untouched("--steps", "120")
        daemon = self.space.start_daemon()
        self.assert_same_run(untouched, self.interrupted("observe", daemon.kill))

    def test_leaves_tuned_program_running_after_kill(self):
        daemon = self.space.start_daemon()
        finished = self.interrupted("tune", daemon.kill)
        self.assertEqual(0, finished.code, finished)
        self.assertEqual("", finished.stderr)
        self.assertIn("step 120 loss", finished.stdout)

    def test_leaves_program_running_across_restart(self):  # fault: F1
        untouched = self.untouched("--steps", "120")
        daemon = self.space.start_daemon()

        def replace():
            daemon.kill()
            self.space.start_daemon()

        self.assert_same_run(untouched, self.interrupted("observe", replace))
        self.assertEqual(0, self.interrupted("tune", lambda: None).code)

    def test_attaches_program_to_next_daemon(self):  # fault: F1
        """By itself, at an op boundary."""
        self.space.start_daemon().kill()
        daemon = self.space.start_daemon()
        program = self.space.popen(self.space.launcher(
            command=[*TRAINER, "--steps", "1000000"]), self.env)

        def attached():
            return [client["pid"] for client in self.space.ask_json("status")["clients"]]

        wait_until(lambda: attached() == [program.pid], "the program to attach")
        daemon.kill()
        self.space.start_daemon()
        wait_until(lambda: attached() == [program.pid], "the program to attach again")
        self.assertIsNone(program.poll())

    def test_counts_dropped_events_while_stopped(self):  # fault: F16
        """What no longer fits into the ring is counted, and the program does not notice."""
        arguments = ("--steps", "400")
        untouched = self.untouched(*arguments)
        daemon = self.space.start_daemon()
        program = self.space.popen(
            self.space.launcher("--mode", "observe", command=[
                *TRAINER, *arguments, "--pause-at", "3", "--pause-at", "400"]),
            {**self.env, "OMP_NUM_THREADS": "2"})
        output = read_until(program, "paused")
        wait_until(lambda: self.space.get("/v1/clients")["clients"], "the program to attach")
        daemon.process.send_signal(signal.SIGSTOP)
        program.stdin.write("\n")
        program.stdin.flush()
        output += read_until(program, "paused")
        daemon.process.send_signal(signal.SIGCONT)

        def events():
            return self.space.get("/v1/clients")["clients"][0]["events"]

        wait_until(lambda: events()["dropped"] > 0, "the dropped events to be counted")
        self.assertGreater(events()["read"], 0)
        self.assertEqual(0, events()["rejected"])
        finished = finish(program, "\n")
        finished.stdout = (output + finished.stdout).replace("paused\n", "")
        self.assert_same_run(untouched, finished)

    def test_leaves_program_running_while_stopped(self):  # fault: F16
        """A daemon that is there and never answers."""
        untouched = self.untouched("--steps", "120")
        daemon = self.space.start_daemon()
        stopped = self.interrupted("observe", lambda: daemon.process.send_signal(signal.SIGSTOP))
        self.assert_same_run(untouched, stopped)
        # Nor does the next launcher wait for it.
        self.assert_same_run(untouched, self.run_observed("--steps", "120"))
        daemon.process.send_signal(signal.SIGCONT)

    def test_yields_report_or_message(self):
        daemon = self.space.start_daemon()
        path = self.space.dir / "report.json"
        program = self.space.popen(
            self.space.launcher("--report", path, command=[*TRAINER, "--steps", "40", "--pause-at",
                                                           "30", "--exit-code", "5"]), self.env)
        read_until(program, "paused")
        daemon.kill()
        finished = finish(program, "\n")
        self.assertEqual(5, finished.code, finished)
        # Either a report that says what is missing, or a message that there is none.
        self.assertTrue(path.exists() or "report" in finished.stderr, finished)

    def test_survives_killed_client(self):
        daemon = self.space.start_daemon()
        program = self.space.popen(self.space.launcher(
            command=[*TRAINER, "--steps", "40", "--pause-at", "30"]), self.env)
        read_until(program, "paused")
        self.assertEqual(1, len(self.space.ask_json("status")["clients"]))
        program.kill()
        wait_until(lambda: not self.space.ask_json("status")["clients"], "the dead client to go")
        self.assertIsNone(daemon.process.poll())
        self.assertEqual(0, self.space.launched([*TRAINER, "--steps", "20"], env=self.env).code)

    def test_replaces_stale_socket(self):  # fault: F36
        untouched = self.untouched("--steps", "20")
        self.space.start_daemon().kill()
        self.assertTrue(self.space.socket.exists())
        preloaded = self.space.preloaded([*TRAINER, "--steps", "20"], {
            **self.env, "OMP_NUM_THREADS": "2", "OPTILE_MODE": "observe"})
        self.assert_same_run(untouched, preloaded)
        # The launcher puts a living one in its place.
        self.assert_same_run(untouched, self.run_observed("--steps", "20"))
        wait_until(lambda: connectable(self.space.socket, socket.SOCK_STREAM), "a new daemon")


class ClientLoss(FaultTest):
    def paused_client(self, *arguments):
        """A program between two steps, attached."""
        program = self.space.popen(self.space.launcher(
            command=[*TRAINER, "--steps", "40", "--pause-at", "20", *arguments]), self.env)
        read_until(program, "paused")
        wait_until(lambda: self.states() == ["running"], "the program to attach")
        return program

    def states(self):
        return [client["state"] for client in self.space.ask_json("status")["clients"]]

    def said_of_clients(self):
        log = (self.space.dir / "optiled.log").read_text(errors="replace")
        words = [line.split(" client 1 ", 1)[1].strip() for line in log.splitlines()
                 if " client 1 " in line]
        return [word for word in words if word in ("is dying", "left")]

    def test_lists_killed_client_as_dying(self):  # fault: F2
        """The daemon knows before the program's memory is gone and the connection with it."""
        self.space.start_daemon()
        program = self.paused_client("--resident-mb", "500")
        self.assertEqual([], self.said_of_clients())
        program.kill()
        program.wait()
        wait_until(lambda: "left" in self.said_of_clients(), "the program to be forgotten")
        self.assertEqual(["is dying", "left"], self.said_of_clients())

    def test_lists_stopped_client_as_stopped(self):  # fault: F17
        self.space.start_daemon()
        program = self.paused_client()
        program.send_signal(signal.SIGSTOP)
        wait_until(lambda: self.states() == ["stopped"], "the stop to be seen")
        program.send_signal(signal.SIGCONT)
        wait_until(lambda: self.states() == ["running"], "the program to go on")
        self.assertEqual(0, finish(program, "\n").code)


class SecondDaemon(FaultTest):
    def test_exits_and_touches_nothing(self):  # fault: F35
        daemon = self.space.start_daemon()
        sockets = [self.space.socket, pathlib.Path(f"{self.space.socket}{ATTACH_SUFFIX}")]
        before = [path.stat() for path in sockets]
        other_store = self.space.dir / "other.db"
        second = self.space.run([OPTILED, "--socket", self.space.socket, "--store", other_store])
        self.assertNotEqual(0, second.code, second)
        self.assertIn("optiled", second.stderr)
        self.assertEqual([(s.st_ino, s.st_ctime_ns) for s in before],
                         [(path.stat().st_ino, path.stat().st_ctime_ns) for path in sockets])
        self.assertFalse(other_store.exists())
        self.assertEqual(daemon.process.pid, daemon.status()["pid"])

    def test_starts_after_kill_of_first(self):
        self.space.start_daemon().kill()
        self.assertTrue(self.space.start_daemon().status()["pid"])

    def test_starts_once_for_two_launchers(self):
        for _ in range(3):
            programs = [self.space.popen(self.space.launcher(
                command=[*TRAINER, "--steps", "20"]), self.env) for _ in range(2)]
            ends = [finish(program) for program in programs]
            for end in ends:
                self.assertEqual(0, end.code, end)
                self.assertEqual("", end.stderr)
            wait_until(lambda: len(self.space.daemon_pids()) == 1, "one daemon to be left")
            pid = self.space.ask_json("status")["pid"]
            self.assertEqual([pid], self.space.daemon_pids())
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not self.space.daemon_pids(), "the daemon to be gone")

    def test_starts_once_for_many_launchers(self):
        programs = [self.space.popen(self.space.launcher(command=["sh", "-c", "exit 4"]))
                    for _ in range(12)]
        self.assertEqual([4] * 12, [finish(program).code for program in programs])
        wait_until(lambda: len(self.space.daemon_pids()) == 1, "one daemon to be left")


class FakeDaemon:
    """Owns both sockets and answers every client in one wrong way, on a thread of its own."""

    def __init__(self, path, answer):
        self._answer = answer
        self._stop, self._stopped = socket.socketpair()
        self._listeners = []
        for address, kind in ((str(path), socket.SOCK_STREAM),
                              (f"{path}{ATTACH_SUFFIX}", socket.SOCK_SEQPACKET)):
            listener = socket.socket(socket.AF_UNIX, kind)
            listener.bind(address)
            listener.listen(16)
            self._listeners.append(listener)
        self.attached = 0
        self.asked = []  # over HTTP, whole requests
        self._threads = [threading.Thread(target=self._serve, args=(listener,), daemon=True)
                         for listener in self._listeners]
        for thread in self._threads:
            thread.start()

    def _serve(self, listener):
        kept = []
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                break
            kept.append(peer)
            is_attach = listener is self._listeners[1]
            try:
                received = peer.recv(65536)
                if is_attach and received:
                    self.attached += 1
                if not is_attach:
                    self.asked.append(received.decode(errors="replace"))
                self._answer(peer, is_attach)
            except OSError:
                continue
        for peer in kept:
            peer.close()

    def close(self):
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in self._threads:
            thread.join()


def frame_header(kind, size, version=ABI_VERSION, magic=MAGIC):
    return struct.pack("<IHHII", magic, version, kind, size, 0)


def attach_reply(version, sizes=(1 << 20, 1 << 20)):
    return frame_header(ATTACH_REPLY, 72, version) + struct.pack("<QQQ4Q", 1, *sizes, 0, 0, 0, 0)


def http_answer(body):
    return (f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"Connection: close\r\n\r\n{body}").encode()


def answer_other_version(peer, is_attach):
    peer.sendall(attach_reply(999) if is_attach
                 else http_answer('{"version":"999.0.0","pid":1,"clients":[]}'))


def answer_refusal(peer, is_attach):
    peer.sendall(frame_header(REFUSED, 144) + b"another version".ljust(128, b"\0") if is_attach
                 else http_answer('{"version":"999.0.0"}'))


def answer_garbage(peer, is_attach):
    peer.sendall(b"\xff" * (72 if is_attach else 500))


def answer_without_descriptors(peer, is_attach):
    peer.sendall(attach_reply(ABI_VERSION) if is_attach else http_answer("[]"))


def answer_tiny_memory(peer, is_attach):
    """An attach reply whose regions are far smaller than it says: touching them would be fatal."""
    if not is_attach:
        return peer.sendall(http_answer("{}"))
    regions = [os.memfd_create("region", os.MFD_CLOEXEC) for _ in range(2)]
    try:
        for region in regions:
            os.ftruncate(region, 4096)
        peer.sendmsg([attach_reply(ABI_VERSION, (1 << 26, 1 << 26))],
                     [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", regions))])
    finally:
        for region in regions:
            os.close(region)


def answer_nothing(_peer, _is_attach):
    return None


def answer_hangup(peer, _is_attach):
    peer.close()


class LaunchQuestion(FaultTest):
    """A program whose teams nothing resizes asks how to start."""

    def launches(self, width_when_announced, *options):
        """What a program of regions only asked, and with how many threads it started."""
        def answer(peer, is_attach):
            if is_attach:
                return
            announced = '"announced":true' in fake.asked[-1]
            width = width_when_announced if announced else 0
            peer.sendall(http_answer(json.dumps({"environment": {}, "width": width})))

        fake = FakeDaemon(self.space.socket, answer)
        self.addCleanup(fake.close)
        process = self.space.popen(
            self.space.launcher(*options, command=[PROGRAMS / "sweeps"]), self.env)
        line = process.stdout.readline()
        process.kill()
        return [one for one in fake.asked if "/v1/launch" in one], line

    def assert_announced(self, asked):
        """It says that it comes before it looks at its program, and asks only then."""
        self.assertTrue(asked)
        self.assertEqual([False] + [True] * (len(asked) - 1),
                         ['"announced":true' in one for one in asked], asked)
        self.assertEqual([False] + [True] * (len(asked) - 1),
                         ['"uses_openmp":true' in one for one in asked], asked)

    def test_starts_program_with_its_part_beside_others(self):
        asked, line = self.launches(1)
        self.assert_announced(asked)
        self.assertEqual(2, len(asked), asked)
        self.assertIn("threads 1 ", line)

    def test_repeats_question_when_alone(self):
        asked, line = self.launches(0)
        self.assert_announced(asked)
        # Not where the look alone took as long as it would wait for others.
        self.assertIn(len(asked), (2, 3), asked)
        self.assertIn(f"threads {usable_cpus()} ", line)

    def test_is_asked_once_with_default_width(self):
        self.env["OMP_NUM_THREADS"] = "2"
        asked, line = self.launches(0)
        self.assert_announced(asked)
        self.assertEqual(2, len(asked), asked)
        self.assertIn("threads 2 ", line)

    def test_announces_no_start_in_observe_mode(self):
        asked, line = self.launches(1, "--mode", "observe")
        self.assertEqual(1, len(asked), asked)
        self.assertIn('"starts":false', asked[0])
        self.assertIn(f"threads {usable_cpus()} ", line)


class FaultyDaemon(ShortProgramTest):
    """Somebody else answers at the sockets; the program cannot tell."""

    def assert_untouched_by(self, answer):
        untouched = self.untouched(*self.steps)
        fake = FakeDaemon(self.space.socket, answer)
        self.addCleanup(fake.close)
        env = {**self.env, "OMP_NUM_THREADS": "2", "OPTILE_MODE": "observe"}
        self.assert_same_run(untouched, self.space.preloaded([*self.program, *self.steps], env))
        self.assertGreater(fake.attached, 0, "the shim never came")
        self.assert_same_run(untouched, self.run_observed(*self.steps))
        del env["OPTILE_MODE"]  # it may steer
        self.assert_same_run(untouched, self.space.preloaded([*self.program, *self.steps], env))

    def test_leaves_program_untouched_on_version_mismatch(self):
        self.assert_untouched_by(answer_other_version)

    def test_leaves_program_untouched_on_refusal(self):
        self.assert_untouched_by(answer_refusal)

    def test_leaves_program_untouched_on_garbage(self):
        self.assert_untouched_by(answer_garbage)

    def test_leaves_program_untouched_without_descriptors(self):
        self.assert_untouched_by(answer_without_descriptors)

    def test_leaves_program_untouched_on_short_memory(self):
        self.assert_untouched_by(answer_tiny_memory)

    def test_leaves_program_untouched_on_silence(self):
        self.assert_untouched_by(answer_nothing)

    def test_leaves_program_untouched_on_hangup(self):
        self.assert_untouched_by(answer_hangup)

    def test_survives_malformed_clients(self):
        daemon = self.space.start_daemon()
        whole = frame_header(ATTACH_REQUEST, ATTACH_REQUEST_BYTES)
        frames = [b"", b"x", b"\xff" * 100, frame_header(ATTACH_REQUEST, 16),
                  frame_header(ATTACH_REQUEST, ATTACH_REQUEST_BYTES, 999),
                  whole + b"\xff" * (ATTACH_REQUEST_BYTES - len(whole)),
                  frame_header(ATTACH_REPLY, 72) + bytes(56),
                  bytes(ATTACH_REQUEST_BYTES), b"\xff" * 70000]
        for frame in frames:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
                peer.connect(f"{self.space.socket}{ATTACH_SUFFIX}")
                peer.settimeout(30)
                try:
                    peer.send(frame)
                    peer.recv(8192)
                except OSError:
                    pass
        for request in (b"", b"GET", b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 100000,
                        b"POST /v1/status HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                        b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                peer.connect(str(self.space.socket))
                peer.settimeout(30)
                try:
                    peer.sendall(request)
                    peer.shutdown(socket.SHUT_WR)
                    peer.recv(8192)
                except OSError:
                    pass
        self.assertEqual(daemon.process.pid, daemon.status()["pid"])
        self.assertEqual([], daemon.status()["clients"])


class DeniedAccess(ShortProgramTest):
    """The program runs, and the message says what is lost."""

    def assert_runs_with_message(self, untouched, finished, *words):
        self.assert_same_run(untouched, finished)
        for word in words:
            self.assertIn(word, finished.stderr)

    def test_leaves_program_untouched_without_socket_permission(self):
        untouched = self.untouched(*self.steps)
        self.space.start_daemon()
        for path in (self.space.socket, pathlib.Path(f"{self.space.socket}{ATTACH_SUFFIX}")):
            path.chmod(0)
        finished = self.run_observed(*self.steps, wrap=without_privileges)
        self.assert_runs_with_message(untouched, finished, "optile", str(self.space.socket))
        # The bare shim has nobody to tell, and says nothing on the program's descriptors.
        bare = self.space.run(
            without_privileges(["env", f"LD_PRELOAD={PRELOAD}", *self.program, *self.steps]),
            {**self.env, "OMP_NUM_THREADS": "2", "OPTILE_SOCKET": str(self.space.socket)})
        self.assert_same_run(untouched, bare)
        self.assertEqual(untouched.stderr, bare.stderr)

    def unwritable_folder(self):
        folder = self.space.dir / "unwritable"
        folder.mkdir()
        folder.chmod(0o500)
        return folder

    def test_starts_program_with_unwritable_store(self):
        untouched = self.untouched(*self.steps)
        self.space.store = self.unwritable_folder() / "store.db"
        finished = self.run_observed(*self.steps, wrap=without_privileges)
        self.assert_runs_with_message(untouched, finished, "store")
        self.assertFalse(self.space.store.exists())

    def test_starts_daemon_with_unwritable_store(self):  # fault: F9
        store = self.unwritable_folder() / "store.db"
        daemon = self.space.start_daemon(store=store, wrap=without_privileges)
        finished = self.space.launched([*self.program, *self.steps], env=self.env)
        self.assertEqual(0, finished.code, finished)
        self.assertIn("store", str(daemon.status()))
        self.assertIn("store", self.space.ask("status").stdout)

    def test_starts_program_with_store_below_a_file(self):
        untouched = self.untouched(*self.steps)
        (self.space.dir / "plain").write_text("")
        self.space.store = self.space.dir / "plain" / "store.db"
        self.assert_runs_with_message(untouched, self.run_observed(*self.steps), "store")

    def test_renames_damaged_store(self):  # fault: F10
        untouched = self.untouched(*self.steps)
        self.space.store.write_bytes(os.urandom(20000))
        self.assert_same_run(untouched, self.run_observed(*self.steps))
        self.assertTrue(self.space.ask_json("status")["pid"])

    def test_starts_program_with_unwritable_socket_folder(self):
        untouched = self.untouched(*self.steps)
        self.space.socket = self.unwritable_folder() / "optiled.sock"
        self.assert_runs_with_message(
            untouched, self.run_observed(*self.steps, wrap=without_privileges), "optile")

    def test_starts_program_with_oversized_socket_path(self):
        untouched = self.untouched(*self.steps)
        self.space.socket = self.space.dir / ("long" * 40) / "optiled.sock"
        self.assert_runs_with_message(untouched, self.run_observed(*self.steps), "optile",
                                      "bytes", "--socket")

    def test_keeps_exit_code_with_unwritable_report(self):
        path = self.space.dir / "nowhere" / "report.json"
        untouched = self.untouched(*self.steps)
        finished = self.run_observed(*self.steps, options=("--report", path))
        self.assert_runs_with_message(untouched, finished, str(path), "it is tried again when")

    def test_starts_program_without_runtime_folder(self):
        """XDG_RUNTIME_DIR is often set and missing; nothing is named on the command line."""
        untouched = self.untouched(*self.steps)
        env = {**self.env, "OMP_NUM_THREADS": "2",
               "XDG_RUNTIME_DIR": str(self.space.dir / "missing")}
        line = [OPTILE, "run", "--mode", "observe", "--store", self.space.store, "--",
                *self.program, *self.steps]
        self.assert_same_run(untouched, self.space.run(line, env))

    def test_starts_program_without_any_store(self):  # fault: F9
        """Neither a home nor a state folder that can be written."""
        untouched = self.untouched(*self.steps)
        home = self.unwritable_folder()
        env = {**self.env, "OMP_NUM_THREADS": "2", "HOME": str(home), "XDG_DATA_HOME": str(home),
               "XDG_STATE_HOME": str(home), "XDG_CACHE_HOME": str(home)}
        line = without_privileges(map(str, [OPTILE, "run", "--mode", "observe", "--socket",
                                            self.space.socket, "--", *self.program, *self.steps]))
        self.assert_runs_with_message(untouched, self.space.run(line, env), "store")


class Footprint(FaultTest):
    def test_leaves_no_shared_memory_or_temporary_files(self):
        def traces():
            return {path for folder in ("/dev/shm", "/tmp", self.space.dir / "tmp")
                    for path in pathlib.Path(folder).glob("*ptile*")
                    if not path.name.startswith("optile-e2e-")}

        before = traces()
        self.space.start_daemon()
        self.space.launched([*TRAINER, "--steps", "20"], env=self.env)
        self.assertEqual(set(), traces() - before)

    def test_keeps_store_and_folders_private(self):
        self.space.launched([*TRAINER, "--steps", "20"], env=self.env)
        wait_until(self.space.store.exists, "the store")
        self.assertEqual(0, stat.S_IMODE(self.space.store.stat().st_mode) & 0o077)

    def test_adds_no_threads_to_program(self):
        """No helper thread lives in the program."""
        script = "import os, torch; torch.ones(9).sum(); print(len(os.listdir('/proc/self/task')))"
        env = {**self.env, "OMP_NUM_THREADS": "2"}
        untouched = self.space.untouched([PYTHON, "-c", script], env)
        self.space.start_daemon()
        self.assert_same_run(untouched, self.space.launched([PYTHON, "-c", script], "--mode",
                                                            "observe", env=env))


if __name__ == "__main__":
    unittest.main()
