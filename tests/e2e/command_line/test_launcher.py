"""The launcher as a command: exit codes, messages, signals, the terminal, what it leaves behind."""
import fcntl
import os
import pathlib
import pty
import re
import resource
import signal
import socket
import termios
import unittest

from support.harness import (DEADLINE, OPTILE, PRELOAD, PROGRAMS, PYTHON, SCRIPTS, EndToEndTest,
                             connectable, finish, get, read_until, wait_until)

SIGNALS = [PYTHON, SCRIPTS / "answers_signals.py"]


class ExitCode(EndToEndTest):
    """125: our own failure, 126: cannot be executed, 127: not found; else it is the program's."""

    def assert_refused(self, line, *words):
        finished = self.space.run(line)
        self.assertEqual(125, finished.code, finished)
        self.assertEqual("", finished.stdout, finished)
        for word in words:
            self.assertIn(word, finished.stderr)
        return finished

    def test_is_125_for_unknown_option(self):
        self.assert_refused([OPTILE, "run", "--no-such-flag", "--", "true"], "--no-such-flag")

    def test_is_125_for_unknown_option_of_baseline(self):
        self.assert_refused([OPTILE, "baseline", "--no-such-flag", "--", "true"], "--no-such-flag")

    def test_is_125_for_invalid_value(self):
        for option, value in (("--mode", "faster"), ("--openmp", "gcc"), ("--launch", "later"),
                              ("--blas", "mkl"), ("--search", "luck"), ("--strategy", "7")):
            with self.subTest(option):
                # What can be chosen is part of the message.
                self.assert_refused([OPTILE, "run", option, value, "--", "true"], option, value)

    def test_starts_nothing_on_unknown_option(self):
        marker = self.space.dir / "started"
        self.assert_refused(self.space.launcher("--mode", "faster", command=["touch", marker]))
        self.assertFalse(marker.exists())
        self.assertFalse(self.space.socket.exists())

    def test_is_125_without_command(self):
        self.assert_refused(self.space.launcher())
        self.assert_refused(self.space.launcher() + ["--"])

    def test_is_125_for_unknown_verb(self):
        self.assert_refused([OPTILE, "faster"], "faster")

    def test_is_127_for_missing_program(self):
        for options in ((), ("--summary",), ("--mode", "off")):
            with self.subTest(options):
                finished = self.space.launched(["no-such-program-anywhere"], *options)
                self.assertEqual(127, finished.code, finished)
                self.assertIn("no-such-program-anywhere", finished.stderr)

    def test_is_127_for_missing_path(self):
        finished = self.space.launched([self.space.dir / "missing"])
        self.assertEqual(127, finished.code, finished)
        self.assertIn("missing", finished.stderr)

    def test_is_126_for_file_without_execute_permission(self):
        plain = self.space.dir / "plain-file"
        plain.write_text("#!/bin/sh\n")
        for options in ((), ("--summary",), ("--mode", "off")):
            with self.subTest(options):
                finished = self.space.launched([plain], *options)
                self.assertEqual(126, finished.code, finished)
                self.assertIn("plain-file", finished.stderr)

    def test_is_126_for_directory(self):
        self.assertEqual(126, self.space.launched([self.space.dir / "home"]).code)

    def test_is_that_of_program(self):
        for options in ((), ("--summary",), ("--report", self.space.dir / "report.json"),
                        ("--mode", "off")):
            for code in (0, 1, 42, 125, 255):
                with self.subTest(options=options, code=code):
                    finished = self.space.launched(["sh", "-c", f"exit {code}"], *options)
                    self.assertEqual(code, finished.code, finished)

    def test_is_that_of_program_under_baseline(self):
        line = self.space.launcher(command=["sh", "-c", "echo out; exit 9"], verb="baseline")
        finished = self.space.run(line)
        self.assertEqual((9, "out\n"), (finished.code, finished.stdout), finished)

    def test_is_0_for_help(self):
        for words in (["--help"], ["run", "--help"], ["baseline", "--help"], ["explain", "--help"]):
            with self.subTest(words):
                finished = self.space.run([OPTILE, *words])
                self.assertEqual(0, finished.code, finished)
                self.assertIn("sage", finished.stdout)

    def test_is_failure_for_queries_without_daemon(self):
        for words in (["status"], ["ops"], ["explain", "conv"]):
            with self.subTest(words):
                finished = self.space.ask(*words)
                self.assertNotEqual(0, finished.code, finished)
                self.assertIn(str(self.space.socket), finished.stderr)


