"""A machine is lost, or comes back, while a job of `optile launch --nodes MIN:MAX` runs."""
import json
import os
import pathlib
import pwd
import re
import unittest

from daemon.test_cluster import ClusterTest
from daemon.test_cluster_network import NetworkTest
from support.harness import (DEADLINE, OPTILE, SCRIPTS, finish, processes_mentioning, read_until,
                             wait_until)
from support.network import needs_network

WHEEL_PYTHON = os.environ.get("OPTILE_WHEEL_PYTHON", "")
USER = pwd.getpwuid(os.geteuid()).pw_name
KEEPING = ["--lost-rank", "99"]  # which there is none of
# Starts something that has a session of its own, says its rank, and ends when it is told to.
PROGRAM = """
setsid sleep 4242{mark} >/dev/null 2>&1 </dev/null &
echo $RANK of $WORLD_SIZE
read line
exit 0
"""


def processes_of(command):
    """How many run whose command line this is."""
    return len([pid for pid in processes_mentioning(command) if pathlib.Path(
        f"/proc/{pid}/cmdline").read_bytes() == command.encode().replace(b" ", b"\0") + b"\0"])


def kept_by(launch):
    return list(pathlib.Path("/dev/shm").glob(f"optile-state-{os.getuid()}/{launch.pid}-*"))


class LossTest(NetworkTest):
    """etcd is on the last host, which stays; the first one has rank 0."""

    def setUp(self):
        super().setUp()
        self.lost, *self.left = self.hosts
        self.start_etcd(self.left[1])
        self.etcd = self.members[self.left[1].name]
        for host in self.hosts:
            host.start_daemon()

    def members_of(self, job):
        return {json.loads(value)["node"]: json.loads(value) for value in
                self.etcd.keys(f"optile/{USER}/jobs/{job}/members/").values()}

    def launch_all(self, job, *options, command, env=None):
        """Each host's launch, in their order."""
        launches = []
        for host in self.hosts:
            launches.append(self.launch(host, "--name", job, *options, command=command,
                                        nodes="2:3", env=env))
            wait_until(lambda host=host: host.name in self.members_of(job), "its claim")
        return launches


@needs_network
class LostMachine(LossTest):
    def go_on(self, launches, meanwhile=lambda: None):
        """Their programs wait for it."""
        for one in launches:
            read_until(one, "waits")
        meanwhile()
        for one in launches:
            one.stdin.write("\n")
            one.stdin.flush()

    def train(self, script, *options, launch=()):
        """The losses of the two that are left, of the steps behind the loss of the first."""
        program = [WHEEL_PYTHON, SCRIPTS / script, "--steps", "20", *options]
        path = {"PATH": f"{OPTILE.parent}:{os.environ['PATH']}", "OPTILE_TORCH_BRIDGE": "off"}
        alone = finish(self.space.popen(program, path))
        self.assertEqual(0, alone.code, alone)
        program += [*KEEPING, "--wait-step", "10"]
        _, *others = self.launch_all("train", *launch, command=program, env=path)
        self.go_on(others, self.lost.kill)
        self.assertEqual([1, 1], [len(kept_by(one)) for one in others])
        self.go_on(others)
        ended = [finish(one) for one in others]
        self.assertEqual([0, 0], [one.code for one in ended], ended)
        expected = json.loads(alone.stdout)["losses"]
        for one in ended:
            self.assertIn("node0 is gone: generation 1 ends here", one.stderr)
            self.assertIn("begins generation 2", one.stderr)
            said = json.loads(one.stdout.splitlines()[-1])
            begin = said["resumed_from"]
            self.assertIn(begin, (9, 10), said)  # kept when the next step begins
            self.assertEqual(20 - begin, len(said["losses"]))
            for loss, other in zip(expected[begin:], said["losses"]):
                self.assertAlmostEqual(loss, other, delta=1e-5 * max(1, abs(loss)))
        self.assertEqual(["0", "1"], sorted(re.search(r"rank (\d) of 2", one.stderr)[1]
                                            for one in ended))
        self.assertEqual([[], []], [host.running(script) for host in self.left])
        self.assertEqual([[], []], [kept_by(one) for one in others])
        self.assertEqual({}, self.members_of("train"))

    @unittest.skipUnless(WHEEL_PYTHON, "no PyTorch with a launcher: OPTILE_WHEEL_PYTHON is not set")
    def test_training_goes_on_without_the_lost_machine(self):  # fault: F60
        self.train("distributed_train.py")

    @unittest.skipUnless(WHEEL_PYTHON, "no PyTorch with a pipeline: OPTILE_WHEEL_PYTHON is not set")
    def test_pipeline_goes_on_with_copies_of_the_lost_layers(self):  # fault: F60
        self.train("pipeline_train.py", "--micro-batches", "4", "--layers", "9", "--optimizer",
                   "adam", launch=["--no-torchrun"])


