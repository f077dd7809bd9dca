"""`optile top`: its plain picture of two programs under leases, and the real screen on a terminal:
keys, refusals, a daemon that vanishes, sizes, and a terminal that is as it was afterwards."""
import os
import signal
import unittest

from support.harness import OPTILE, finish, usable_cpus, wait_until
from support.hostile_client import OBSERVE, HostileClient
from support.screen import OnTerminal
from daemon.test_leases import LeaseTest

# An escape, a control character, half a character, a wide one.
HOSTILE_NAME = b"a\x1b[2J\x1b[31m\nb\x07\xc3\xe8\xa8\x93"


class TopTest(LeaseTest):
    def top(self, *options):
        return [OPTILE, "top", "--socket", self.space.socket, *options]

    def on_terminal(self, *options, **terminal):
        running = OnTerminal(self.space, self.top(*options), **terminal)
        self.addCleanup(running.close)
        return running

    def attach(self, name):
        """A client that needs no program: it has a name and no lease."""
        client = HostileClient(self.space.socket, name=name, mode=OBSERVE)
        self.addCleanup(client.close)
        return client


class TopOnce(TopTest):
    def test_prints_two_programs_under_leases(self):
        one, other = self.start("--share", "2"), self.start("--priority", "batch")
        self.wait_until_apart(one, other)
        wait_until(lambda: all(client["steps"] > 3
                               for client in self.space.get("/v1/status")["clients"]), "steps")
        self.say("pin", self.id_of(other), str(self.lease_of(other)["cores"][0]))
        answer = self.space.run(self.top("--once"))
        self.assertEqual((0, ""), (answer.code, answer.stderr), answer)
        text = answer.stdout
        self.assertNotIn("\x1b", text)
        self.assertIn("2 clients", text)
        self.assertIn("the user pinned client", text)
        rows = {line.split()[2]: line for line in text.splitlines()
                if "train_small.py" in line and line.startswith("  ")}
        self.assertEqual({str(one.pid), str(other.pid)}, set(rows))
        self.assertIn("batch", rows[str(other.pid)])
        self.assertIn("pinned", rows[str(other.pid)])
        # The map has exactly the cores of each lease, by letter.
        cells = "".join(line[7:] for line in text.splitlines()
                        if line.startswith(("cores ", "node ")))
        for process in (one, other):
            letter = rows[str(process.pid)].split()[0]
            self.assertEqual(len(self.lease_of(process)["cores"]), cells.count(letter), text)

    def test_fails_without_daemon(self):
        answer = self.space.run([OPTILE, "top", "--once", "--socket", self.space.dir / "none"])
        self.assertEqual((1, ""), (answer.code, answer.stdout))
        self.assertIn("no daemon answers on", answer.stderr)
        self.assertIn("optile run", answer.stderr)
        terminal = OnTerminal(self.space, [OPTILE, "top", "--socket", self.space.dir / "none"])
        self.addCleanup(terminal.close)
        self.assertEqual(1, terminal.end())
        self.assertIn("no daemon answers on", terminal.screen.text())

    def test_is_default_without_terminal(self):
        answer = self.space.run(self.top())
        self.assertEqual(0, answer.code, answer)
        self.assertIn("no clients: start one with optile run", answer.stdout)
        into_a_pipe = self.space.popen(self.top(), {"LC_ALL": "C"})
        self.assertEqual(answer.stdout, finish(into_a_pipe).stdout)

    def test_escapes_hostile_names(self):
        self.attach(HOSTILE_NAME)
        for locale in ("C", "C.UTF-8"):
            answer = self.space.run(self.top("--once"), {"LC_ALL": locale})
            self.assertEqual(0, answer.code, answer)
            self.assertIn("a?[2J?[31m?b", answer.stdout)
            self.assertTrue(all(c == "\n" or c.isprintable() for c in answer.stdout))


