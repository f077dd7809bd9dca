"""The main job on a real training program: the first run tunes, the second starts tuned and proves
it, every choice can be asked for its reason, and what the user said about threads holds."""
import json
import os
import re
import unittest

from support import harness
from support.harness import (OPTILE, PYTHON, SCRIPTS, QUICK_BLAS, EndToEndTest, blas, finish,
                             read_until, usable_cpus)

TRAINER = [PYTHON, SCRIPTS / "train_small.py"]
REPORT_KEYS = {"steps", "step_seconds", "baseline_kind", "speedup", "factors", "samples",
               "sampled_steps", "overhead_ratio", "coverage", "plan_replayed", "ops", "counters",
               "blas", "openmp_runtime", "wait_policy", "fallbacks"}
# Long enough for a search over a handful of widths to come to its end.
STEPS = "400"


def losses(output):
    return [float(loss) for loss in re.findall(r"loss (\S+)", output)]


def keys_of(value):
    """Every key in a JSON document, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def as_list(answer, name):
    return answer[name] if isinstance(answer, dict) else answer


class TrainingTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.env = blas(QUICK_BLAS)
        self.space.start_daemon()

    def reported(self, command, *options, env=None):
        """Runs under the launcher: (how it ended, its report)."""
        path = self.space.dir / f"report{len(list(self.space.dir.glob('report*.json')))}.json"
        finished = self.space.launched(command, "--report", path, *options,
                                       env={**self.env, **(env or {})})
        self.assertEqual(0, finished.code, finished)
        return finished, self.report(path)

    def train(self, *options, env=None, arguments=("--steps", STEPS)):
        return self.reported([*TRAINER, *arguments], *options, env=env)


class PlanReplay(TrainingTest):
    def test_repeats_plan_of_tuned_run(self):
        untouched = self.space.untouched([*TRAINER, "--steps", STEPS], self.env)
        first_run, first = self.train()
        self.check_first(first)
        self.check_same_training(untouched, first_run)
        self.check_explanations()
        self.check_status_and_ops()

        second_run, second = self.train()
        self.check_same_training(untouched, second_run)
        self.assertTrue(second["plan_replayed"], second)
        self.assertEqual(0, second["sampled_steps"], second)
        # The same decisions, not just any.
        self.assertEqual({op["id"]: op["width"] for op in first["ops"]},
                         {op["id"]: op["width"] for op in second["ops"]})

    def check_same_training(self, untouched, finished):
        """Another width may round a sum differently; the training goes the same way."""
        self.assertEqual(untouched.code, finished.code)
        expected, got = losses(untouched.stdout), losses(finished.stdout)
        self.assertEqual(len(expected), len(got), finished)
        for one, other in zip(expected, got):
            self.assertAlmostEqual(one, other, delta=0.01 + 0.01 * abs(one))

    def check_first(self, report):
        self.assertEqual(set(), REPORT_KEYS - set(report))
        self.assertFalse(report["plan_replayed"])
        self.assertGreater(report["sampled_steps"], 0)
        self.assertGreater(report["samples"], 0)
        self.assertGreaterEqual(report["steps"], int(STEPS) - 5, report)
        self.assertLessEqual(report["steps"], int(STEPS) + 1)
        self.assertEqual({"baseline", "tuned", "present"}, set(report["step_seconds"]))
        coverage = report["coverage"]
        self.assertEqual({"observed", "steered"}, set(coverage))
        self.assertTrue(0 < coverage["steered"] <= coverage["observed"] <= 1, coverage)
        self.assertTrue(0 <= report["overhead_ratio"] < 1, report["overhead_ratio"])
        self.assertIn("openblas", str(report["blas"]))
        self.assertTrue(report["openmp_runtime"])
        self.check_ops(report["ops"])

    def check_ops(self, ops):
        self.assertTrue(ops)
        names = " ".join(op["name"] for op in ops)
        self.assertIn("conv", names)
        for op in ops:
            self.assertLessEqual({"key", "name", "width", "seconds", "reason"}, set(op))
            self.assertGreaterEqual(op["seconds"], 0)
            self.assertTrue(op["reason"], op)
            self.assertTrue(0 <= op["width"] <= usable_cpus(), op)

    def check_explanations(self):
        """Of the op that takes longest: curve, choice, runner-up, provenance, the user's word."""
        ops = as_list(self.space.ask_json("ops"), "ops")
        self.assertTrue(ops)
        self.assertEqual(len(ops), len(as_list(self.space.get("/v1/ops"), "ops")))
        explained = self.space.get(f"/v1/ops/{ops[0]['id']}/explain")
        text = self.space.ask("explain", str(ops[0]["id"]))
        self.assertEqual(0, text.code, text)
        asked = self.space.ask_json("explain", str(ops[0]["id"]))
        for answer in (explained, asked):
            names = " ".join(keys_of(answer))
            for word in ("curve", "samples", "width", "runner_up", "provenance", "user"):
                self.assertIn(word, names)

    def check_status_and_ops(self):
        for words in (["status"], ["ops"]):
            answer = self.space.ask(*words)
            self.assertEqual(0, answer.code, answer)
            self.assertTrue(answer.stdout.strip())
        self.assertIn("conv", self.space.ask("ops").stdout)

    tuned_store = None

    def restart_daemon_after_tuned_run(self):
        """One tuned run serves all tests that ask what is left of it."""
        if PlanReplay.tuned_store is None:
            self.train()
            self.space._daemons[-1].stop()
            self.assertFalse(self.space.store.with_name("store.db-wal").exists())
            PlanReplay.tuned_store = self.space.store.read_bytes()
        else:
            self.space._daemons[-1].stop()
            self.space.store.write_bytes(PlanReplay.tuned_store)
        self.space.start_daemon()

    def test_survives_restart_of_daemon(self):
        self.restart_daemon_after_tuned_run()
        _, report = self.train()
        self.assertTrue(report["plan_replayed"], report)
        self.assertEqual(0, report["sampled_steps"])

    def test_excludes_other_program(self):
        self.restart_daemon_after_tuned_run()
        _, report = self.reported([PYTHON, SCRIPTS / "torch_widths.py"])
        self.assertFalse(report["plan_replayed"], report)

    def test_supports_every_search_and_strategy(self):
        for options in (("--search", "paper"), ("--strategy", "1"), ("--strategy", "2"),
                        ("--strategy", "uniform")):
            with self.subTest(options):
                _, report = self.train(*options, arguments=("--steps", "200"))
                self.assertEqual(set(), REPORT_KEYS - set(report))