@needs_network
class ReturnedMachine(LossTest):
    def test_machine_that_comes_back_starts_no_rank_of_former_generation(self):  # fault: F62
        mark = os.getpid()
        command = ["/bin/sh", "-c", PROGRAM.format(mark=mark)]
        first, *others = self.launch_all("job", "--no-torchrun", command=command)
        for rank, one in enumerate([first, *others]):
            read_until(one, f"{rank} of 3")
        self.lost.cut()
        for rank, one in enumerate(others):
            read_until(one, f"{rank} of 2")
        wait_until(lambda: processes_of(f"sleep 4242{mark}") == 3, "two of the next generation")
        self.lost.restore()
        wait_until(lambda: self.members_of("job").get("node0", {}).get("state") == "ready", "it")
        # Its program of the former generation has ended, with all that this had started.
        self.assertEqual(2, processes_of(f"sleep 4242{mark}"))
        ended = [finish(one, "\n") for one in [*others, first]]
        self.assertEqual([0, 0, 0], [one.code for one in ended], ended)
        self.assertEqual("", ended[2].stdout)
        self.assertIn("waits for the next one", ended[2].stderr)
        self.assertIn("has ended on its other nodes", ended[2].stderr)
        self.assertEqual({}, self.members_of("job"))


class JobTest(ClusterTest):
    """All launches are on this machine."""

    def setUp(self):
        super().setUp()
        self.space.start_daemon()

    def launch(self, job, *options, command):
        path = {"PATH": f"{OPTILE.parent}:{os.environ['PATH']}", "OPTILE_TORCH_BRIDGE": "off"}
        return self.space.popen([OPTILE, "launch", "--socket", self.space.socket, "--name", job,
                                 "--no-torchrun", *options, "--", *command],
                                {"OPTILE_ETCD": self.etcd.url, **path})


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set")
class LeavingNodes(JobTest):
    """Of three nodes the first ones leave at step 10, all at once."""

    def train(self, script, *options, leave):
        """How the others end, and what the first of them shows before it goes on."""
        command = [WHEEL_PYTHON, SCRIPTS / script, "--steps", "12", *KEEPING, "--wait-step", "10",
                   *options]
        launches = []
        for number in range(3):
            launches.append(self.launch("train", "--nodes", "1:3", command=command))
            claimed = f"optile/{USER}/jobs/train/members/"
            wait_until(lambda n=number: len(self.etcd.keys(claimed)) == n + 1, "its claim")
        for one in launches:
            read_until(one, "waits")
        for one in launches[:leave]:
            one.terminate()
        for one in launches[leave:]:
            read_until(one, "waits")
        shown = self.space.ask("cluster", "plan", "--job", "train").stdout
        for one in launches[leave:]:
            one.stdin.write("\n")
            one.stdin.flush()
        ended = [finish(one) for one in launches]
        self.assertEqual([0] * (3 - leave), [one.code for one in ended[leave:]], ended)
        return ended[leave:], shown

    def test_placement_goes_on_with_copies_of_what_the_lost_node_had(self):  # fault: F60
        ended, shown = self.train("placement_train.py", leave=1)
        for one in ended:
            said = json.loads(one.stdout.splitlines()[-1])
            self.assertIn(said["resumed_from"], (9, 10), ended)
            self.assertEqual(12 - said["resumed_from"], len(said["losses"]))
            self.assertIn("begins generation 2", one.stderr)
        self.assertIn("placement of operators; generation 2, without", shown)

    def test_training_says_that_both_nodes_with_a_layer_are_lost(self):  # fault: F60
        (left,), _ = self.train("pipeline_train.py", "--micro-batches", "4", "--layers", "9",
                                leave=2)
        said = json.loads(left.stdout.splitlines()[-1])
        self.assertIsNone(said["resumed_from"])
        self.assertEqual(12, len(said["losses"]))
        self.assertIn("of no step is every layer kept by a rank that is left", left.stderr)
        self.assertIn("begins with what the program has loaded", left.stderr)


class EndedJobs(JobTest):
    def test_too_few_nodes_and_failing_programs_end_the_job(self):  # fault: F61, F63
        failing = [self.launch("failing", "--nodes", "1:2", command=["/bin/sh", "-c", "exit 3"])
                   for _ in range(2)]
        alone = finish(self.launch("job", "--nodes", "2:3", "--wait", 1, command=["true"]))
        self.assertEqual(125, alone.code, alone)
        self.assertIn("waits for 1 more of at least 2 nodes", alone.stderr)
        self.assertIn("was not begun within 1 seconds", alone.stderr)
        command = ["/bin/sh", "-c", PROGRAM.format(mark=os.getpid())]
        launches = [self.launch("job", "--nodes", "2:2", "--wait", 3, command=command)
                    for _ in range(2)]
        for one in launches:
            one.stdout.readline()
        launches[0].kill()
        launches[1].wait(DEADLINE)
        ended = finish(launches[1])
        self.assertEqual(125, ended.code, ended)
        self.assertIn("is gone: generation 1 ends here", ended.stderr)
        self.assertIn("was not begun within 3 seconds: waits for 1 more of at least 2 nodes",
                      ended.stderr)
        ended = [finish(one) for one in failing]
        self.assertEqual([3, 3], [one.code for one in ended], ended)
        self.assertEqual({}, self.etcd.keys(f"optile/{USER}/jobs/"))


if __name__ == "__main__":
    unittest.main()
