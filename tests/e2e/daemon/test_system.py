"""The system daemon: programs of several users on one machine, and who may say what to whom."""
import contextlib
import json
import os
import socket
import subprocess
import unittest

from support import harness
from support.harness import finish, usable_cpus, wait_until
from support.system_space import (ADMINS, ANNA, BERT, DAEMON, STRANGER, USERS, SystemTest,
                                  descendants, needs_root, unshare)
from support.thread_masks import masks

# Holds so many connections to the socket, each with half a question.
KEEPS_ASKING = """
import socket, sys
held = []
for _ in range(int(sys.argv[2])):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].connect(sys.argv[1])
    try:
        held[-1].sendall(b"GET /v1/status")
    except BrokenPipeError:
        pass
print("asked", flush=True)
sys.stdin.read()
"""


@needs_root
class SeveralUsers(SystemTest):
    def setUp(self):
        super().setUp()
        self.start_system_daemon("--group", USERS, "--admin-group", ADMINS)
        self.anna = self.start_rank(ANNA)
        self.bert = self.start_rank(BERT)
        self.of_anna = str(self.wait_for_lease(self.anna)["id"])
        self.of_bert = str(self.wait_for_lease(self.bert)["id"])

    def leases_for(self, uid, **options):
        answer = self.ask_as(uid, "leases", "--json", **options)
        self.assertEqual(0, answer.code, answer)
        return {str(one["id"]): one for one in json.loads(answer.stdout)["clients"]}

    def test_see_only_own_programs(self):  # fault: F39
        seen = self.leases_for(ANNA)
        self.assertEqual(self.anna.pid, seen[self.of_anna]["pid"])
        self.assertEqual(str(self.rank), seen[self.of_anna]["program"])
        other = seen[self.of_bert]
        self.assertEqual((None, "another user's program"), (other["pid"], other["program"]))
        self.assertNotIn(str(self.rank), self.ask_as(BERT, "explain", "x", "--client",
                                                     self.of_anna).stderr)
        status = json.loads(self.ask_as(BERT, "status", "--json").stdout)
        shown = {str(one["id"]): one["program"] for one in status["clients"]}
        self.assertEqual("another user's program", shown[self.of_anna])
        for uid, groups in ((0, ()), (STRANGER, (USERS, ADMINS))):
            self.assertEqual(self.anna.pid,
                             self.leases_for(uid, groups=groups)[self.of_anna]["pid"])

    def test_command_only_own_programs(self):  # fault: F39
        for words in (("share", self.of_bert, "5"), ("pin", self.of_bert, "0"),
                      ("pause", self.of_bert), ("detach", self.of_bert),
                      ("undo", "--client", self.of_bert), ("ops", "--client", self.of_bert),
                      ("explain", "x", "--client", self.of_bert)):
            refused = self.ask_as(ANNA, *words)
            self.assertEqual(1, refused.code, (words, refused))
            self.assertIn(f"client {self.of_bert} is another user's", refused.stderr, words)
        self.assertEqual(1, self.leases_for(0, groups=())[self.of_bert]["share"])
        self.assertEqual(0, self.ask_as(ANNA, "share", self.of_anna, "5").code)
        self.assertEqual(0, self.ask_as(STRANGER, "pause", self.of_bert,
                                        groups=(USERS, ADMINS)).code)
        self.assertEqual(0, self.ask_as(0, "resume", self.of_bert, groups=()).code)
        metrics = self.ask_as(ANNA, "metrics")
        self.assertEqual(1, metrics.code, metrics)
        self.assertIn("all users", metrics.stderr)

    @unittest.skipIf(usable_cpus() < 4, "an even part of so few cores is one")
    def test_hold_no_more_than_even_part(self):  # fault: F40
        cores = len(self.space_machine_cores())
        most = cores // 2
        for pinned, code in ((f"0-{most}", 1), (f"0-{most - 1}", 0)):
            answer = self.ask_as(ANNA, "pin", self.of_anna, pinned)
            self.assertEqual(code, answer.code, (pinned, answer))
        refused = self.ask_as(ANNA, "pin", self.of_anna, f"0-{most}")
        self.assertIn(f"you may hold {most}", refused.stderr)
        third = self.start_rank(STRANGER)
        wait_until(lambda: "no longer pinned or paused" in self.log(), "the pin to be taken back")
        self.assertTrue(self.wait_for_lease(third)["units"])
        self.assertFalse(self.leases_for(ANNA)[self.of_anna]["pinned"])

    def space_machine_cores(self):
        _, machine = harness.get(self.socket, "/v1/machine")
        return [core for tile in machine["tiles"] for core in tile["cores"]]

    def test_apply_shares_among_own_programs(self):
        self.assertEqual(0, self.ask_as(ANNA, "share", self.of_anna, "100").code)
        leases = self.leases_for(0, groups=())
        self.assertEqual(100, leases[self.of_anna]["share"])
        self.assertEqual(leases[self.of_anna]["weight"], leases[self.of_bert]["weight"])

    def test_undo_only_own_programs(self):
        undone = self.ask_as(ANNA, "undo", "--all", "--json")
        self.assertEqual(0, undone.code, undone)
        self.assertEqual([self.anna.pid],
                         [one["pid"] for one in json.loads(undone.stdout)["clients"]])
        stores = sorted(path.name for path in (self.space.dir / "stores").glob("*.db"))
        self.assertIn(f"{ANNA}.db", stores)
        for store in (self.space.dir / "stores").glob("*.db"):
            self.assertEqual(0, store.stat().st_mode & 0o077, store)

    @unittest.skipIf(usable_cpus() < 2, "one core: there is nothing to divide")
    def test_are_confined_to_their_cores(self):
        def apart():
            first, second = self.lease_of(self.anna), self.lease_of(self.bert)
            self.assertFalse(set(first["units"]) & set(second["units"]), (first, second))
            return all(mask <= set(lease["units"]) for process, lease in
                       ((self.anna, first), (self.bert, second))
                       for mask in masks(process.pid).values())
        wait_until(apart, "both users' threads to be held to their leases")

    def test_use_own_daemon_outside_group(self):
        program = self.start_rank(STRANGER, groups=())
        self.assertNotIn(program.pid, [one["pid"] for one in self.leases()["clients"]])
        finished = finish(program)
        self.assertEqual(0, finished.code, finished)
        self.assertIn("does not let you in", finished.stderr)
        own = self.home(STRANGER) / "optile" / "optiled.sock"
        wait_until(own.exists, "a daemon of his own")