class Baseline(TrainingTest):
    def test_is_required_for_speedup(self):
        _, report = self.train()
        if report["baseline_kind"] == "control":
            self.assertGreater(report["speedup"], 0)
        else:
            self.assertIsNone(report["speedup"], report)

    def test_is_taken_from_separate_run(self):
        line = self.space.launcher(command=[*TRAINER, "--steps", STEPS], verb="baseline")
        baseline = self.space.run(line, self.env)
        untouched = self.space.untouched([*TRAINER, "--steps", STEPS], self.env)
        self.assert_same_run(untouched, baseline)
        _, report = self.train()
        self.assertEqual("separate_run", report["baseline_kind"], report)
        self.assertGreater(report["step_seconds"]["baseline"], 0)
        self.assertGreater(report["step_seconds"]["tuned"], 0)
        self.assertAlmostEqual(
            report["speedup"],
            report["step_seconds"]["baseline"] / report["step_seconds"]["tuned"], delta=0.02)

    def test_is_summarised_on_standard_error(self):
        finished = self.space.launched([*TRAINER, "--steps", "60"], "--summary", env=self.env)
        self.assertEqual(0, finished.code)
        self.assertNotIn("speedup", finished.stdout)
        self.assertTrue(finished.stderr.strip())


class UntunedOutput(TrainingTest):
    """Modes that promise the program's own results keep them to the last bit."""

    def test_keep_output(self):
        for threads in sorted({1, max(1, usable_cpus() // 2)}):
            env = {**self.env, "OMP_NUM_THREADS": str(threads)}
            command = [*TRAINER, "--steps", "60", "--exit-code", "3"]
            untouched = self.space.untouched(command, env)
            self.assertEqual(3, untouched.code)
            for mode in ("observe", "advise", "off"):
                with self.subTest(mode, threads=threads):
                    self.assert_same_run(untouched, self.space.launched(command, "--mode", mode,
                                                                        env=env))
            with self.subTest("bare shim in observe mode", threads=threads):
                self.assert_same_run(untouched, self.space.preloaded(
                    command, {**env, "OPTILE_MODE": "observe"}))

    def test_keep_trace_of_user_profiler(self):
        command = [PYTHON, SCRIPTS / "torch_profiled.py"]
        untouched = self.space.untouched(command, self.env)
        self.assertGreater(len(untouched.stdout.splitlines()), 50)
        for mode in ("observe", "tune"):
            with self.subTest(mode):
                self.assert_same_run(untouched,
                                     self.space.launched(command, "--mode", mode, env=self.env))

    def test_keep_traceback_of_program(self):
        command = [PYTHON, "-c", "import torch; torch.ones(2, 3) @ torch.ones(2, 3)"]
        untouched = self.space.untouched(command, self.env)
        launched = self.space.launched(command, env=self.env)
        self.assert_same_run(untouched, launched)
        self.assertEqual(untouched.stderr, launched.stderr)


class UntunedModes(TrainingTest):
    """They try no width, tell what they saw, and repeat themselves."""

    def test_print_advice_afterwards(self):
        finished = self.space.launched([*TRAINER, "--steps", "60"], "--mode", "advise",
                                       env=self.env)
        advice = finished.stderr[finished.stderr.index("optile: advice for"):]
        self.assertIn("nothing was changed in this run", advice)
        command = advice.strip().splitlines()[-1].strip()
        self.assertTrue(command.startswith("optile run -- "), advice)
        self.assertIn("train_small.py", command)
        # The lines are what a shell takes.
        lines = [line for line in advice.splitlines()[1:] if line.strip().startswith("export")]
        self.assertTrue(lines, advice)
        self.assertEqual(0, self.space.untouched(["sh", "-eu", "-c", "\n".join(lines)]).code)

    def test_change_no_width_in_observe(self):
        _, report = self.train("--mode", "observe")
        self.assertEqual(0, report["sampled_steps"], report)
        self.assertGreater(report["coverage"]["observed"], 0)
        op = as_list(self.space.get("/v1/ops"), "ops")[0]
        self.assertIn("(--mode observe)", op["reason"])

    def test_count_every_step_while_resting(self):
        steps = 300
        _, report = self.train("--mode", "observe", arguments=("--steps", str(steps)))
        self.assertGreater(report["unsampled_steps"], steps / 3, report)
        self.assertTrue(steps - 3 <= report["steps"] <= steps + 1, report["steps"])

    def test_repeat_output_in_freeze(self):
        self.train()
        command = [*TRAINER, "--steps", "60"]
        once = self.space.launched(command, "--mode", "freeze", env=self.env)
        again = self.space.launched(command, "--mode", "freeze", env=self.env)
        self.assertEqual(0, once.code, once)
        self.assert_same_run(once, again)


class WrapperScript(TrainingTest):
    """`python` is a shell script that becomes the real one, as those of version managers are."""

    def test_is_looked_through(self):
        wrapper = self.space.dir / "python"
        wrapper.write_text(f'#!/bin/sh\nexec {PYTHON} "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
        command = [wrapper, *TRAINER[1:], "--steps", STEPS]
        _, report = self.reported(command)
        self.assertIn("aten::conv2d", {op["name"] for op in report["ops"]})
        self.assertGreater(report["coverage"]["observed"], 0.5, report["coverage"])
        # The launcher knew the program by the name that it has for itself, and so did the store.
        self.assertTrue(report["launch_plan"], report)
        _, again = self.reported(command)
        self.assertTrue(again["plan_replayed"], again)


class UndoCommand(TrainingTest):
    def test_holds_until_revoked(self):
        self.train()
        nothing = self.space.ask("undo")
        self.assertEqual((125, ""), (nothing.code, nothing.stdout), nothing)
        program = TRAINER[1].name
        answer = self.space.ask("undo", "--program", program)
        self.assertEqual(0, answer.code, answer)
        self.assertIn(f"{program} --revoke\n", answer.stdout)
        _, report = self.train(arguments=("--steps", "60"))
        self.assertEqual(0, report["sampled_steps"], report)
        self.assertFalse(report["plan_replayed"], report)
        self.assertEqual("openmp=keep wait=keep blas=keep", report["launch_plan"])
        self.assertTrue(any("undone by hand" in text for text in report["fallbacks"]), report)
        self.assertEqual(0, self.space.ask("undo", "--all", "--revoke").code)
        _, report = self.train(arguments=("--steps", "60"))
        self.assertFalse(any("undone by hand" in text for text in report["fallbacks"]), report)

    def test_refuses_unknown_subjects(self):
        answer = self.space.ask("undo", "--op", "aten::nothing")
        self.assertEqual(1, answer.code)
        self.assertIn("no attached client runs such an op", answer.stderr)
        for words, why in ((("--program", "nothing"), "no program of this name has run here"),
                           (("--client", "0"), "client has to be a whole number from 1"),
                           (("--client", "nothing"), "no program called nothing is known")):
            answer = self.space.ask("undo", *words)
            self.assertEqual((1, ""), (answer.code, answer.stdout), (words, answer))
            self.assertIn(why, answer.stderr, words)


class UserSettings(TrainingTest):
    """What the user set is a cap, what PyTorch sets while it starts is not."""

    cap = max(1, usable_cpus() // 2)
    steps = "120"  # a cap binds from the first step on

    def assert_capped(self, report):
        self.assertTrue(report["ops"])
        for op in report["ops"]:
            self.assertLessEqual(op["width"], self.cap, op)

    def test_cap_width_from_environment(self):
        finished, report = self.train(env={"OMP_NUM_THREADS": str(self.cap)},
                                      arguments=("--steps", self.steps))
        self.assertIn(f"threads {self.cap}\n", finished.stdout)
        self.assert_capped(report)
        self.assert_told(default_width=self.cap, source="environment", binds=True)

    def test_cap_width_from_set_num_threads(self):
        finished, report = self.train(
            arguments=("--steps", self.steps, "--threads", str(self.cap)))
        self.assertIn(f"threads {self.cap}\n", finished.stdout)
        self.assert_capped(report)
        self.assert_told(default_width=self.cap, source="program", binds=True)

    def test_fix_width_with_respect_exact(self):
        """`--respect exact`: that width for every op, and nothing is tried."""
        _, report = self.train("--respect", "exact", env={"OMP_NUM_THREADS": "2"},
                               arguments=("--steps", self.steps))
        self.assertEqual({2}, {op["width"] for op in report["ops"]})
        self.assertEqual(0, report["sampled_steps"], report)
        self.assert_told(default_width=2, source="environment", respect="exact", binds=True)

    def test_are_ignored_with_respect_ignore(self):
        """`--respect ignore`: as if it were not set."""
        finished, _ = self.train("--respect", "ignore", env={"OMP_NUM_THREADS": "64"},
                                 arguments=("--steps", self.steps))
        self.assertIn(f"threads {usable_cpus()}\n", finished.stdout)
        self.assert_told(respect="ignore", binds=False)

    def test_cap_width_from_mkl_num_threads(self):
        """PyTorch's width is what MKL_NUM_THREADS says; a BLAS pool keeps the size it is given."""
        words = {"MKL_NUM_THREADS": str(self.cap), "OPENBLAS_NUM_THREADS": "1"}
        finished, report = self.train(env=words, arguments=("--steps", self.steps))
        self.assertIn(f"threads {self.cap}\n", finished.stdout)
        self.assert_capped(report)
        told = self.assert_told(default_width=self.cap, variable="MKL_NUM_THREADS", respect="cap",
                                binds=True)
        self.assertEqual({"MKL_NUM_THREADS": self.cap, "OPENBLAS_NUM_THREADS": 1},
                         {pool["name"]: pool["count"] for pool in told["pools"]})

    def test_cap_width_from_omp_thread_limit(self):
        finished, report = self.train(env={"OMP_THREAD_LIMIT": str(self.cap)},
                                      arguments=("--steps", self.steps))
        self.assertIn(f"threads {self.cap}\n", finished.stdout)
        self.assert_capped(report)
        self.assert_told(default_width=self.cap, variable="OMP_THREAD_LIMIT", respect="cap",
                         binds=True)

    def assert_told(self, **fields):
        """`explain` says who set the cap; tests/cli/golden/explain.txt has its text."""
        op = as_list(self.space.get("/v1/ops"), "ops")[0]
        told = self.space.get(f"/v1/ops/{op['id']}/explain")["explanations"][0]["user"]
        self.assertEqual(fields, {name: told[name] for name in fields}, told)
        return told

    def test_exclude_number_set_by_pytorch_start(self):
        finished, _ = self.train(arguments=("--steps", self.steps))
        self.assertIn(f"threads {usable_cpus()}\n", finished.stdout)

    def test_keep_number_above_budget(self):
        wide = usable_cpus() + 1
        finished, _ = self.train(arguments=("--steps", "60", "--threads", str(wide)))
        self.assertIn(f"threads {wide}\n", finished.stdout)


class WidthRestoration(TrainingTest):
    """The thread count that a program sees is its own before and after every op."""

    def test_follows_every_op(self):
        for arguments in ((), ("--threads", "2")):
            for mode in ("tune", "observe"):
                with self.subTest(mode, arguments=arguments):
                    finished, _ = self.reported(
                        [PYTHON, SCRIPTS / "torch_widths.py", "--steps", "150", *arguments],
                        "--mode", mode)
                    self.assertIn(" 0 surprises", finished.stdout)

    def test_follows_every_op_on_llvm_runtime(self):
        finished, _ = self.reported([PYTHON, SCRIPTS / "torch_widths.py", "--steps", "150"],
                                    "--openmp", "llvm")
        self.assertIn(" 0 surprises", finished.stdout)

    def test_follows_every_op_under_bare_shim(self):
        finished = self.space.preloaded([PYTHON, SCRIPTS / "torch_widths.py", "--steps", "150"],
                                        self.env)
        self.assertEqual(0, finished.code, finished)


class NumericResults(TrainingTest):
    """The libraries' own failures, from inside PyTorch: right numbers while widths are tried."""

    def test_are_correct_with_every_blas(self):
        for provider in ("openblas-openmp", "openblas-pthread", "blis-openmp"):
            for options in ((), ("--openmp", "llvm"), ("--strategy", "1")):
                with self.subTest(provider, options=options):
                    finished, _ = self.reported([PYTHON, SCRIPTS / "torch_exact.py"], *options,
                                                env=blas(provider))
                    self.assertIn(" 0 wrong numbers", finished.stdout)


class AttachedClients(TrainingTest):
    def test_are_listed_while_running(self):
        program = self.space.popen(
            self.space.launcher(command=[*TRAINER, "--steps", "30", "--pause-at", "20"]), self.env)
        read_until(program, "paused")
        clients = self.space.ask_json("status")["clients"]
        self.assertEqual(1, len(clients), clients)
        self.assertEqual(program.pid, clients[0]["pid"])
        self.assertEqual(1, len(as_list(self.space.get("/v1/clients"), "clients")))
        self.assertEqual(0, finish(program, "\n").code)
        harness.wait_until(lambda: not self.space.ask_json("status")["clients"],
                           "the client to be gone from the status")

    def test_are_listed_side_by_side(self):
        programs = [self.space.popen(self.space.launcher(
            command=[*TRAINER, "--steps", "30", "--pause-at", "20"]), self.env) for _ in range(2)]
        for program in programs:
            read_until(program, "paused")
        pids = {client["pid"] for client in self.space.ask_json("status")["clients"]}
        self.assertEqual({program.pid for program in programs}, pids)
        for program in programs:
            self.assertEqual(0, finish(program, "\n").code)

    def test_exclude_shells_and_tools(self):
        program = self.space.popen(self.space.launcher(
            command=["sh", "-c", "echo ready | tee /dev/null; cat"]))
        read_until(program, "ready")
        self.assertEqual([], self.space.ask_json("status")["clients"])
        self.assertEqual(0, finish(program).code)

    def test_keep_output_of_forked_workers(self):
        """A data loader's worker processes, forked while teams exist."""
        script = self.space.dir / "loader.py"
        script.write_text(FORKING_LOADER)
        untouched = self.space.untouched([PYTHON, script], self.env)
        self.assertEqual(0, untouched.code, untouched)
        self.assert_same_run(untouched, self.space.launched([PYTHON, script], env=self.env))


# Writes the graph of what train_small.py trains, with the ops that it runs.
EXPORT = """
import sys
sys.path[:0] = sys.argv[2:]
import torch, train_small, optile.step_ops
optile.step_ops.save(sys.argv[1], train_small.build_net(), torch.randn(32, 3, 32, 32))
"""


class GraphOfRun(TrainingTest):
    def test_step_of_a_run_is_written_placed_and_simulated(self):
        model, output = self.space.dir / "model.json", self.space.dir / "step.json"
        ended = self.space.untouched([PYTHON, "-c", EXPORT, model, SCRIPTS,
                                      harness.SOURCE.parent / "bindings" / "python"], self.env)
        self.assertEqual(0, ended.code, ended)
        nobody = self.space.ask("graph", "--model", model, "-o", output)
        self.assertEqual(1, nobody.code, nobody)
        self.assertIn("remembers no ops", nobody.stderr)

        self.train(arguments=("--steps", "150"))
        written = self.space.ask("graph", "--model", model, "-o", output)
        self.assertEqual(0, written.code, written)
        graph = json.loads(output.read_text())
        self.assertEqual(3, graph["version"])
        instances = graph["instances"]
        measured = [one for one in graph["nodes"]
                    if not instances[one["instance"]].get("estimated")]
        self.assertRegex(written.stdout, f"{len(graph['nodes'])} ops of a step; {len(measured)}")
        self.assertGreater(len(measured), 0.7 * len(graph["nodes"]), instances)
        convolutions = {one.get("backward", False): one for one in instances
                        if one["op"] in ("aten::conv2d", "ConvolutionBackward0")}
        for one in convolutions.values():
            self.assertNotIn("estimated", one)
            self.assertGreater(one["output_bytes"], 0)
        self.assertEqual({False, True}, set(convolutions))

        for command in (["place", "step", "--devices", "2", "--evaluations", "1000"],
                        ["simulate", "--machine", graph["machine"]]):
            read = self.space.run([OPTILE, *command, "--graph", output, "--json"])
            self.assertEqual(0, read.code, read)


FORKING_LOADER = """
import torch
from torch.utils.data import DataLoader, Dataset

class Pictures(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return torch.full((3, 8, 8), float(i))

net = torch.nn.Conv2d(3, 8, 3)
net(torch.ones(8, 3, 32, 32)).sum().backward()
seen = 0.0
for _ in range(3):
    for batch in DataLoader(Pictures(), batch_size=8, num_workers=2):
        net(batch).sum().backward()
        seen += float(batch.sum())
print("seen", seen)
"""


if __name__ == "__main__":
    unittest.main()