class TopScreen(TopTest):
    def test_sends_lease_commands(self):
        program = self.start()
        number = self.id_of(program)
        top = self.on_terminal()
        top.wait_for("> A", "train_small.py", "q quit")
        top.press("s")
        top.wait_for(f"share of client {number}")
        top.press("2.5\r")
        wait_until(lambda: self.lease_of(program)["share"] == 2.5, "the share")
        top.wait_for("by hand: share 2.5")
        top.press("p0\r")
        top.wait_for("pinned", f"client {number}, by hand: pinned to cores 0")
        self.assertTrue(self.lease_of(program)["pinned"])
        top.press("p")
        top.wait_for("by hand: not pinned any more")
        self.assertFalse(self.lease_of(program)["pinned"])
        top.press(" ")
        wait_until(lambda: self.lease_of(program)["paused"], "the pause")
        top.wait_for("paused")
        top.press(" ")
        wait_until(lambda: not self.lease_of(program)["paused"], "the pause to be taken back")
        top.press("dn")
        top.press("d")
        top.wait_for("detach client", "y/n")
        self.assertIsNotNone(self.lease_of(program))
        top.press("y")
        wait_until(lambda: self.lease_of(program) is None, "the lease to be gone")
        top.wait_for("detached")
        top.press("d")
        wait_until(lambda: self.lease_of(program) is not None, "the lease to be back")
        top.press("q")
        self.assertEqual(0, top.end())
        self.assertTrue(top.is_as_before())

    def test_shows_refusal_in_bottom_line(self):
        self.start()
        top = self.on_terminal()
        top.wait_for("> A")
        top.press("p999\r")
        text = top.wait_for("core 999 is not in the budget")
        self.assertIn("core 999", text.splitlines()[-1])
        top.press("sx\r")
        text = top.wait_for("share has to be a number")
        top.press("j")
        top.wait_for("q quit", gone=("share has to be",))

    def test_explains_selected_client(self):
        program = self.start()
        wait_until(lambda: self.space.get("/v1/ops")["ops"], "ops")
        top = self.on_terminal()
        top.wait_for("> A")
        top.press("e")
        top.wait_for("A explained", f"pid {program.pid}", "its longest ops", "measured:")
        top.press("\x1b")
        top.wait_for("> A", gone=("explained",))
        top.press("?")
        top.wait_for("this help", "detach")
        top.press("q")
        top.wait_for("> A")

    def test_reconnects_to_restarted_daemon(self):
        self.attach(b"first-program")
        top = self.on_terminal("--interval", "0.1")
        top.wait_for("first-program")
        daemon = self.space.get("/v1/status")["pid"]
        os.kill(daemon, signal.SIGSTOP)  # still there, and silent
        top.wait_for("daemon unreachable, retrying", "first-program")
        os.kill(daemon, signal.SIGCONT)
        top.wait_for("first-program", gone=("unreachable",))
        os.kill(daemon, signal.SIGKILL)
        top.wait_for("daemon unreachable, retrying", "first-program")
        self.space.start_daemon()
        self.attach(b"second-program")
        top.wait_for("second-program", gone=("unreachable", "first-program"))
        top.press("q")
        self.assertEqual(0, top.end())

    def test_restores_terminal_at_any_end(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV):
            with self.subTest(number):
                top = self.on_terminal()
                top.wait_for("q quit")
                self.assertTrue(top.screen.alternate)
                self.assertFalse(top.is_as_before())
                if number == signal.SIGINT:
                    top.press("\x03")  # as from the keyboard
                else:
                    top.process.send_signal(number)
                self.assertEqual(-number, top.end())
                self.assertTrue(top.is_as_before())

    def test_fits_terminal_sizes(self):
        self.attach(HOSTILE_NAME)
        top = self.on_terminal("--interval", "0.1", rows=5, columns=20)
        top.wait_for("optiled", "> A", "q quit")
        top.set_size(40, 150)
        top.wait_for("last lease plan", "a?[2J?[31m?b", "A client  a lent to it")
        top.set_size(1, 1)
        top.set_size(24, 80)
        top.wait_for("last lease plan", "a?[2J?[31m?b")
        top.press("q")
        self.assertEqual(0, top.end())
        self.assertTrue(top.is_as_before())

    def test_draws_without_colour_and_utf8(self):
        self.attach(HOSTILE_NAME)
        cases = ({"NO_COLOR": "1"}, {"LC_ALL": "C"}, {"TERM": "vt100"}, {})
        colours = []
        for env in cases:
            top = self.on_terminal(env=env)
            top.wait_for("> A", "a?[2J?[31m?b")
            top.press("q")
            self.assertEqual(0, top.end())
            colours.append(top.screen.colours > 0)
        self.assertEqual([False, True, False, True], colours)

    def test_prints_once_on_dumb_terminal(self):
        for name in ("dumb", "no-such-terminal"):
            top = self.on_terminal(env={"TERM": name})
            self.assertEqual(0, top.end())
            self.assertIn("cannot show a moving picture", top.screen.text())
            self.assertIn("no clients: start one", top.screen.text())
            self.assertTrue(top.is_as_before())


if __name__ == "__main__":
    unittest.main()
