"""`optile doctor` on this machine: it answers, starts nothing, and its exit code says whether
something is in the way."""
import json
import os

from support.harness import OPTILE, PROGRAMS, PYTHON, EndToEndTest, without_privileges


class DoctorCommand(EndToEndTest):
    def examine(self, *words, env=None, wrap=list):
        command = [str(OPTILE), "doctor", "--json", "--socket", str(self.space.socket), *words]
        answer = self.space.run(wrap(command), env)
        self.assertIn(answer.code, (0, 1), answer)
        found = json.loads(answer.stdout)
        self.assertEqual(answer.code, 1 if found["problems"] else 0, answer)
        return found

    def levels(self, found, subject):
        return {one["level"] for one in found["findings"] if one["subject"] == subject}

    def test_finds_no_problem_and_starts_nothing(self):
        found = self.examine()
        self.assertEqual(0, found["problems"], found)
        for subject in ("machine", "budget", "counters", "installation", "daemon", "store"):
            self.assertTrue(self.levels(found, subject), found)
        self.assertEqual([], self.space.daemon_pids())
        self.assertEqual([], list((self.space.dir / "state").iterdir()))

    def test_finds_running_daemon(self):
        self.space.start_daemon()
        found = self.examine()
        self.assertEqual({"ok"}, self.levels(found, "daemon"))
        self.assertEqual(0, found["problems"], found)

    def test_examines_program_without_starting_it(self):
        witness = self.space.dir / "started"
        found = self.examine("--", PYTHON, "-c", f"open({str(witness)!r}, 'w')")
        self.assertEqual({"ok"}, self.levels(found, "program"), found)
        self.assertEqual({"ok"}, self.levels(found, "PyTorch"), found)
        self.assertFalse(witness.exists())

    def test_exits_with_1_on_problem(self):
        found = self.examine("--", self.space.dir / "nothing-here")
        self.assertEqual({"problem"}, self.levels(found, "program"), found)
        found = self.examine("--", PROGRAMS / "static_buffers")
        self.assertEqual({"problem"}, self.levels(found, "program"), found)

    def test_reports_environment_of_user(self):
        found = self.examine(env={"OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "true"})
        self.assertEqual({"note"}, self.levels(found, "environment"))
        self.assertEqual(0, found["problems"], found)

    def test_reports_unwritable_socket_folder(self):
        os.chmod(self.space.dir, 0o500)
        try:
            found = self.examine(wrap=without_privileges)
        finally:
            os.chmod(self.space.dir, 0o700)
        self.assertEqual({"problem"}, self.levels(found, "daemon"), found)

    def test_prints_text_report(self):
        answer = self.space.run([OPTILE, "doctor", "--socket", self.space.socket])
        self.assertEqual(0, answer.code, answer)
        self.assertIn("nothing is in the way", answer.stdout)
        self.assertIn("counters", answer.stdout)
