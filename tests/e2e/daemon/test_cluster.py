"""Several machines, as several daemons of this one with an etcd between them: who is there, who
leads, programs that are launched on every node, and by which plan they divide their work.
"""
import json
import os
import pwd
import signal
import unittest

from support.etcd import INSTALLED, MISSING, Etcd, free_port
from support.harness import (OPTILE, PYTHON, SCRIPTS, EndToEndTest, Workspace, finish,
                             wait_until)

WHEEL_PYTHON = os.environ.get("OPTILE_WHEEL_PYTHON", "")
USER = pwd.getpwuid(os.geteuid()).pw_name


class ClusterTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        if not INSTALLED:
            self.skipTest(MISSING)
        self.etcd = Etcd(self.space.dir)
        self.addCleanup(self.etcd.kill)

    def another_space(self):
        space = Workspace()
        self.addCleanup(space.close)
        return space

    def cluster(self, space):
        return space.get("/v1/cluster")

    def names(self, space):
        return [node["name"] for node in self.cluster(space).get("nodes", [])]

    def join(self, space, name, *options):
        return space.ask("cluster", "join", "--etcd", self.etcd.url, "--name", name, *options)


class ClusterMembership(ClusterTest):
    # fault: F53
    def test_nodes_see_each_other_and_leader_that_dies_is_replaced(self):
        other = self.another_space()
        daemons = {"node0": self.space.start_daemon(),
                   "node1": other.start_daemon(options=["--cluster-etcd", self.etcd.url,
                                                        "--cluster-name", "node1"])}
        spaces = {"node0": self.space, "node1": other}
        joined = self.join(self.space, "node0", "--address", "10.1.2.3")
        self.assertEqual(0, joined.code, joined)
        self.assertIn("node0 (10.1.2.3) is a member", joined.stdout)
        for space in spaces.values():
            wait_until(lambda space=space: self.names(space) == ["node0", "node1"], "both nodes")
        leader = wait_until(lambda: self.cluster(self.space)["leader"], "a leader")
        wait_until(lambda: self.cluster(other)["leader"] == leader, "the same leader")
        self.assertEqual(1, self.cluster(self.space)["epoch"])
        self.assertTrue(self.cluster(spaces[leader])["leads"])

        daemons[leader].kill()
        left, = [name for name in spaces if name != leader]
        wait_until(lambda: self.names(spaces[left]) == [left], "the dead node to be gone")
        wait_until(lambda: self.cluster(spaces[left])["leads"], "the other to lead")
        self.assertEqual(2, self.cluster(spaces[left])["epoch"])
        table = spaces[left].ask("cluster", "status")
        self.assertEqual(0, table.code, table)
        self.assertIn(left, table.stdout)
        self.assertNotIn(leader, table.stdout)
        self.assertEqual("member", spaces[left].ask_json("cluster", "status")["state"])

    def test_node_that_leaves_is_gone_at_once(self):
        self.space.start_daemon()
        self.assertEqual(0, self.join(self.space, "node0").code)
        self.assertIn(f"optile/{USER}/nodes/node0", self.etcd.keys())
        left = self.space.ask("cluster", "leave")
        self.assertEqual(0, left.code, left)
        self.assertEqual({"state": "none"}, self.cluster(self.space))
        # Its epoch stays, so that the next leader's is higher.
        wait_until(lambda: list(self.etcd.keys()) == [f"optile/{USER}/leader-epoch"],
                   "its keys to be gone")
        again = self.space.ask("cluster", "leave")
        self.assertEqual(1, again.code, again)
        self.assertIn("in no cluster", again.stderr)
        self.assertEqual(0, self.join(self.space, "node0").code)

    def test_daemon_that_is_told_to_end_is_gone_at_once_where_etcd_answers(self):
        keys = [f"optile/{USER}/leader-epoch"]
        for answers in (True, False):
            daemon = self.space.start_daemon()
            self.assertEqual(0, self.join(self.space, "node0").code)
            self.assertIn(f"optile/{USER}/nodes/node0", self.etcd.keys())
            if not answers:
                self.etcd.signal(signal.SIGSTOP)
            self.assertEqual(0, daemon.stop())
            if answers:
                self.assertEqual(keys, list(self.etcd.keys()))
        log = (self.space.dir / "optiled.log").read_text()
        self.assertIn("etcd does not answer: the others see it go", log)
        self.etcd.signal(signal.SIGCONT)

    def test_nodes_show_their_speed_and_links_but_for_one_without_probes(self):
        spaces = [self.space, self.another_space(), self.another_space()]
        for space in spaces[:2]:
            space.start_daemon()
            self.assertEqual(0, self.join(space, f"node{spaces.index(space)}").code)
        spaces[2].start_daemon(options=["--cluster-etcd", self.etcd.url, "--cluster-name", "node2",
                                        "--cluster-address", "127.0.0.1", "--cluster-no-probes"])

        def measured():
            nodes = {node["name"]: node for node in self.cluster(self.space)["nodes"]}
            links = [(name, link["node"]) for name, node in nodes.items() for link in node["links"]]
            known = [node for node in nodes.values() if node["gflop_per_second"]]
            return nodes if len(known) == 3 and len(links) >= 2 else None

        nodes = wait_until(measured, "what all nodes measure")
        self.assertEqual([["node1"], ["node0"], []], [
            [link["node"] for link in nodes[name]["links"]] for name in sorted(nodes)])
        for name in ("node0", "node1"):
            link, = nodes[name]["links"]
            self.assertGreater(link["latency_seconds"], 0)
            self.assertGreater(link["bytes_per_second"], 0)
        shown = self.space.ask("cluster", "status").stdout
        self.assertRegex(shown, r"node2 .* GFLOP/s")
        self.assertRegex(shown, r"node0 +node1 +- .* MB/s")
        self.assertNotRegex(shown, r"node\d +node2")

    # fault: F52
    def test_node_comes_back_when_etcd_does(self):
        self.space.start_daemon()
        self.assertEqual(0, self.join(self.space, "node0").code)
        wait_until(lambda: self.cluster(self.space)["leads"], "it to lead")
        self.etcd.kill()
        wait_until(lambda: self.cluster(self.space)["state"] == "unreachable", "its lease to end")
        cut_off = self.cluster(self.space)
        self.assertFalse(cut_off["leads"])
        self.assertIn("etcd does not answer at", cut_off["messages"][0])
        self.etcd.start()
        wait_until(lambda: self.cluster(self.space)["leads"], "it to lead again")

    def test_what_cannot_be_joined_is_told(self):
        def refused(*options, code=1):
            said = self.space.ask("cluster", "join", *options)
            self.assertEqual(code, said.code, said)
            return said.stderr

        self.assertIn("no daemon answers", refused("--etcd", self.etcd.url))
        self.space.start_daemon()
        self.assertIn("OPTILE_ETCD", refused())
        self.assertIn("at most 63", refused("--etcd", self.etcd.url, "--name", "a/b", code=125))
        secret = self.space.dir / "secret"
        secret.write_text("optile:password\n")
        secret.chmod(0o644)
        self.assertIn("chmod 600", refused("--etcd", self.etcd.url, "--user-file", secret))
        self.etcd.kill()
        self.assertIn("not yet a member", refused("--etcd", self.etcd.url))
        self.assertIn("in a cluster already", refused("--etcd", "http://127.0.0.1:1"))
        self.assertEqual(0, self.space.ask("cluster", "leave").code)


