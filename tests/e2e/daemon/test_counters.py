"""Counters in a real training program: which tier, what was counted, and that the user's word
holds. Whatever the machine grants, the kernel's own accounting is always there."""
from support.harness import PYTHON, QUICK_BLAS, SCRIPTS, EndToEndTest, blas, without_privileges

TRAINER = [PYTHON, SCRIPTS / "train_small.py", "--steps", "150"]


class OpCounters(EndToEndTest):
    def reported(self, *options, wrap=list):
        path = self.space.dir / f"report{len(list(self.space.dir.glob('report*.json')))}.json"
        command = self.space.launcher("--mode", "observe", "--report", path, *options,
                                      command=TRAINER)
        finished = self.space.run(wrap(command), blas(QUICK_BLAS))
        self.assertEqual(0, finished.code, finished)
        return self.report(path)

    def check_counted(self, report):
        self.assertIn(report["counters"], ("software", "hardware"), report["fallbacks"])
        if report["counters"] == "software":
            self.assertTrue(report["counter_reason"])
        counted = [op["counts"] for op in report["ops"] if op["counts"]]
        self.assertTrue(counted, report)
        long_enough = [counts for counts in counted if counts["executions"]]
        for counts in long_enough:
            self.assertGreaterEqual(counts["threads"], 1)
            event = "task_clock_ns" if report["counters"] == "software" else "instructions"
            self.assertGreater(counts["per_execution"][event], 0, counts)
        return counted

    def test_count_every_op(self):
        self.space.start_daemon()
        report = self.reported()
        self.check_counted(report)
        explained = self.space.ask_json("explain", "aten::")
        self.assertEqual(report["counters"], explained["explanations"][0]["counters"])
        self.assertIn("counters", self.space.ask("explain", "aten::").stdout)

    def test_count_without_permission(self):
        self.space.start_daemon()
        self.check_counted(self.reported(wrap=without_privileges))

    def test_read_nothing_when_off(self):
        self.space.start_daemon()
        report = self.reported("--counters", "off")
        self.assertEqual("none", report["counters"])
        self.assertIn("--counters off", report["counter_reason"])
        self.assertFalse([op for op in report["ops"] if op["counts"]])

    def test_use_kernel_accounting_when_asked(self):
        self.space.start_daemon()
        self.assertEqual("software", self.reported("--counters", "software")["counters"])
