"""Programs on the nodes of a Slurm job, whose first node starts an etcd for it: tasks have the
environment that srun would give them.
"""
import os
import pathlib
import signal
import socket
import unittest

from support.etcd import INSTALLED, MISSING, EtcdMember
from support.harness import OPTILE, EndToEndTest, finish, read_until, wait_until
from support.network import Network, needs_network

SHOW = ["/bin/sh", "-c", "echo $RANK of $WORLD_SIZE; exit 3"]
STAY = ["/bin/sh", "-c", "echo begun; cat"]


def task(step, node, nodes="localhost", count=2):
    """Of a job that no other test has."""
    return {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": str(step),
            "SLURM_NODEID": str(node), "SLURM_LOCALID": "0", "SLURM_NNODES": str(count),
            "SLURM_JOB_NODELIST": nodes}


def processes_with(variable):
    """Pids of those that have it in their environment, but for zombies, which have none."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and variable.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def command_of(pid):
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")


def launch_command(space, program, *options):
    return [OPTILE, "launch", "--socket", space.socket, "--etcd", "auto", *options, "--", *program]


class SlurmLaunch(EndToEndTest):
    def setUp(self):
        super().setUp()
        if not INSTALLED:
            self.skipTest(MISSING)
        self.folder = self.space.dir / "temporary"
        self.folder.mkdir()
        self.space.start_daemon()

    def launch(self, task_environment, *options, program=None, **extra):
        return self.space.popen(launch_command(self.space, program or SHOW, *options),
                                {"TMPDIR": str(self.folder), **task_environment, **extra})

    def left(self):
        return processes_with(f"TMPDIR={self.folder}")

    def etcd(self):
        """The one that the first task has started."""
        options, = [command_of(pid) for pid in self.left()
                    if command_of(pid)[0].endswith("/etcd")]
        url, = [one.partition("=")[2] for one in options
                if one.startswith("--listen-client-urls=")]
        return EtcdMember(self.folder, "optile", url, {})

    def assert_nothing_left(self):
        wait_until(lambda: not self.left(), "its processes to be gone")
        self.assertEqual([], list(self.folder.iterdir()))

    def test_first_node_starts_etcd_that_ends_with_the_job(self):
        tasks = [self.launch(task(0, node), program=STAY) for node in range(2)]
        for one in tasks:
            read_until(one, "begun")
        data, = self.folder.iterdir()
        self.assertEqual(0o700, data.stat().st_mode & 0o777)
        # Whose program ends first waits for the other's where it has the etcd.
        first = finish(tasks[1])
        self.assertEqual(0, first.code, first)
        self.assertNotIn("etcd was not reached", first.stderr)
        last = finish(tasks[0])
        self.assertEqual(0, last.code, last)
        self.assertIn(f"-{os.getpid()}.0 begins", last.stderr)
        self.assert_nothing_left()

    def test_etcd_stays_for_ranks_that_end_later(self):
        tasks = [self.launch(task(1, 0)), self.launch(task(1, 1), program=STAY)]
        read_until(tasks[1], "begun")
        etcd = self.etcd()

        def ranks():
            return [key for key in etcd.keys() if "/ranks/" in key]

        wait_until(lambda: len(ranks()) == 1, "the first rank's claim to be gone")
        for _ in range(100):  # behind the end of the rank that has it, it goes on answering
            self.assertEqual(1, len(ranks()))
        self.assertIsNone(tasks[0].poll())
        later = finish(tasks[1])
        self.assertEqual(0, later.code, later)
        self.assertNotIn("etcd was not reached", later.stderr)
        self.assertEqual(3, finish(tasks[0]).code)
        self.assert_nothing_left()

    # fault: F64
    def test_killed_launch_leaves_nothing(self):
        tasks = [self.launch(task(2, node), program=STAY) for node in range(2)]
        for one in tasks:
            read_until(one, "begun")
        for one in tasks:
            one.kill()
            finish(one)
        self.assert_nothing_left()

    # fault: F64
    def test_data_of_launch_and_keeper_killed_at_once_goes_with_the_next(self):
        tasks = [self.launch(task(3, node), program=STAY) for node in range(2)]
        for one in tasks:
            read_until(one, "begun")
        keeper, = [pid for pid in self.left() if os.getsid(pid) == pid]
        os.kill(tasks[0].pid, signal.SIGSTOP)
        os.kill(keeper, signal.SIGKILL)
        for one in tasks:
            one.kill()
            finish(one)
        wait_until(lambda: not self.left(), "etcd to be gone with its keeper")
        leftover, = self.folder.iterdir()
        ended = [finish(one) for one in [self.launch(task(4, node)) for node in range(2)]]
        self.assertEqual([3, 3], [one.code for one in ended], ended)
        self.assertFalse(leftover.exists())
        self.assert_nothing_left()

    def test_hosts_are_those_of_scontrol_where_there_is_one(self):
        tools = self.space.dir / "tools"
        tools.mkdir()
        scontrol = tools / "scontrol"
        scontrol.write_text('#!/bin/sh\ntest "$1 $2 $3" = "show hostnames far[1-2]" '
                            '&& echo localhost && echo far2\n')
        scontrol.chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        ended = [finish(one) for one in [self.launch(task(5, node, "far[1-2]"), PATH=path)
                                         for node in range(2)]]
        self.assertEqual([3, 3], [one.code for one in ended], ended)
        self.assertEqual(["0 of 2", "1 of 2"], sorted(one.stdout.strip() for one in ended))
        self.assert_nothing_left()

    def test_what_is_missing_is_told(self):
        def refused(environment, *options, **extra):
            ended = finish(self.launch(environment, *options, **extra))
            self.assertEqual(125, ended.code, ended)
            return ended.stderr

        none = {name: "" for name in task(6, 0)}
        self.assertIn("this is none: SLURM_JOB_ID is not set", refused(none))
        self.assertIn("none in PATH", refused(task(6, 0), PATH=str(self.folder)))
        self.assertIn("etcd that runs", refused(task(6, 0), "--cacert", "/x"))
        said = refused(task(6, 1), "--wait", 1)
        self.assertIn("etcd does not answer at http://localhost:", said)
        port = int(said.split("http://localhost:")[1].split(":")[0].split(" ")[0])
        with socket.create_server(("127.0.0.1", port)):
            self.assertIn("in use", refused(task(6, 0)))
        self.assert_nothing_left()

    def test_job_of_one_node_needs_no_etcd(self):
        ended = finish(self.launch(task(7, 0, count=1), PATH=str(self.folder)))
        self.assertEqual(3, ended.code, ended)
        self.assertEqual("0 of 1", ended.stdout.strip())


@needs_network
class SlurmLaunchOverNetwork(unittest.TestCase):
    def test_ranks_on_two_hosts_find_the_first_hosts_etcd(self):
        if not INSTALLED:
            self.skipTest(MISSING)
        network = Network(2)
        self.addCleanup(network.close)
        tasks = []
        for number, host in enumerate(network.hosts):
            host.start_daemon()
            tasks.append(host.popen(launch_command(host.space, ["/bin/sh", "-c",
                                                                "echo $RANK at $MASTER_ADDR"]),
                                    {"TMPDIR": str(host.space.dir),
                                     **task(0, number, "node[0-1]")}))
        ended = [finish(one) for one in tasks]
        self.assertEqual([0, 0], [one.code for one in ended], ended)
        self.assertEqual(["0", "1"], sorted(one.stdout.split()[0] for one in ended))
        for one in ended:
            self.assertIn(one.stdout.split()[-1], [host.address for host in network.hosts])


if __name__ == "__main__":
    unittest.main()