class LaunchEnvironment(EndToEndTest):
    def test_passes_arguments_unchanged(self):
        command = ["sh", "-c", 'printf "[%s]" "$@"', "sh", "--mode", "off", "--", "a b", "", "-x",
                   "--report=nowhere", "--"]
        untouched = self.space.untouched(command)
        self.assert_same_run(untouched, self.space.launched(command))
        self.assert_same_run(untouched, self.space.launched(command, "--summary"))

    def test_passes_input_and_working_directory(self):
        command = ["sh", "-c", "pwd; cat; echo on stderr >&2"]
        for options in ((), ("--summary",)):
            with self.subTest(options):
                finished = self.space.launched(command, *options, input_text="one\ntwo\n")
                self.assertEqual(f"{self.space.dir}\none\ntwo\n", finished.stdout)
                self.assertIn("on stderr\n", finished.stderr)

    def test_prints_nothing_without_problems(self):
        self.space.start_daemon()
        finished = self.space.launched(["true"])
        self.assertEqual((0, "", ""), (finished.code, finished.stdout, finished.stderr))

    def test_prints_summary_to_standard_error(self):
        finished = self.space.launched(["echo", "mine"], "--summary")
        self.assertEqual("mine\n", finished.stdout)
        self.assertNotEqual("", finished.stderr)

    def test_leaves_no_descriptor_open(self):
        command = ["sh", "-c", "ls /proc/self/fd"]
        untouched = self.space.untouched(command)
        for options in ((), ("--summary",), ("--mode", "off")):
            with self.subTest(options):
                self.assert_same_run(untouched, self.space.launched(command, *options))

    def test_keeps_preload_of_user(self):
        theirs = [str(PROGRAMS / "forcing_shim.so"), str(PROGRAMS / "plugin_first.so")]
        finished = self.space.launched(["sh", "-c", 'echo "$LD_PRELOAD"'],
                                       env={"LD_PRELOAD": ":".join(theirs)})
        names = re.split("[: ]+", finished.stdout.strip())
        self.assertEqual(theirs, [name for name in names if name in theirs])
        self.assertIn(str(PRELOAD), [os.path.realpath(name) for name in names])

    def test_preloads_shim_before_llvm_runtime(self):
        finished = self.space.launched([PYTHON, "-c", "import os; print(os.environ['LD_PRELOAD'])"],
                                       "--openmp", "llvm")
        names = [pathlib.Path(name).name for name in re.split("[: ]+", finished.stdout.strip())]
        runtime = [name for name in names if name.startswith("libomp")]
        self.assertEqual(1, len(runtime), finished)
        self.assertLess(names.index(PRELOAD.name), names.index(runtime[0]))

    def test_keeps_thread_count_of_user(self):
        finished = self.space.launched(["sh", "-c", 'echo "$OMP_NUM_THREADS"'],
                                       env={"OMP_NUM_THREADS": "1"})
        self.assertEqual("1\n", finished.stdout)

    # Prints what libraries of a program get when they ask for OMP_NUM_THREADS.
    ASKS = [PYTHON, "-c", "import ctypes; ask = ctypes.CDLL(None).getenv\n"
            "ask.restype = ctypes.c_char_p; print((ask(b'OMP_NUM_THREADS') or b'none').decode())"]

    def test_sets_thread_count_to_budget_where_unset(self):
        self.space.start_daemon()
        finished = self.space.launched(self.ASKS)
        self.assertEqual(len(os.sched_getaffinity(0)), int(finished.stdout), finished)

    def test_sets_thread_count_within_affinity_mask(self):
        one = str(min(os.sched_getaffinity(0)))
        line = ["taskset", "-c", one, *self.space.launcher(command=self.ASKS)]
        self.assertEqual("1\n", self.space.run(line).stdout)
        finished = self.space.launched(["taskset", "-c", one, *self.ASKS])
        self.assertEqual("1\n", finished.stdout, finished)

    def test_exports_no_thread_count(self):
        # Whoever gives children a number where nobody has set one goes on doing so.
        finished = self.space.launched(["sh", "-c", 'echo "${OMP_NUM_THREADS-unset}"'])
        self.assertEqual("unset\n", finished.stdout, finished)
        finished = self.space.launched(
            ["sh", "-c", 'OMP_NUM_THREADS=${OMP_NUM_THREADS:-3} "$@"', "sh", *self.ASKS])
        self.assertEqual("3\n", finished.stdout, finished)

    def test_divides_budget_among_ranks(self):
        self.space.start_daemon()
        each = max(1, len(os.sched_getaffinity(0)) // 2)
        for words in (["OMPI_COMM_WORLD_LOCAL_SIZE=2"], ["SLURM_STEP_TASKS_PER_NODE=2(x3)"],
                      # As torchrun starts them where nobody has set a number.
                      ["LOCAL_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none", "OMP_NUM_THREADS=1"]):
            with self.subTest(words):
                finished = self.space.launched(["env", *words, *self.ASKS])
                self.assertEqual(each, int(finished.stdout), finished)

    def test_caps_thread_count_at_scheduler_number(self):
        for words in (["SLURM_STEP_NUM_TASKS=2", "SLURM_CPUS_PER_TASK=1"], ["OMP_NUM_THREADS=1"]):
            with self.subTest(words):
                finished = self.space.launched(["env", *words, *self.ASKS])
                self.assertEqual("1\n", finished.stdout, finished)

    def test_applies_thread_count_of_script_to_ranks(self):
        rank = ["env", "LOCAL_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none", "sh", "-c",
                'echo "$OMP_NUM_THREADS $OPTILE_DEFAULT_WIDTH_SOURCE"']
        finished = self.space.launched(["env", "OMP_NUM_THREADS=1", *rank])
        self.assertEqual("1 environment\n", finished.stdout, finished)
        same = str(len(os.sched_getaffinity(0)))
        finished = self.space.launched(["env", f"OMP_NUM_THREADS={same}", *rank])
        self.assertEqual(f"{same} environment\n", finished.stdout, finished)

    def test_ignores_budget_of_another_machine(self):
        finished = self.space.launched(
            ["env", "OPTILE_DEFAULT_WIDTH_SOURCE=launcher:2@another-machine", *self.ASKS])
        self.assertEqual("none\n", finished.stdout, finished)

    def heap_words(self, command, *options, env=None):
        """What a program started like this was told about malloc, by name."""
        finished = self.space.run(self.space.launcher(*options, command=command), env or {})
        self.assertEqual(0, finished.code, finished)
        words = (line.split("=", 1) for line in finished.stdout.splitlines())
        return {name: value for name, value in words if name.startswith("MALLOC_")}

    def test_keeps_heap_of_python_with_pytorch(self):
        tells = [PYTHON, "-c", "import os\nfor word in os.environ.items(): print('='.join(word))"]
        kept = {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
        self.assertEqual(kept, self.heap_words(tells))
        self.assertEqual({}, self.heap_words(tells, "--launch", "keep"))
        self.assertEqual({}, self.heap_words(tells, "--mode", "observe"))
        self.assertEqual({"MALLOC_ARENA_MAX": "1"},
                         self.heap_words(tells, env={"MALLOC_ARENA_MAX": "1"}))
        self.assertEqual({}, self.heap_words(["env"]))


class OffMode(EndToEndTest):
    """`--mode off` leaves no trace."""

    def test_keeps_environment_of_caller(self):
        untouched = self.space.untouched(["env"])
        finished = self.space.launched(["env"], "--mode", "off")
        self.assertEqual(sorted(untouched.stdout.splitlines()),
                         sorted(finished.stdout.splitlines()))

    def test_starts_no_daemon(self):
        self.space.launched([PROGRAMS / "constructs"], "--mode", "off")
        self.assertEqual([], self.space.daemon_pids())
        self.assertFalse(self.space.socket.exists())

    def test_attaches_no_client(self):
        self.space.start_daemon()
        program = self.space.popen(self.space.launcher(
            "--mode", "off", command=[PYTHON, SCRIPTS / "train_small.py", "--steps", "4",
                                      "--pause-at", "3"]))
        read_until(program, "paused")
        self.assertEqual([], self.space.ask_json("status")["clients"])
        self.assertEqual(0, finish(program, "\n").code)

    def test_disables_preloaded_shim(self):
        self.space.start_daemon()
        finished = self.space.preloaded([PROGRAMS / "constructs"], {"OPTILE_MODE": "off"})
        self.assertEqual(0, finished.code, finished)
        self.assertEqual([], self.space.ask_json("status")["clients"])


class Signals(EndToEndTest):
    def ways(self):
        return {"exec": (), "report": ("--report", self.space.dir / "report.json"),
                "summary": ("--summary",), "off": ("--mode", "off")}

    def ended_by(self, options, number, *arguments):
        process = self.space.popen(self.space.launcher(*options, command=[*SIGNALS, *arguments]))
        read_until(process, "ready")
        process.send_signal(number)
        process.wait(DEADLINE)  # its input stays open until then: the signal alone must end it
        return finish(process)

    def test_pass_on_death_by_signal(self):
        for name, options in self.ways().items():
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(name, signal=number):
                    finished = self.ended_by(options, number)
                    self.assertEqual(128 + number, finished.shell_code, finished)

    def test_run_handlers_of_program(self):
        for name, options in self.ways().items():
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(name, signal=number):
                    finished = self.ended_by(options, number, "--handle")
                    self.assertEqual(7, finished.code, finished)
                    self.assertEqual(f"caught {number.name}\n", finished.stdout)

    def test_report_killed_program(self):
        for name, options in self.ways().items():
            with self.subTest(name):
                finished = self.space.launched(["sh", "-c", "kill -KILL $$"], *options)
                self.assertEqual(128 + signal.SIGKILL, finished.shell_code, finished)

    def test_leave_report_written(self):
        path = self.space.dir / "report.json"
        self.ended_by(("--report", path), signal.SIGTERM)
        self.assertIn("steps", self.report(path))

    def test_stay_ignored_in_program(self):
        command = ["sh", "-c", "grep SigIgn /proc/self/status"]
        line = ["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh"]
        untouched = self.space.untouched([*line, *command])
        for name, options in self.ways().items():
            with self.subTest(name):
                launched = self.space.run([*line, *self.space.launcher(*options, command=command)])
                self.assert_same_run(untouched, launched)

    def test_stay_blocked_in_program(self):
        command = ["sh", "-c", "grep SigBlk /proc/self/status"]
        untouched = self.space.untouched(command)
        for name, options in self.ways().items():
            with self.subTest(name):
                self.assert_same_run(untouched, self.space.launched(command, *options))

    def test_pass_on_end_of_input(self):
        for name, options in self.ways().items():
            with self.subTest(name):
                finished = self.space.launched(SIGNALS, *options)
                self.assertEqual((0, "ready\nend of input\n"), (finished.code, finished.stdout))


class Terminal(EndToEndTest):
    """The program sees the terminal as its own, also when the launcher stays to write a report."""

    def on_terminal(self, line):
        controller, terminal = pty.openpty()
        self.addCleanup(os.close, controller)
        process = self.space.popen(
            line, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)
        return controller, process

    def read_terminal(self, controller, text):
        seen = b""

        def has_come():
            nonlocal seen
            try:
                seen += os.read(controller, 4096)
            except OSError:  # the last program on the terminal has ended
                return True
            return text.encode() in seen

        wait_until(has_come, f"{text!r} on the terminal")
        self.assertIn(text, seen.decode(errors="replace"))

    def test_is_passed_to_program(self):
        command = [PYTHON, "-c", "import os; print([os.isatty(i) for i in (0, 1, 2)],"
                                 " os.tcgetpgrp(0) == os.getpgrp())"]
        for options in ((), ("--summary",), ("--report", self.space.dir / "report.json")):
            with self.subTest(options):
                controller, process = self.on_terminal(
                    self.space.launcher(*options, command=command))
                self.read_terminal(controller, "[True, True, True] True")
                self.assertEqual(0, process.wait(DEADLINE))

    def test_interrupts_program_by_keyboard(self):
        for options in ((), ("--report", self.space.dir / "report.json")):
            with self.subTest(options):
                controller, process = self.on_terminal(
                    self.space.launcher(*options, command=[*SIGNALS, "--handle"]))
                self.read_terminal(controller, "ready")
                os.write(controller, b"\x03")
                self.read_terminal(controller, "caught SIGINT")
                self.assertEqual(7, process.wait(DEADLINE))


class DaemonStart(EndToEndTest):
    def test_happens_on_first_launch(self):
        self.space.launched(["true"])
        wait_until(lambda: connectable(self.space.socket, socket.SOCK_STREAM), "a daemon")
        status = self.space.ask_json("status")
        self.assertIn(status["pid"], self.space.daemon_pids())
        self.assertTrue(status["version"])
        self.assertEqual([], status["clients"])

    def on_one_processor(self, command):
        return ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]

    def test_drops_mask_and_limits_of_launcher(self):
        """Its soft limits are not its daemon's either: later programs are none of its business."""
        soft = [f"--{name}={1 << 40}:" for name in ("cpu", "fsize", "as", "data")]
        self.space.run(self.on_one_processor(
            ["prlimit", *soft, *self.space.launcher(command=["true"])]))
        wait_until(lambda: connectable(self.space.socket, socket.SOCK_STREAM), "a daemon")
        status = self.space.ask_json("status")
        self.assertLessEqual(os.sched_getaffinity(0), os.sched_getaffinity(status["pid"]))
        for name in ("CPU", "FSIZE", "AS", "DATA"):
            with self.subTest(name):
                limits = resource.prlimit(status["pid"], getattr(resource, f"RLIMIT_{name}"))
                self.assertEqual(limits[1], limits[0])

    def test_keeps_mask_of_manual_start(self):
        daemon = self.space.start_daemon(wrap=self.on_one_processor)
        self.assertEqual(1, daemon.status()["budget"]["cores"])

    def test_is_skipped_with_running_daemon(self):
        daemon = self.space.start_daemon()
        self.space.launched([PROGRAMS / "constructs"])
        self.assertEqual([daemon.process.pid], self.space.daemon_pids())
        self.assertEqual(daemon.process.pid, self.space.ask_json("status")["pid"])

    def test_serves_machine_description(self):
        self.space.start_daemon()
        self.assertTrue(self.space.get("/v1/machine"))

    def test_answers_404_for_unknown_paths(self):
        self.space.start_daemon()
        for target in ("/", "/v1/nothing", "/v1/ops/999999/explain", "/v1/ops/x/explain"):
            with self.subTest(target):
                code, _ = get(self.space.socket, target)
                self.assertEqual(404, code)

    def test_is_undone_by_signal(self):
        daemon = self.space.start_daemon()
        self.assertEqual(0, daemon.stop())
        self.assertFalse(self.space.socket.exists())
        self.assertFalse(pathlib.Path(f"{self.space.socket}.attach").exists())

    def test_keeps_sockets_private(self):
        self.space.start_daemon()
        for path in (self.space.socket, pathlib.Path(f"{self.space.socket}.attach")):
            self.assertEqual(0, path.stat().st_mode & 0o077, oct(path.stat().st_mode))


if __name__ == "__main__":
    unittest.main()
