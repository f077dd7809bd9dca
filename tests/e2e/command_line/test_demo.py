"""./dev demo, with programs of no time in the place of trainings."""
import json
import pathlib

from support.harness import BUILD, PYTHON, EndToEndTest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
# Says steps as a training does, with no op in them.
STEPS = """import itertools, time
for i in itertools.count(1):
    print(f"step {i}/9 loss 1", flush=True)
    time.sleep(0.01)
"""
FAILS = "import sys\nprint('step 1/9')\nsys.exit('no data')\n"


class DemoCommand(EndToEndTest):
    def run_demo(self, *programs):
        words = []
        for name, text in programs:
            script = self.space.dir / f"{name}.py"
            script.write_text(text)
            words += ["--training", f"{name}={PYTHON} {script}"]
        self.results = self.space.dir / "results"
        return self.space.run([PYTHON, SOURCE / "tools" / "demo.py", "--quick", "--scale", "0.02",
                               "--build", BUILD, "--results", self.results, *words])

    def test_prints_summary_screen(self):
        finished = self.run_demo(("first", STEPS), ("second", STEPS))
        self.assertEqual(0, finished.code, finished)
        lines = finished.stdout.splitlines()
        self.assertLessEqual(len(lines), 80)
        for phase in ("side by side, untouched", "side by side, optile", "first killed",
                      "first alone, untouched", "second alone, optile"):
            self.assertTrue(any(line.startswith(f"{phase} ") for line in lines), (phase, lines))
        self.assertIn("nothing seen of it", finished.stdout)
        figures = json.loads((self.results / "figures.json").read_text())
        self.assertEqual("first", figures["killed"])
        self.assertGreater(figures["survivors"]["second"], 0)
        self.assertTrue((self.results / "side-by-side-optile-second.log").exists())

    def test_names_failed_training_with_its_log(self):
        finished = self.run_demo(("first", STEPS), ("second", FAILS))
        self.assertEqual(1, finished.code, finished)
        log = self.results / "side-by-side-untouched-second.log"
        self.assertIn(f"the training second ended with status 1; its output is in {log}",
                      finished.stderr)
        self.assertIn("no data", finished.stderr)
