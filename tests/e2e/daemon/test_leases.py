"""Leases on this machine's own cores: two trainings under one daemon never have a core in common,
what one leaves the other gets, and what the user says about a lease happens."""
import os
import signal
import unittest

from support.harness import (DEADLINE, PROGRAMS, PYTHON, SCRIPTS, QUICK_BLAS, EndToEndTest, blas,
                             finish, read_until, usable_cpus, wait_until)
from support.thread_masks import masks

TRAINER = [PYTHON, SCRIPTS / "train_small.py"]
FOREVER = "100000000"  # steps; such a program is ended by its test


def cpus(text):
    """A list as the kernel writes it: "0-2,5"."""
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def all_within(pid, units):
    return all(mask <= units for mask in masks(pid).values())


@unittest.skipIf(usable_cpus() < 2, "one core: there is nothing to divide")
class LeaseTest(EndToEndTest):
    daemon_options = ()

    def setUp(self):
        super().setUp()
        self.env = blas(QUICK_BLAS)
        self.daemon = self.space.start_daemon(options=self.daemon_options)
        self.whole = os.sched_getaffinity(0)

    def start(self, *options, arguments=("--steps", FOREVER)):
        """A training that has a lease: its process, which is the client's."""
        process = self.space.popen(
            self.space.launcher(*options, command=[*TRAINER, *arguments]), self.env)
        wait_until(lambda: self.lease_of(process) or self.gone(process), "a lease")
        return process

    def gone(self, process):
        if process.poll() is not None:
            raise AssertionError(f"ended with {process.returncode}: {process.stderr.read()}")

    def lease_of(self, process):
        leases = self.space.get("/v1/leases")["clients"]
        return next((lease for lease in leases if lease["pid"] == process.pid), None)

    def id_of(self, process):
        return str(self.lease_of(process)["id"])

    def units_of_core(self, core):
        for tile in self.space.get("/v1/machine")["tiles"]:
            for one in tile["cores"]:
                if one["core"] == core:
                    return set(one["units"]) & self.whole
        raise AssertionError(f"no core {core}")

    def say(self, *words):
        answer = self.space.ask(*words)
        self.assertEqual(0, answer.code, answer)
        return answer.stdout

    def wait_for_masks(self, process, units):
        """Every thread may run on exactly these units."""
        wait_until(lambda: self.has_masks(process, units),
                   f"every thread of {process.pid} to have {sorted(units)}")

    def has_masks(self, process, units):
        found = masks(process.pid).values()
        return bool(found) and all(mask == units for mask in found)

    def wait_until_apart(self, one, other):
        """Both are held to their leases, and these have nothing in common."""
        def apart():
            first, second = self.lease_of(one), self.lease_of(other)
            if not first or not second or not first["units"] or not second["units"]:
                return None
            mine, others = set(first["units"]), set(second["units"])
            self.assertFalse(mine & others, (first, second))
            held = all_within(one.pid, mine) and all_within(other.pid, others)
            return (mine, others) if held else None

        return wait_until(apart, "both programs to be held to their leases")


class TeamsUnderLeases(LeaseTest):
    """OpenMP programs of their own regions: nothing resizes their teams."""

    def sweep(self, *options):
        process = self.space.popen(
            self.space.launcher(*options, command=[PROGRAMS / "sweeps"]), self.env)
        wait_until(lambda: self.lease_of(process) or self.gone(process), "a lease")
        return process

    def test_spin_as_long_as_lease_allows(self):
        cores = len(self.whole)
        first = self.sweep("--openmp", "llvm")
        read_until(first, f"threads {cores} spin 1")
        second = self.sweep()  # LLVM's runtime as well, and its cores are its own
        read_until(second, f"threads {cores // 2} spin 200")
        read_until(first, f"threads {cores} spin 0")
        second.kill()
        read_until(first, f"threads {cores} spin 1")

    def test_keep_every_core_beside_almost_idle_program(self):
        first = self.sweep("--openmp", "keep")
        read_until(first, f"threads {len(self.whole)} spin -1")
        second = self.space.popen(
            self.space.launcher("--openmp", "keep", command=[PROGRAMS / "sweeps", "300"]), self.env)
        reason = wait_until(lambda: self.reason_of(second), "a reason to have no lease")
        self.assertIn("it shares the cores by time: ", reason)
        wait_until(lambda: "it wants a processor for" in (self.reason_of(second) or ""),
                   "little demand to be seen")
        self.assertTrue(self.has_masks(first, self.whole), masks(first.pid))
        self.assertTrue(self.has_masks(second, self.whole), masks(second.pid))

    def reason_of(self, process):
        unleased = self.space.get("/v1/leases")["unleased"]
        return next((one["reason"] for one in unleased if one["pid"] == process.pid), None)

    def test_keep_settings_of_user(self):
        self.env["KMP_BLOCKTIME"] = "7"
        self.env["OMP_NUM_THREADS"] = str(len(self.whole))
        as_said = f"threads {len(self.whole)} spin 7"
        first = self.sweep("--openmp", "llvm")
        read_until(first, as_said)
        second = self.sweep("--openmp", "llvm")
        read_until(second, as_said)
        self.wait_until_apart(first, second)
        for process in (first, second):
            process.kill()
            self.assertEqual("", process.stdout.read())