@needs_root
class DaemonHandover(SystemTest):
    def test_stops_admission_of_user_daemon(self):  # fault: F41
        before = self.start_rank(ANNA)
        own = self.home(ANNA) / "optile" / "optiled.sock"
        wait_until(lambda: harness.get(own, "/v1/status")[1]["clients"], "the first to attach")
        self.start_system_daemon("--group", USERS)
        after = self.start_rank(ANNA)
        self.wait_for_lease(after)
        _, status = harness.get(own, "/v1/status")
        self.assertEqual([before.pid], [one["pid"] for one in status["clients"]])
        # Whoever asks for the old one by name is told.
        named = self.start_rank(ANNA, "--socket", str(own))
        self.assertIsNone(named.poll())
        wait_until(lambda: "takes no new programs" in (own.parent / "optiled.log").read_text(),
                   "the old daemon to refuse")
        answer = self.ask_as(ANNA, "status")
        self.assertIn("your own still runs too", answer.stderr)
        self.assertIn(str(after.pid), answer.stdout)
        # What was attached to the old one finds the new one when the old one ends.
        self.assertEqual(0, self.ask_as(ANNA, "stop", "--socket", str(own)).code)
        wait_until(lambda: not harness.connectable(own, socket.SOCK_STREAM), "the old one to end")

        def attached_again():
            before.stdin.write("x\n")
            before.stdin.flush()
            return self.lease_of(before)

        wait_until(attached_again, "the first to attach to the system daemon")
        second = self.run_as(ANNA, self.bin / "optiled", "--foreground")
        self.assertEqual(3, second.code, second)

    def test_refuses_second_system_daemon(self):  # fault: F41
        self.start_system_daemon("--group", USERS)
        second = self.space.run([self.bin / "optiled", "--system", "--socket", self.socket])
        self.assertEqual(3, second.code, second)

    def test_requires_existing_groups(self):
        wrong = self.space.run([self.bin / "optiled", "--system", "--socket", self.socket,
                                "--group", "no-such-group-here"])
        self.assertEqual(2, wrong.code, wrong)
        self.assertIn("there is no group", wrong.stderr)
        alone = self.space.run([self.bin / "optiled", "--socket", self.socket, "--group", "0"])
        self.assertEqual(2, alone.code, alone)


