"""The commands about placement, from `optile` on: they are a program of their own beside it."""
import json
import os
import shutil
import subprocess
import xml.etree.ElementTree

from support.harness import OPTILE, PYTHON, SCRIPTS, SOURCE, EndToEndTest

DATA = SOURCE / "placement" / "data"
EXPORT = SOURCE.parent / "bindings" / "python"

# One training step under PyTorch's observer, which had another name in its first versions.
TRACED = """
import sys
import torch
from torch import profiler
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
observer = getattr(profiler, "ExecutionTraceObserver", None)
observer = (observer or profiler.ExecutionGraphObserver)()
observer.register_callback(sys.argv[1])
observer.start()
model(torch.ones(4, 8)).sum().backward()
observer.stop()
observer.unregister_callback()
"""


class PlacementCommands(EndToEndTest):
    def answer(self, *words):
        ended = self.space.run([str(OPTILE), *words, "--json"])
        self.assertEqual(0, ended.code, ended)
        return json.loads(ended.stdout)

    def test_place_graph(self):
        found = self.answer("place", "load", "--graph", str(DATA / "bert24_inference.json"),
                            "--method", "auto", "--evaluations", "200000")
        self.assertTrue(found["feasible"], found)
        self.assertAlmostEqual(found["cost"], max(found["load"]))
        self.assertLess(max(found["assignment"]), len(found["load"]), found["load"])
        self.assertGreaterEqual(found["cost"], found["lower_bound"])

    def test_move_little_of_changed_graph(self):
        nodes = [{"name": f"n{i}", "accelerator_ms": 1 + i % 3, "output_bytes": 1e5}
                 for i in range(60)]
        edges = [{"source": i, "target": i + 1} for i in range(59)]
        graph = self.space.dir / "graph.json"
        graph.write_text(json.dumps({"nodes": nodes, "edges": edges}), encoding="utf-8")
        usual = ("--devices", "3", "--evaluations", "20000")
        before = self.answer("place", "load", "--graph", str(graph), *usual)
        earlier = self.space.dir / "earlier.json"
        earlier.write_text(json.dumps(before), encoding="utf-8")
        nodes[10]["accelerator_ms"] = 6
        nodes[30]["name"] = "another"
        graph.write_text(json.dumps({"nodes": nodes, "edges": edges}), encoding="utf-8")
        after = self.answer("place", "load", "--graph", str(graph), "--from", str(earlier),
                            "--moves", "10%", *usual)
        was = dict(zip(before["nodes"], before["assignment"]))
        moved = sum(was.get(name, device) != device
                    for name, device in zip(after["nodes"], after["assignment"]))
        self.assertEqual(moved, after["moved"])
        self.assertLessEqual(moved, 6)
        self.assertTrue(after["feasible"], after)

    def test_draw_placement(self):
        dot, trace = self.space.dir / "placement.dot", self.space.dir / "trace.json"
        graph = DATA / "bert24_inference.json"
        found = self.answer("place", "step", "--graph", str(graph), "--method", "block",
                            "--dot", str(dot), "--trace", str(trace))
        if shutil.which("dot"):
            drawn = subprocess.run(["dot", "-Tsvg", str(dot)], check=True, capture_output=True)
            root = xml.etree.ElementTree.fromstring(drawn.stdout)
            titles = {title.text for title in root.iter("{http://www.w3.org/2000/svg}title")}
            self.assertLessEqual({f"n{i}" for i in range(len(found["nodes"]))}, titles)
        spans = [event for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
                 if event["ph"] == "X" and event["cat"] == "compute"]
        placed = {event["args"]["node"]: event["pid"] for event in spans}
        self.assertGreater(len(placed), 20)  # the others take no time
        self.assertLessEqual(placed.items(), dict(enumerate(found["assignment"])).items())

    def test_refuse_drawing_of_unsupported_objective(self):
        for words in (("strategy", "--graph", str(DATA / "iopddl_b.json.gz"), "--dot"),
                      ("load", "--graph", str(DATA / "bert24_inference.json"), "--trace")):
            ended = self.space.run([str(OPTILE), "place", *words, str(self.space.dir / "file")])
            self.assertEqual(125, ended.code, ended)

    def test_refuse_unwritable_output_before_search(self):
        nowhere = str(self.space.dir / "none" / "file")
        graph = str(DATA / "bert24_inference.json")
        for words in (("place", "load", "--graph", graph, "--method", "local-search",
                       "--time-limit", "1h", "--dot"),
                      ("place", "train", "--graphs", str(DATA), "--method", "rnn", "--time-limit",
                       "1h", "--save"),
                      ("simulate", "--graph", "lstm", "--machine", "knl", "--trace")):
            ended = self.space.run([str(OPTILE), *words, nowhere])
            self.assertEqual(125, ended.code, ended)
            self.assertEqual("", ended.stdout, words)
            self.assertIn(f"{nowhere} cannot be written: No such file", ended.stderr)

    def test_raise_bound(self):
        words = ("--graph", str(DATA / "bert24_inference.json"), "--method", "block")
        before = self.answer("place", "load", *words)
        after = self.answer("place", "load", *words, "--bound-time", "2s")
        self.assertEqual(before["assignment"], after["assignment"])
        self.assertGreater(after["lower_bound"], before["lower_bound"] * 1.05)
        self.assertAlmostEqual(after["gap"], after["cost"] / after["lower_bound"] - 1)
        refused = self.space.run([str(OPTILE), "place", "step", *words, "--micro-batches", "2",
                                  "--bound-time", "2s"])
        self.assertEqual(125, refused.code, refused)
        self.assertIn("leave out --bound-time", refused.stderr)

    def test_place_exported_pytorch_model(self):
        (self.space.dir / "small_model.py").write_text(
            "import torch\n"
            "def build():\n"
            "    torch.manual_seed(1)\n"
            "    half = torch.nn.Linear(8, 8)\n"
            "    return torch.nn.Sequential(half, torch.nn.ReLU(), half), torch.ones(4, 8)\n",
            encoding="utf-8")
        environment = {"PYTHONPATH": f"{EXPORT}:{self.space.dir}"}
        for file, options in (("measured.json.gz", ()), ("estimated.json", ("--no-measure",))):
            graph = self.space.dir / file
            ended = self.space.run([PYTHON, "-m", "optile.fx", "small_model:build", str(graph),
                                    *options], environment)
            self.assertEqual(0, ended.code, ended)
            found = self.answer("place", "load", "--graph", str(graph), "--devices", "2",
                                "--method", "block")
            self.assertEqual(4, len(found["nodes"]), found)
            self.assertGreater(found["cost"], 0)
            # Both calls of the one layer stay together.
            self.assertEqual(found["assignment"][1], found["assignment"][3], found)

    def test_keep_training_model_unchanged_by_export(self):
        ended = self.space.run([PYTHON, str(SCRIPTS / "torch_exported.py")],
                               {"PYTHONPATH": str(EXPORT)})
        self.assertEqual(0, ended.code, ended)
        lines = ended.stdout.splitlines()
        self.assertEqual("a step still moves its statistics", lines.pop())
        self.assertEqual(2, lines.count("failed, changed: nothing"), ended)
        self.assertEqual(2, lines.count("exported, changed: nothing"), ended)
        self.assertEqual(4, len(lines), ended)

    def test_place_pytorch_trace(self):
        script = self.space.dir / "traced.py"
        trace = self.space.dir / "trace.json"
        script.write_text(TRACED, encoding="utf-8")
        ended = self.space.run([PYTHON, str(script), str(trace)])
        self.assertEqual(0, ended.code, ended)
        found = self.answer("place", "load", "--graph", str(trace), "--devices", "2", "--method",
                            "block")
        self.assertTrue(any("mm" in name for name in found["nodes"]), found["nodes"])
        self.assertTrue(found["feasible"], found)

    def test_place_step_graph(self):
        graph = self.space.dir / "step.json"
        graph.write_text(json.dumps({
            "format": "optile step graph", "version": 1,
            "instances": [{"op": "Conv", "shape": "(8,8)->(8,8)",
                           "times": {"spread": [0.4, 0.2]}}],
            "nodes": [{"instance": 0}, {"instance": 0}, {"instance": 0, "inputs": [0, 1]}]}),
            encoding="utf-8")
        found = self.answer("place", "load", "--graph", str(graph), "--devices", "2",
                            "--evaluations", "1000")
        self.assertLess(found["cost"], 600)

    def test_fill_devices_of_pipeline_over_links(self):
        nodes = [{"name": f"n{i}", "accelerator_ms": 4, "output_bytes": 4e6} for i in range(8)]
        links = [{"from": i, "to": 4, "bytes_per_second": 1e9} for i in range(4)]
        graph = self.space.dir / "graph.json"
        graph.write_text(json.dumps({
            "nodes": nodes, "edges": [{"source": i, "target": i + 1} for i in range(7)],
            "cluster": {"devices": [{"name": f"gpu{i}"} for i in range(4)], "routers": 1,
                        "links": links}}), encoding="utf-8")
        usual = ("place", "step", "--graph", str(graph), "--links", "routed", "--evaluations",
                 "20000")
        self.assertAlmostEqual(32, self.answer(*usual)["cost"])  # in one piece: on one device
        # In eight: 8 ms on each of four devices, and at most what it takes to fill four stages.
        found = self.answer(*usual, "--micro-batches", "8")
        self.assertLessEqual(found["cost"], 8 + 3 * (1 + 0.5) + 1e-6)
        self.assertGreaterEqual(found["cost"], 8)

    def test_choose_strategies(self):
        found = self.answer("place", "strategy", "--graph", str(DATA / "iopddl_b.json.gz"),
                            "--time-limit", "30s")
        self.assertEqual(0, found["gap"], found["cost"])

    def test_split_network(self):
        found = self.answer("split", "--network", "rnn-10", "--workers", "4")
        self.assertEqual(4, found["workers"], found)
        smaller = self.answer("split", "--network", "rnn-10", "--workers", "4", "--batch", "16")
        self.assertLess(smaller["bytes_moved"], found["bytes_moved"])

    def test_split_layers_of_network(self):
        found = self.answer("place", "network", "--network", "lenet5", "--devices", "2", "--method",
                            "optcnn")
        self.assertEqual((2, 64), (found["devices"], found["samples"]), found)
        self.assertEqual(0, found["gap"], found)

    def test_name_command_for_other_kind_of_problem(self):
        for command, graph, needed in (
                ("load", "iopddl_b.json.gz", "optile place strategy"),
                ("strategy", "bert24_inference.json", "optile place load, latency or step")):
            refused = self.space.run([str(OPTILE), "place", command, "--graph", str(DATA / graph)])
            self.assertEqual(125, refused.code, refused)
            self.assertIn(needed, refused.stderr)

    def test_advise_parallelism(self):
        found = self.answer("parallelism", "--devices", "64", "--epochs", "32:4,64:none",
                            "--speedup", "2:1.5")
        self.assertEqual(64, found[0]["devices"], found)

    def test_train_save_and_apply_policy(self):
        policy = self.space.dir / "policy.json"
        words = ["--method", "rnn", "--devices", "2", "--cpus", "0", "--memory", "100"]
        graphs = self.space.dir / "graphs"
        graphs.mkdir()
        shutil.copy(DATA / "bert24_inference.json", graphs)
        trained = self.space.run([str(OPTILE), "place", "train", "--graphs", str(graphs), "--save",
                                  str(policy), "--evaluations", "40", *words])
        self.assertEqual(0, trained.code, trained)
        self.assertIn("1 graphs on 2 devices, 40 evaluations", trained.stdout)
        nowhere = self.space.run([str(OPTILE), "place", "train", "--graphs", str(graphs), "--save",
                                  str(graphs), "--evaluations", "4", *words])
        self.assertEqual(125, nowhere.code, nowhere)
        self.assertIn(f"{graphs} cannot be written: Is a directory", nowhere.stderr)
        found = self.answer("place", "step", "--graph", str(DATA / "bert24_training.json"),
                            "--policy", str(policy), "--evaluations", "10", *words)
        self.assertEqual((10, "rnn"), (found["evaluations"], found["method"]), found)
        policy.write_text(policy.read_text(encoding="utf-8")[:-100], encoding="utf-8")
        ended = self.space.run([str(OPTILE), "place", "step", "--graph",
                                str(DATA / "bert24_training.json"), "--policy", str(policy),
                                *words])
        self.assertEqual(125, ended.code, ended)
        self.assertIn(str(policy), ended.stderr)

    def test_refuse_invalid_graph(self):
        text = self.space.dir / "graph.json"
        text.write_text("{", encoding="utf-8")
        ended = self.space.run([str(OPTILE), "place", "load", "--graph", str(text)])
        self.assertEqual(125, ended.code, ended)
        self.assertIn(str(text), ended.stderr)

    def test_fail_when_answer_cannot_be_written(self):
        for words in (["split", "--network", "rnn-10", "--json"], ["--help"],
                      ["simulate", "--machine", "knl", "--graph", "dcgan", "--strategy", "paper"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                ended = subprocess.run([str(OPTILE), *words], check=False, stdout=full,
                                       stderr=subprocess.PIPE, text=True)
            self.assertEqual(125, ended.returncode, words)
            self.assertIn("cannot be written to standard output", ended.stderr)

    def test_report_missing_program_of_installation(self):
        alone = self.space.dir / "optile"
        shutil.copy(OPTILE, alone)
        for missing in ("optile-tool", "optile-place"):
            ended = self.space.run([str(alone), "split", "--network", "rnn-10"])
            self.assertEqual(125, ended.code, ended)
            self.assertIn(str(self.space.dir / missing), ended.stderr)
            shutil.copy(OPTILE.parent / "optile-tool", self.space.dir)

    def test_load_no_solver_when_launching(self):
        # A BLAS would start as many threads as there are cores with every `optile run`.
        loaded = subprocess.run([str(OPTILE)], check=True, capture_output=True, text=True,
                                env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}).stdout
        self.assertIn("libc.so", loaded)
        self.assertNotIn("blas", loaded)