class LeaseDivision(LeaseTest):
    def test_returns_cores_of_ended_program(self):
        ending = self.start(arguments=("--steps", "100", "--pause-at", "90"))
        staying = self.start()
        read_until(ending, "paused")
        mine, others = self.wait_until_apart(ending, staying)
        self.assertLessEqual(mine | others, self.whole)
        finished = finish(ending, "\n")
        self.assertEqual(0, finished.code, finished)
        self.wait_for_masks(staying, self.whole)
        left = self.space.get("/v1/leases")["clients"]
        self.assertEqual([staying.pid], [one["pid"] for one in left])

    def test_lends_cores_of_waiting_program(self):
        waiting = self.start(arguments=("--steps", FOREVER, "--pause-at", "90"))
        working = self.start()
        read_until(waiting, "paused")
        self.wait_for_masks(working, self.whole)
        wait_until(lambda: self.space.get("/v1/leases")["lent_cores"] > 0, "something to be lent")
        self.assertTrue(self.lease_of(waiting)["idle"])
        waiting.stdin.write("\n")
        waiting.stdin.flush()
        self.wait_until_apart(waiting, working)
        self.assertEqual(0, self.space.get("/v1/leases")["lent_cores"])

    def test_returns_cores_of_killed_program(self):
        killed, staying = self.start(), self.start()
        self.wait_until_apart(killed, staying)
        killed.send_signal(signal.SIGKILL)
        self.wait_for_masks(staying, self.whole)
        staying.send_signal(signal.SIGKILL)
        wait_until(lambda: not self.space.get("/v1/leases")["clients"], "no lease to be left")
        self.assertEqual(0, self.space.get("/v1/leases")["held_cores"])

    def test_survives_removal_of_socket_folder(self):  # fault: F50
        """As logind does at a logout. The programs change over to the next daemon, and the
        first one leaves its files alone."""
        one, other = self.start(), self.start()
        self.wait_until_apart(one, other)
        for path in self.space.dir.glob("optiled.sock*"):
            path.unlink()
        second = self.space.start_daemon()
        self.assertEqual(0, self.daemon.process.wait(DEADLINE))
        wait_until(lambda: self.lease_of(one) and self.lease_of(other), "both to change over")
        self.wait_until_apart(one, other)
        self.assertEqual(second.process.pid, second.status()["pid"])

    def test_applies_share_and_priority_of_launch(self):
        process = self.start("--share", "2.5", "--priority", "batch")
        lease = self.lease_of(process)
        self.assertEqual((2.5, "batch"), (lease["share"], lease["priority"]))


class ExternalLoad(LeaseTest):
    daemon_options = ("--external-load", "yield")

    def test_reduces_lease_by_busy_cores(self):
        training = self.start()
        for _ in self.whole:
            self.space.popen([PYTHON, "-c", "while True: pass"])
        wait_until(lambda: self.space.get("/v1/leases")["left_to_others"] > 0, "others to be seen")
        wait_until(lambda: len(self.lease_of(training)["units"]) < len(self.whole), "less for us")
        self.assertTrue(self.has_masks(training, self.whole))