class NodeLaunch(ClusterTest):
    SHOW = ["/bin/sh", "-c", "echo $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT; exit 3"]

    def launch(self, *options, command, nodes=2, env=None):
        line = [OPTILE, "launch", "--socket", self.space.socket, "--nodes", nodes, *options, "--",
                *command]
        return self.space.popen(line, {"OPTILE_ETCD": self.etcd.url, **(env or {})})

    def jobs(self):
        return self.etcd.keys(f"optile/{USER}/jobs/")

    def test_every_node_has_a_rank_and_name_serves_again(self):
        self.space.start_daemon()
        for _ in range(2):
            ended = [finish(one) for one in [self.launch("--name", "job", command=self.SHOW)
                                             for _ in range(2)]]
            self.assertEqual([3, 3], [one.code for one in ended], ended)
            ranks = sorted(one.stdout.strip() for one in ended)
            self.assertTrue(ranks[0].startswith("0 of 2 at 127.0.0.1:"), ended)
            self.assertEqual(ranks[0].replace("0 of", "1 of", 1), ranks[1])
            self.assertEqual({}, self.jobs())

    def test_ranks_of_pytorch_find_each_other(self):
        self.space.start_daemon()
        program = [PYTHON, SCRIPTS / "rank_sum.py"]
        ended = [finish(one) for one in [self.launch("--no-torchrun", command=program)
                                         for _ in range(2)]]
        self.assertEqual([0, 0], [one.code for one in ended], ended)
        self.assertEqual(["rank 0: 3", "rank 1: 3"], sorted(one.stdout.strip() for one in ended))

    @unittest.skipUnless(WHEEL_PYTHON, "no PyTorch with a launcher: OPTILE_WHEEL_PYTHON is not set")
    def test_python_program_is_started_by_torch_distributed_run(self):
        self.space.start_daemon()
        program = [WHEEL_PYTHON, SCRIPTS / "rank_sum.py"]
        unseen = {"OPTILE_TORCH_BRIDGE": "off"}  # no bridge is built for so short a program
        ended = [finish(one) for one in [self.launch(command=program, env=unseen)
                                         for _ in range(2)]]
        self.assertEqual([0, 0], [one.code for one in ended], ended)
        self.assertEqual(["rank 0: 3", "rank 1: 3"], sorted(one.stdout.strip() for one in ended))

    def assert_goes_on_behind_a_lost_rank(self, script, *options):
        """What is trained is what a training without a loss trains."""
        self.space.start_daemon()
        program = [WHEEL_PYTHON, SCRIPTS / script, "--steps", 20, "--output",
                   self.space.dir / "rank", *options]
        path = {"PATH": f"{OPTILE.parent}:{os.environ['PATH']}"}
        self.assertEqual(0, finish(self.space.popen(program)).code)
        alone = json.loads((self.space.dir / "rank.0").read_text())
        ended = [finish(one) for one in [
            self.launch("--max-restarts", 1, command=[*program, "--lost-rank", 1], env=path)
            for _ in range(2)]]
        self.assertEqual([0, 0], [one.code for one in ended], ended)
        for rank in range(2):
            after = json.loads((self.space.dir / f"rank.{rank}").read_text())
            # A step's state is kept when the next one begins, which rank 0 may have done.
            begin = after["resumed_from"]
            self.assertIn(begin, (9, 10), after)
            for part, expected in (("losses", alone["losses"][begin:]),
                                   ("weights", alone["weights"])):
                self.assertEqual(len(expected), len(after[part]))
                for one, other in zip(expected, after[part]):
                    self.assertAlmostEqual(one, other, delta=1e-5)

    @unittest.skipUnless(WHEEL_PYTHON, "no PyTorch with a launcher: OPTILE_WHEEL_PYTHON is not set")
    def test_training_goes_on_behind_a_lost_rank(self):
        self.assert_goes_on_behind_a_lost_rank("distributed_train.py")

    @unittest.skipUnless(WHEEL_PYTHON, "no PyTorch with a launcher: OPTILE_WHEEL_PYTHON is not set")
    def test_pipeline_goes_on_behind_a_lost_rank(self):
        self.assert_goes_on_behind_a_lost_rank(
            "pipeline_train.py", "--micro-batches", 4, "--layers", 8, "--optimizer", "adam")

    @unittest.skipUnless(WHEEL_PYTHON, "no PyTorch with a launcher: OPTILE_WHEEL_PYTHON is not set")
    def test_placement_goes_on_behind_a_lost_rank(self):
        self.assert_goes_on_behind_a_lost_rank("placement_train.py", "--optimizer", "adam")

    def test_restarts_are_refused_where_there_is_no_torchrun(self):
        ended = finish(self.launch("--max-restarts", 1, command=self.SHOW))
        self.assertEqual(125, ended.code, ended)
        self.assertIn("--max-restarts is torchrun's", ended.stderr)

    def test_single_node_needs_no_etcd(self):
        self.space.start_daemon()
        self.etcd.kill()
        ended = finish(self.launch(command=self.SHOW, nodes=1, env={"OPTILE_ETCD": ""}))
        self.assertEqual(3, ended.code, ended)
        self.assertTrue(ended.stdout.startswith("0 of 1 at 127.0.0.1:"), ended)

    # fault: F54
    def test_rank_of_launch_that_dies_before_the_start_is_free_again(self):
        self.space.start_daemon()
        first = self.launch("--name", "job", command=self.SHOW)
        wait_until(lambda: any(key.endswith("ranks/0") for key in self.jobs()), "its claim")
        first.kill()
        ended = [finish(one) for one in [self.launch("--name", "job", command=self.SHOW)
                                         for _ in range(2)]]
        self.assertEqual([3, 3], [one.code for one in ended], ended)

    def test_wait_is_bounded_and_says_for_whom(self):
        ended = finish(self.launch("--name", "job", "--wait", 2, command=self.SHOW))
        self.assertEqual(125, ended.code, ended)
        self.assertIn("waits for 1 more of 2 nodes", ended.stderr)
        self.assertIn("was not begun within 2 seconds", ended.stderr)
        self.assertEqual({}, self.jobs())
        nobody = finish(self.launch(command=self.SHOW, env={"OPTILE_ETCD": ""}))
        self.assertEqual(125, nobody.code, nobody)
        self.assertIn("with --nodes 1 none is needed", nobody.stderr)


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set")
class ClusterPlans(ClusterTest):
    def ranks(self, spaces):
        """Started, each beside the daemon of a node of its own; they end when their input does."""
        command = [WHEEL_PYTHON, SCRIPTS / "pipeline_train.py", "--layers", "8", "--micro-batches",
                   "4", "--slow-rank", "1", "--slow-factor", "2", "--stay"]
        where = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        return [space.popen(command, {"RANK": str(rank), "OPTILE_SOCKET": str(space.socket),
                                      **where}) for rank, space in enumerate(spaces)]

    def test_every_node_shows_plan_of_pipeline_and_why(self):
        spaces = [self.space, self.another_space()]
        for number, space in enumerate(spaces):
            space.start_daemon()
            self.assertEqual(0, self.join(space, f"node{number}").code)
        nobody = self.space.ask("cluster", "plan")
        self.assertEqual(1, nobody.code, nobody)
        self.assertIn("no job has told a plan here", nobody.stderr)
        ranks = self.ranks(spaces)

        def plan_at(space, changes):
            for plan in space.get("/v1/cluster/plans")["plans"]:
                if len([one for one in plan["changes"] if one["measured"]]) == changes:
                    return plan
            return None

        plan = wait_until(lambda: plan_at(spaces[1], 2), "both changes, at the other node")
        self.assertEqual([(4, "node0"), (4, "node1")],
                         [(one["part"], one["node"]) for one in plan["ranks"]])
        self.assertEqual([[6, 2], [4, 4]], [one["after"]["parts"] for one in plan["changes"]])
        for space in spaces:
            shown = space.ask("cluster", "plan").stdout
            self.assertIn("job pipeline_train.py: pipeline, 1f1b, 4 micro-batches", shown)
            self.assertIn("told at step", shown)
            why = space.ask("cluster", "explain", "1").stdout
            self.assertEqual(2, len(space.ask_json("cluster", "explain", "1")["plan"]["changes"]))
            self.assertIn("layers 4-7 became layers 6-7", why)
            self.assertIn("moved     layers 4-5 to stage 0", why)
            self.assertIn("node1", space.ask("cluster", "top", "--once").stdout)
        unknown = spaces[1].ask("cluster", "explain", "7")
        self.assertEqual(1, unknown.code, unknown)
        self.assertIn("there is no stage 7; job pipeline_train.py has 0 (node0), 1 (node1)",
                      unknown.stderr)
        self.assertEqual([0, 0], [finish(one).code for one in ranks])
        wait_until(lambda: spaces[1].get("/v1/cluster/plans")["plans"] == [], "it to be gone")


if __name__ == "__main__":
    unittest.main()