@needs_root
class UnprivilegedAccount(SystemTest):
    """As the unit of systemd starts it: no root, one capability."""

    def as_account(self, *capabilities):
        os.chown(self.run_dir, DAEMON, USERS)
        (self.space.dir / "stores").mkdir(mode=0o700)
        os.chown(self.space.dir / "stores", DAEMON, USERS)
        kept = ",".join(["-all", *(f"+{name}" for name in capabilities)])
        return lambda command: [
            "setpriv", f"--reuid={DAEMON}", f"--regid={USERS}", "--clear-groups", "--no-new-privs",
            f"--inh-caps={kept}", f"--ambient-caps={kept}", f"--bounding-set={kept}", *command]

    def start_two(self):
        programs = [self.start_rank(ANNA), self.start_rank(BERT)]
        for program in programs:
            self.wait_for_lease(program)
        return programs

    @unittest.skipIf(usable_cpus() < 2, "one core: there is nothing to divide")
    def test_confines_programs_of_all_users(self):
        self.start_system_daemon("--group", USERS, wrap=self.as_account("sys_nice"))
        one, other = self.start_two()
        def held(program):
            lease = self.lease_of(program)  # none until it is seen to wait
            return lease and all(mask <= set(lease["units"])
                                 for mask in masks(program.pid).values())

        wait_until(lambda: held(one) and held(other), "both to be held to their leases")
        self.assertFalse(set(self.lease_of(one)["units"]) & set(self.lease_of(other)["units"]))
        one.kill()
        wait_until(lambda: self.lease_of(one) is None, "the killed one to be gone")

    @unittest.skipIf(usable_cpus() < 2, "one core: there is nothing to divide")
    def test_reports_missing_capability(self):
        self.start_system_daemon("--group", USERS, wrap=self.as_account())
        for program in self.start_two():
            self.assertEqual(0, finish(program).code)
        self.assertIn("cannot be held to its cores", self.log())


