"""PyTorch as pip installs it: the bridge is built, loaded without a change to the program, sees and
steers its ops, and leaves TorchDynamo's guards alone.

Needs a Python with such a PyTorch, named by OPTILE_WHEEL_PYTHON; `./dev test` makes one.
"""
import os
import pathlib
import re
import tempfile
import unittest

from support.harness import DEADLINE, OPTILE, SCRIPTS, SOURCE, EndToEndTest, finish, wait_until

EXPORT = SOURCE.parent / "bindings" / "python"
WHEEL_PYTHON = os.environ.get("OPTILE_WHEEL_PYTHON", "")
# Headers of PyTorch take a while on a busy machine.
BUILD_DEADLINE = 4 * DEADLINE


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set; ./dev test "
                                   "makes one and runs this")
class TorchWheel(EndToEndTest):
    cache = None  # one build serves all tests
    headers = None  # and so do the headers that Inductor compiles, in its folder of TMPDIR

    def setUp(self):
        super().setUp()
        self.env = {}
        if TorchWheel.cache:
            self.env["XDG_CACHE_HOME"] = TorchWheel.cache

    def have_bridge(self):
        if TorchWheel.cache is None:
            TorchWheel.cache = self.space.bridges()
            self.env["XDG_CACHE_HOME"] = TorchWheel.cache
        self.space.start_daemon()

    def bridge(self, verb, *options):
        return self.space.run([OPTILE, "bridge", verb, "--python", WHEEL_PYTHON, *options],
                              self.env, deadline=BUILD_DEADLINE)

    def reported(self, script, *arguments, options=(), env=None):
        path = self.space.dir / f"report{len(list(self.space.dir.glob('report*.json')))}.json"
        finished = self.space.launched([WHEEL_PYTHON, SCRIPTS / script, *arguments], "--report",
                                       path, *options, env={**self.env, **(env or {})},
                                       deadline=BUILD_DEADLINE)
        self.assertEqual(0, finished.code, finished)
        return finished, self.report(path)

    def test_is_diagnosed_by_bridge_check(self):
        self.env["XDG_CACHE_HOME"] = str(self.space.dir / "cache")
        checked = self.bridge("check")
        self.assertEqual(1, checked.code, checked)
        self.assertIn("without a bridge yet", checked.stdout)
        self.assertIn("optile bridge build", checked.stdout)

    def test_has_steered_ops(self):
        self.have_bridge()
        checked = self.bridge("check")
        self.assertEqual(0, checked.code, checked)
        _, report = self.reported("train_small.py", "--steps", "500")
        names = {op["name"] for op in report["ops"]}
        self.assertIn("aten::conv2d", names)
        self.assertIn("ConvolutionBackward0", names)
        conv = next(op for op in report["ops"] if op["name"] == "aten::conv2d")
        self.assertIn("[32,3,32,32]", conv["shape"])
        # So small a program spends much of its time in Python; OpenMP regions alone are far less.
        self.assertGreater(report["coverage"]["observed"], 0.5, report["coverage"])
        self.assertGreater(report["coverage"]["steered"], 0.5, report["coverage"])
        self.assertNotIn("no bridge", str(report["fallbacks"]))

    def test_restores_width_after_every_op(self):
        self.have_bridge()
        finished, _ = self.reported("torch_widths.py", "--steps", "150")
        self.assertIn(" 0 surprises", finished.stdout)

    def test_computes_correct_results(self):
        self.have_bridge()
        finished, _ = self.reported("torch_exact.py")
        self.assertIn(" 0 wrong numbers", finished.stdout)

    def test_never_trips_dynamo_guard_on_thread_count(self):
        self.have_bridge()
        finished, report = self.reported("torch_compiled.py", "--steps", "3000",
                                         options=("--strategy", "1"))
        self.assertIn("compiled: 1 graphs, 0 wrong", finished.stdout)
        self.assertTrue(report["ops"])

    def compiled(self, folder, *arguments, options=(), env=None):
        if TorchWheel.headers is None:
            TorchWheel.headers = tempfile.TemporaryDirectory()
            self.addClassCleanup(TorchWheel.headers.cleanup)
        return self.reported("torch_inductor.py", *arguments, options=options, env={
            "TMPDIR": TorchWheel.headers.name, "TORCHINDUCTOR_CACHE_DIR": str(folder),
            **(env or {})})

    def test_has_inductor_kernels_that_follow_width(self):
        """Compiled for another number of threads than the machine's, which is what Inductor writes
        into its kernels where nobody says otherwise."""
        self.have_bridge()
        ways = [("followed", ())]
        if os.cpu_count() != 2:  # else they are compiled for two in any case
            ways.append(("compiled", ("--mode", "observe")))
        for name, options in ways:
            cache = self.space.dir / name
            finished, report = self.compiled(cache, "--steps", "150", options=options,
                                             env={"OMP_NUM_THREADS": "2"})
            self.assertIn("inductor: 1 graphs, 0 wrong, threads 2", finished.stdout)
            kernels = "".join(path.read_text() for path in cache.rglob("*.cpp"))
            self.assertIn("#pragma omp parallel", kernels)
            fixed = "#pragma omp parallel num_threads(" in kernels
            self.assertEqual(name == "compiled", fixed)
            names = {op["name"] for op in report["ops"]}
            self.assertIn("CompiledFunction", names)
            self.assertIn("CompiledFunctionBackward", names)
            self.assertGreater(report["coverage"]["observed"], 0.8, report["coverage"])

    def test_has_inductor_kernels_as_ops_in_inference(self):
        """No operator of PyTorch's is around them then."""
        self.have_bridge()
        finished, report = self.compiled(self.space.dir / "forward", "mlp", "forward", "--steps",
                                         "500", options=("--strategy", "1"))
        self.assertRegex(finished.stdout, r"inductor: 1 graphs, 0 wrong, threads \d+\n")
        kernels = [op for op in report["ops"] if op["name"] == "inductor kernel"]
        self.assertGreaterEqual(len(kernels), 3, report["ops"])
        for kernel in kernels:
            self.assertRegex(kernel["shape"], r"^c[a-z2-7]{51}\.main\.so\+0x[0-9a-f]+$")
        self.assertGreater(report["coverage"]["observed"], 0.95, report["coverage"])
        self.assertGreaterEqual(report["coverage"]["steered"], 0.9, report["coverage"])

    def test_keeps_training_model_unchanged_by_export(self):
        ended = self.space.run([WHEEL_PYTHON, SCRIPTS / "torch_exported.py"],
                               {"PYTHONPATH": str(EXPORT)}, deadline=BUILD_DEADLINE)
        self.assertEqual(0, ended.code, ended)
        lines = ended.stdout.splitlines()
        # One of them by torch.export.
        self.assertEqual(3, lines.count("exported, changed: nothing"), ended)
        self.assertEqual(2, lines.count("failed, changed: nothing"), ended)

    def test_keeps_bits_as_untuned_while_widths_change(self):
        """Without a word on threads, and with more of them than the machine may have."""
        self.have_bridge()
        wide = {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}
        for model, env in (("convolutions", wide), ("lstm", {})):
            with self.subTest(model):
                line = [WHEEL_PYTHON, SCRIPTS / "train_hashed.py", model, "--steps", "200"]
                untouched = self.space.untouched(line, {**self.env, **env},
                                                 deadline=BUILD_DEADLINE)
                same, report = self.reported(
                    "train_hashed.py", model, "--steps", "200",
                    options=("--numerics", "as-untuned", "--strategy", "1"), env=env)
                self.assert_same_run(untouched, same)
                left = [op for op in report["ops"] if "left alone: numerics" in op["reason"]]
                self.assertTrue(left, report)
                self.assertEqual({report["default_width"]}, {op["width"] for op in left})

    def test_runs_without_bridge_when_off(self):
        self.have_bridge()
        _, report = self.reported("train_small.py", "--steps", "20",
                                  env={"OPTILE_TORCH_BRIDGE": "off"})
        self.assertNotIn("aten::conv2d", {op["name"] for op in report["ops"]})

    # ---- oneDNN inside PyTorch
    def primitives(self, report):
        return {op["name"]: op for op in report["ops"]
                if re.match(r"(create )?(convolution|reorder)\b", op["name"])}

    def test_has_onednn_primitives_as_ops_without_bridge(self):
        self.space.start_daemon()
        command = [WHEEL_PYTHON, SCRIPTS / "torch_primitives.py"]
        untouched = self.space.untouched(command, self.env, deadline=BUILD_DEADLINE)
        self.assertEqual(0, untouched.code, untouched)
        finished, report = self.reported("torch_primitives.py", options=("--torch-bridge", "off"))
        self.assertEqual(untouched.stdout, finished.stdout)
        seen = self.primitives(report)
        convolution = seen["convolution forward_training"]
        self.assertIn("mb4_ic16oc32_ih24", convolution["shape"])
        there_were = int(re.search(r"(\d+) convolutions", finished.stderr)[1])
        # The first may be over before the daemon has answered.
        self.assertLessEqual(convolution["executions"], there_were)
        self.assertGreater(convolution["executions"], there_were // 2)
        self.assertEqual(convolution["executions"],
                         seen["create convolution forward_training"]["executions"])
        self.assertIn("observed only: oneDNN", convolution["reason"])
        self.assertEqual("left_alone", convolution["rule"])

    def test_has_onednn_primitives_inside_its_ops(self):
        self.have_bridge()
        _, report = self.reported("torch_primitives.py")
        self.assertIn("aten::conv2d", {op["name"] for op in report["ops"]})
        self.assertEqual({}, self.primitives(report))

    def test_keeps_itt_settings_of_user(self):
        self.space.start_daemon()
        _, report = self.reported("torch_primitives.py", options=("--torch-bridge", "off"),
                                  env={"DNNL_ITT_TASK_LEVEL": "0"})
        self.assertTrue(report["ops"], report)  # regions of PyTorch's own
        self.assertEqual({}, self.primitives(report))


if __name__ == "__main__":
    unittest.main()