class StartedPrograms(LeaseTest):
    """What a program with a lease starts does not inherit that lease."""

    def masks_of_started(self, process, word):
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        lines = read_until(process, "done").splitlines()[:-1]
        return {way: cpus(units) for way, units in (line.split(": ") for line in lines)}

    def all_but_forked_begin_free(self, process, lease):
        found = self.masks_of_started(process, "start")
        self.assertEqual(lease, found.pop("fork"), "the program's own work")
        return all(mask == self.whole for mask in found.values())

    def test_start_with_original_mask_of_parent(self):
        # LLVM's runtime gives a forked child the mask that its parent began with, optile or not.
        process = self.space.popen(
            self.space.launcher("--openmp", "keep",
                                command=[PYTHON, SCRIPTS / "starts_in_lease.py"]), self.env)
        read_until(process, "products True")
        wait_until(lambda: self.lease_of(process) or self.gone(process), "a lease")
        for core in self.lease_of(process)["cores"][:2]:
            self.say("pin", self.id_of(process), str(core))
            lease = self.units_of_core(core)
            self.wait_for_masks(process, lease)
            self.assertTrue(self.all_but_forked_begin_free(process, lease))
        self.assertTrue(self.has_masks(process, lease), masks(process.pid))
        # What the program says itself holds, be it what the lease is.
        for unit in (min(lease), min(self.whole - lease)):
            found = self.masks_of_started(process, unit)
            self.assertEqual({way: {unit} for way in found}, found)


class LeaseCommands(LeaseTest):
    def test_pin_and_unpin_cores(self):
        pinned, other = self.start(), self.start()
        core = self.lease_of(other)["cores"][0]  # it has to come from the other one
        said = self.say("pin", self.id_of(pinned), str(core))
        self.assertIn(f"cores {core}, share 1, pinned", said)
        self.wait_for_masks(pinned, self.units_of_core(core))
        self.wait_until_apart(pinned, other)
        self.assertIn("pinned", self.say("leases"))
        refused = self.space.ask("pin", self.id_of(other), str(core))
        self.assertEqual(1, refused.code, refused)
        self.assertIn("take that back first", refused.stderr)
        self.assertNotIn("pinned", self.say("unpin", self.id_of(pinned)))
        self.wait_until_apart(pinned, other)
        log = (self.space.dir / "optiled.log").read_text()
        self.assertIn(f"client {self.id_of(pinned)}, by hand: pinned to cores {core}", log)
        self.assertIn(f"client {self.id_of(pinned)}, by hand: not pinned any more", log)

    def test_survive_restart_of_daemon(self):  # fault: F1
        pinned, other = self.start(), self.start()
        core = self.lease_of(other)["cores"][0]
        self.say("pin", self.id_of(pinned), str(core))
        self.say("share", self.id_of(other), "3")
        self.daemon.kill()
        self.space.start_daemon()
        wait_until(lambda: self.lease_of(pinned) and self.lease_of(other), "both to be back")
        self.assertEqual([core], self.lease_of(pinned)["cores"])
        self.assertEqual(3, self.lease_of(other)["share"])
        self.wait_for_masks(pinned, self.units_of_core(core))
        self.wait_until_apart(pinned, other)

    def test_detach_and_attach(self):
        detached, other = self.start(), self.start()
        self.wait_until_apart(detached, other)
        number = self.id_of(detached)
        self.assertIn("no lease", self.say("detach", number))
        self.wait_for_masks(detached, self.whole)
        self.wait_for_masks(other, self.whole)
        self.assertEqual([detached.pid],
                         [one["pid"] for one in self.space.get("/v1/leases")["unleased"]])
        again = self.space.ask("detach", number)
        self.assertEqual(1, again.code, again)
        self.assertIn("has no lease", again.stderr)
        self.assertIn("cores", self.say("attach", number))
        self.wait_until_apart(detached, other)

    def test_pause_and_share(self):
        paused, ending = self.start(), self.start()
        before, _ = self.wait_until_apart(paused, ending)
        self.assertIn("paused", self.say("pause", self.id_of(paused)))
        shares = self.space.ask_json("share", self.id_of(ending), "3")["clients"]
        self.assertEqual([1, 3], [one["share"] for one in shares])
        ending.send_signal(signal.SIGKILL)
        wait_until(lambda: len(self.space.get("/v1/leases")["clients"]) == 1, "one to be left")
        self.assertEqual(before, set(self.lease_of(paused)["units"]))
        self.say("resume", self.id_of(paused))
        self.wait_for_masks(paused, self.whole)
