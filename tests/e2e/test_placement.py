"""The commands about placement, from `optile` on: they are a program of their own beside it."""
import json
import os
import shutil
import subprocess

from harness import OPTILE, SOURCE, EndToEndTest

DATA = SOURCE / "placement" / "data"


class PlacementCommands(EndToEndTest):
    def answer(self, *words):
        ended = self.space.run([str(OPTILE), *words, "--json"])
        self.assertEqual(0, ended.code, ended)
        return json.loads(ended.stdout)

    def test_a_graph_is_placed(self):
        found = self.answer("place", "--graph", str(DATA / "bert24_inference.json"),
                            "--method", "auto", "--evaluations", "200000")
        self.assertTrue(found["feasible"], found)
        self.assertAlmostEqual(found["cost"], max(found["load"]))
        self.assertLess(max(found["assignment"]), len(found["load"]), found["load"])
        self.assertGreaterEqual(found["cost"], found["lower_bound"])

    def test_a_changed_graph_moves_little(self):
        nodes = [{"name": f"n{i}", "accelerator_ms": 1 + i % 3, "output_bytes": 1e5}
                 for i in range(60)]
        edges = [{"source": i, "target": i + 1} for i in range(59)]
        graph = self.space.dir / "graph.json"
        graph.write_text(json.dumps({"nodes": nodes, "edges": edges}), encoding="utf-8")
        usual = ("--devices", "3", "--evaluations", "20000")
        before = self.answer("place", "--graph", str(graph), *usual)
        earlier = self.space.dir / "earlier.json"
        earlier.write_text(json.dumps(before), encoding="utf-8")
        nodes[10]["accelerator_ms"] = 6
        nodes[30]["name"] = "another"
        graph.write_text(json.dumps({"nodes": nodes, "edges": edges}), encoding="utf-8")
        after = self.answer("place", "--graph", str(graph), "--from", str(earlier), "--moves",
                            "10%", *usual)
        was = dict(zip(before["nodes"], before["assignment"]))
        moved = sum(was.get(name, device) != device
                    for name, device in zip(after["nodes"], after["assignment"]))
        self.assertEqual(moved, after["moved"])
        self.assertLessEqual(moved, 6)
        self.assertTrue(after["feasible"], after)

    def test_strategies_are_chosen(self):
        found = self.answer("place", "--graph", str(DATA / "iopddl_b.json.gz"), "--objective",
                            "strategy", "--time-limit", "30s")
        self.assertEqual(0, found["gap"], found["cost"])

    def test_a_network_is_split(self):
        found = self.answer("split", "--network", "rnn-10", "--workers", "4")
        self.assertEqual(4, found["workers"], found)

    def test_parallelism_is_advised(self):
        found = self.answer("parallelism", "--devices", "64", "--epochs", "32:4,64:none",
                            "--speedup", "2:1.5")
        self.assertEqual(64, found[0]["devices"], found)

    def test_a_policy_is_trained_saved_and_used(self):
        policy = self.space.dir / "policy.json"
        words = ["--method", "rnn", "--objective", "step", "--devices", "2", "--cpus", "0",
                 "--memory", "100"]
        graphs = self.space.dir / "graphs"
        graphs.mkdir()
        shutil.copy(DATA / "bert24_inference.json", graphs)
        trained = self.space.run([str(OPTILE), "place", "--train", str(graphs), "--save",
                                  str(policy), "--evaluations", "40", *words])
        self.assertEqual(0, trained.code, trained)
        self.assertIn("1 graphs on 2 devices, 40 evaluations", trained.stdout)
        found = self.answer("place", "--graph", str(DATA / "bert24_training.json"), "--policy",
                            str(policy), "--evaluations", "10", *words)
        self.assertEqual((10, "rnn"), (found["evaluations"], found["method"]), found)
        policy.write_text(policy.read_text(encoding="utf-8")[:-100], encoding="utf-8")
        ended = self.space.run([str(OPTILE), "place", "--graph",
                                str(DATA / "bert24_training.json"), "--policy", str(policy),
                                *words])
        self.assertEqual(125, ended.code, ended)
        self.assertIn(str(policy), ended.stderr)

    def test_what_is_no_graph(self):
        text = self.space.dir / "graph.json"
        text.write_text("{", encoding="utf-8")
        ended = self.space.run([str(OPTILE), "place", "--graph", str(text)])
        self.assertEqual(125, ended.code, ended)
        self.assertIn(str(text), ended.stderr)

    def test_half_an_installation(self):
        alone = self.space.dir / "optile"
        shutil.copy(OPTILE, alone)
        ended = self.space.run([str(alone), "split", "--network", "rnn-10"])
        self.assertEqual(125, ended.code, ended)
        self.assertIn(str(self.space.dir / "optile-place"), ended.stderr)

    def test_launching_loads_no_solver(self):
        # A BLAS would start as many threads as there are cores with every `optile run`.
        loaded = subprocess.run([str(OPTILE)], check=True, capture_output=True, text=True,
                                env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}).stdout
        self.assertIn("libc.so", loaded)
        self.assertNotIn("blas", loaded)