@needs_root
class Namespaces(SystemTest):
    def inner_rank(self, words):
        """A program in namespaces of its own: the pid that counts is that of the rank itself."""
        process = self.start_rank(0, groups=(), env={"OPTILE_SOCKET": str(self.socket)},
                                  wrap=lambda command: [*words, *command])
        return process, descendants(process.pid)[-1]

    def test_confine_program_in_container(self):
        self.start_system_daemon("--group", USERS)
        other = self.start_rank(ANNA)
        _, pid = self.inner_rank(unshare("-Urpmf", "--mount-proc"))
        lease = wait_until(lambda: next((one for one in self.leases()["clients"]
                                         if one["pid"] == pid), None), "a lease")
        self.assertEqual([], self.leases()["unleased"])
        if usable_cpus() > 1:
            wait_until(lambda: all(mask <= set(self.wait_for_lease(other)["units"])
                                   for mask in masks(other.pid).values()), "the other to be held")
            self.assertFalse(set(lease["units"]) & set(self.lease_of(other)["units"]))

    def test_report_programs_outside_container_of_daemon(self):  # fault: F37
        words = unshare("-Urpmf", "--mount-proc")
        self.start_system_daemon(wrap=lambda command: [*words, *command])
        before = os.sched_getaffinity(0)
        programs = [self.start_rank(0, groups=(), env={"OPTILE_SOCKET": str(self.socket)})
                    for _ in range(2)]
        wait_until(lambda: len(self.leases()["unleased"]) == 2, "both to attach")
        leases = self.leases()
        self.assertEqual([], leases["clients"])
        for one in leases["unleased"]:
            self.assertIn("another pid namespace", one["reason"])
        self.assertIn("counts as load of others", self.log())
        for program in programs:
            self.assertTrue(all(mask == before for mask in masks(program.pid).values()))
            self.assertEqual(0, finish(program, "x\n").code)
        wait_until(lambda: not self.leases()["unleased"], "both to be gone")

    def test_report_foreign_proc_of_daemon(self):  # fault: F37
        words = unshare("-pf")
        self.start_system_daemon(wrap=lambda command: [*words, *command])
        program = self.start_rank(0, groups=(), env={"OPTILE_SOCKET": str(self.socket)})
        wait_until(lambda: self.leases()["unleased"], "it to attach")
        self.assertEqual(0, finish(program).code)

    def test_give_unmapped_user_no_rights(self):
        words = unshare("-Urf")
        self.start_system_daemon("--group", "0", wrap=lambda command: [*words, *command])
        os.chmod(self.socket, 0o666)
        os.chmod(f"{self.socket}{harness.ATTACH_SUFFIX}", 0o666)
        program = self.start_rank(ANNA, env={"OPTILE_SOCKET": str(self.socket)})
        lease = self.wait_for_lease(program)
        refused = self.run_as(ANNA, self.optile, "share", lease["id"], "2", "--socket",
                              self.socket)
        self.assertEqual(1, refused.code, refused)
        self.assertIn("another user's", refused.stderr)
        self.assertEqual(0, finish(program).code)


@needs_root
class Jobs(SystemTest):
    def setUp(self):
        super().setUp()
        self.start_system_daemon("--group", USERS)

    def start_job(self, ranks, env=None, wrap=lambda rank, command: command, options=()):
        started = []
        for rank in range(ranks):
            words = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(ranks),
                     "PMIX_NAMESPACE": "17.1"} if env is None else env
            started.append(self.start_rank(ANNA, *options, env=words,
                                           wrap=lambda command, rank=rank: wrap(rank, command)))
        return started

    def test_count_ranks_as_one(self):
        """As under `mpirun -n 4 optile run -- PROGRAM`."""
        ranks = self.start_job(4)
        alone = self.start_rank(ANNA)
        weights = [self.wait_for_lease(one)["weight"] for one in ranks]
        self.assertEqual(4 * [weights[0]], weights)
        self.assertAlmostEqual(self.wait_for_lease(alone)["weight"], sum(weights))

    def test_group_programs_by_name(self):
        ranks = self.start_job(2, env={}, options=("--job", "mine"))
        alone = self.start_rank(ANNA)
        weights = [self.wait_for_lease(one)["weight"] for one in (*ranks, alone)]
        self.assertAlmostEqual(weights[2], weights[0] + weights[1])
        self.assertEqual(weights[0], weights[1])

    def test_group_programs_of_one_launcher(self):
        """As under `optile run -- mpirun -n 2 PROGRAM`."""
        script = self.space.dir / "fake_mpirun"
        script.write_text("#!/bin/sh\n"
                          "exec 3<&0\n"  # in the background 0 would be /dev/null
                          "export OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=18.1\n"
                          f"OMPI_COMM_WORLD_RANK=0 {self.rank} <&3 &\n"
                          f"OMPI_COMM_WORLD_RANK=1 {self.rank} <&3 &\n"
                          "wait\n")
        script.chmod(0o755)
        process = self.start_as(ANNA, [self.optile, "run", "--", script],
                                env={"OMP_NUM_THREADS": "2"})
        wait_until(lambda: len(self.leases()["clients"]) == 2, "both ranks to have leases")
        self.assertEqual([0.5, 0.5], [one["weight"] for one in self.leases()["clients"]])
        self.assertEqual(0, finish(process).code)

    @unittest.skipIf(usable_cpus() < 2, "one core: nothing can be bound to a part")
    def test_keep_ranks_bound_by_launcher(self):
        units = sorted(os.sched_getaffinity(0))
        ranks = self.start_job(2, wrap=lambda rank, command: ["taskset", "-c", str(units[rank]),
                                                              *command])
        other = self.start_rank(BERT)
        for rank, process in enumerate(ranks):
            lease = self.wait_for_lease(process)
            self.assertTrue(lease["bound"])
            self.assertLessEqual(set(lease["units"]), {units[rank]}, lease)
            self.assertTrue(all(mask == {units[rank]} for mask in masks(process.pid).values()))
        if len(units) > 2:
            self.assertFalse(set(self.lease_of(other)["units"]) & set(units[:2]))


@needs_root
class ConnectionStorms(SystemTest):
    """Many programs that come at once."""

    def start_storm(self, count, users=(ANNA,)):
        """All at once; returns them when each has run its first regions."""
        started = [self.start_as(users[number % len(users)],
                                 [self.optile, "run", "--", self.rank],
                                 env={"OMP_NUM_THREADS": "1"}) for number in range(count)]
        for process in started:
            harness.read_until(process, "ran")
        return started

    def poke(self, processes):
        """Another op boundary for each, where a shim that was not answered tries again."""
        for process in processes:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write("x\n")
                process.stdin.flush()

    def check_storm(self, count, users=(ANNA,)):
        self.start_system_daemon("--group", USERS)
        started = self.start_storm(count, users)

        def all_attached():
            self.poke(started)
            return len(harness.get(self.socket, "/v1/clients")[1]["clients"]) == count

        wait_until(all_attached, f"{count} programs to be attached")
        self.assertNotIn("refused", self.log())
        for process in started:
            self.assertEqual(0, finish(process).code)

    def test_serve_64_programs(self):
        self.check_storm(64)

    @unittest.skipIf(usable_cpus() < 4, "256 processes at once on so few processors")
    def test_serve_256_programs(self):
        self.check_storm(256, (ANNA, BERT))

    def test_leave_places_for_other_users(self):  # fault: F40
        self.start_system_daemon("--group", USERS, "--max-clients", 240)
        started = self.start_storm(200)
        wait_until(lambda: (self.poke(started), "of this user" in self.log())[1],
                   "the limit of one user to be reached")
        other = self.start_rank(BERT)
        self.wait_for_lease(other)
        for process in started:
            self.assertEqual(0, finish(process).code)

    def test_leave_connections_for_root(self):
        """Three users ask and never read; root's question is answered, not the next user's."""
        self.start_system_daemon("--group", USERS)
        for uid in (ANNA, BERT, STRANGER):
            harness.read_until(self.start_as(uid, [harness.PYTHON, "-c", KEEPS_ASKING,
                                                   self.socket, 24]), "asked")
        answer = self.ask_as(DAEMON, "status")
        self.assertEqual(1, answer.code, answer)
        answer = self.ask_as(0, "status", groups=())
        self.assertEqual(0, answer.code, answer)


@needs_root
class ServiceManager(SystemTest):
    def test_is_notified(self):
        told = self.space.dir / "notify.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(told))
            env = self.space.environment({"NOTIFY_SOCKET": str(told)})
            daemon = subprocess.Popen([str(self.bin / "optiled"), "--system", "--socket",
                                       str(self.socket), "--store", ":memory:"], env=env)
            manager.settimeout(harness.DEADLINE)
            self.assertEqual(b"READY=1", manager.recv(64))
            daemon.terminate()
            self.assertEqual(b"STOPPING=1", manager.recv(64))
            self.assertEqual(0, daemon.wait(harness.DEADLINE))
