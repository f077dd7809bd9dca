"""Several machines with a network between them, which fails: nodes that die, stop or are cut off,
an etcd that is gone for a while, links that are narrow. Hosts are namespaces of the network.
"""
import json
import os
import pwd
import signal
import socket
import threading
import time
import unittest

from support.etcd import INSTALLED, MISSING, EtcdMember
from support.harness import (OPTILE, PROGRAMS, PYTHON, SCRIPTS, EndToEndTest, finish, get,
                             read_until, wait_until)
from support.network import Network, needs_network

USER = pwd.getpwuid(os.geteuid()).pw_name
RANK_SUM = [PYTHON, SCRIPTS / "rank_sum.py"]
# Fills a link: the socket's buffer is what waits before it, 30 s of a link of 32 kbit/s. TCP would
# hold most of that back, and how much of it depends on what it has measured.
SOURCE = """
import socket, sys
source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    source.sendto(bytes(1400), (sys.argv[1], 9000))
"""
SHOW = ["/bin/sh", "-c", "echo $RANK of $WORLD_SIZE"]


class LeaderSamples:
    """What every node says of its leading, asked again and again until the end."""

    def __init__(self, hosts):
        self._ended = threading.Event()
        self.said = {host.name: [] for host in hosts}  # (asked, answered, epoch or 0: not leading)
        self._threads = [threading.Thread(target=self._follow, args=(host,)) for host in hosts]
        for thread in self._threads:
            thread.start()

    def _follow(self, host):
        while not self._ended.wait(0.05):
            asked = time.monotonic()
            try:
                _, cluster = get(host.space.socket, "/v1/cluster")
            except (OSError, ValueError):
                continue  # its daemon is dead
            self.said[host.name].append((asked, time.monotonic(),
                                         cluster["epoch"] if cluster.get("leads") else 0))

    def end(self):
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def leaders(self):
        """Epoch → who said that it leads in it."""
        found = {}
        for name, samples in self.said.items():
            for _, _, epoch in samples:
                found.setdefault(epoch, set()).add(name)
        found.pop(0, None)
        return found

    def times(self):
        """When somebody certainly counted himself the leader, between two answers alike."""
        found = []
        for name, samples in self.said.items():
            for (_, begin, epoch), (end, _, later) in zip(samples, samples[1:]):
                if epoch and epoch == later:
                    found.append((begin, end, name))
        return sorted(found)


class NetworkTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        if not INSTALLED:
            self.skipTest(MISSING)
        self.network = Network()
        self.addCleanup(self.network.close)
        self.hosts = self.network.hosts
        self.members = {}  # of etcd, by host's name
        self.urls = ""     # theirs

    def start_etcd(self, *hosts):
        peers = {host.name: f"http://{host.address}:2380" for host in hosts}
        for host in hosts:
            self.members[host.name] = EtcdMember(
                host.space.dir, host.name, f"http://{host.address}:2379", peers,
                "http://0.0.0.0:2379", host.enter, host.ask_within)
        for member in self.members.values():
            member.begin()
            self.addCleanup(member.kill)
        for member in self.members.values():
            member.wait()
        self.urls = ",".join(member.url for member in self.members.values())

    def start_nodes(self, *hosts):
        """The first one leads if nobody does yet."""
        for host in hosts:
            host.start_daemon()
        for together in (hosts[:1], hosts[1:]):
            joining = [host.popen([OPTILE, "cluster", "join", "--etcd", self.urls, "--socket",
                                   host.space.socket]) for host in together]
            for host, joined in zip(together, map(finish, joining)):
                self.assertEqual(0, joined.code, joined)
                self.assertIn(f"node {host.name} ({host.address}) is a member", joined.stdout)
            wait_until(lambda: self.status(hosts[0])["leader"], "a leader")
        self.wait_for_members(*self.hosts)

    def sample_leaders(self):
        samples = LeaderSamples(self.hosts)
        self.addCleanup(samples.end)
        return samples

    def status(self, host):
        return host.space.get("/v1/cluster")

    def agree(self, hosts):
        """Each sees these nodes and no other ones, and one of them leads in the eyes of all."""
        seen = [self.status(host) for host in hosts]
        return (all(one["state"] == "member" for one in seen)
                and all([node["name"] for node in one["nodes"]] == [host.name for host in hosts]
                        for one in seen)
                and len({(one["leader"], one["epoch"]) for one in seen}) == 1
                and [one["name"] for one in seen if one["leads"]] == [seen[0]["leader"]])

    def wait_for_members(self, *hosts):
        """Returns the leader's host, and the epoch."""
        wait_until(lambda: self.agree(hosts), f"{[host.name for host in hosts]} to agree")
        status = self.status(hosts[0])
        leader, = [host for host in hosts if host.name == status["leader"]]
        return leader, status["epoch"]

    def others(self, *hosts):
        return [host for host in self.hosts if host not in hosts]

    def assert_never_two_leaders(self, samples):
        samples.end()
        leaders = samples.leaders()
        self.assertTrue(leaders)
        self.assertEqual([], [one for one in leaders.items() if len(one[1]) > 1])
        times = samples.times()
        for (_, end, name), (begin, _, other) in zip(times, times[1:]):
            if name != other:
                self.assertLessEqual(end, begin, f"{name} and {other} lead")

    def assert_runs_on(self, program):
        """One of `start_program()`: it does what it is asked for, now."""
        program.stdin.write("x")
        program.stdin.flush()
        read_until(program, "ran")

    def start_program(self, host):
        program = host.popen(host.space.launcher(command=[PROGRAMS / "rank"]),
                             {"OMP_NUM_THREADS": "2"})
        read_until(program, "ran")
        return program

    def assert_ends_well(self, program):
        ended = finish(program)
        self.assertEqual(0, ended.code, ended)
        self.assertEqual("", ended.stderr)

    def launch(self, host, *options, command, nodes=3, env=None):
        return host.popen([OPTILE, "launch", "--socket", host.space.socket, "--etcd", self.urls,
                           "--nodes", nodes, *options, "--", *command], env)

    def assert_ranks_add_up(self, launches):
        """Of programs that are rank_sum.py."""
        ended = [finish(one) for one in launches]
        self.assertEqual([0, 0, 0], [one.code for one in ended], ended)
        self.assertEqual([f"rank {rank}: 6" for rank in range(3)],
                         sorted(one.stdout.strip() for one in ended))


@needs_network
class OwnNames(NetworkTest):
    """A machine's name means 127.0.1.1 to itself, as Debian's installer leaves it."""

    def test_node_where_etcd_runs_has_an_address_for_the_others(self):  # fault: F57
        self.start_etcd(self.hosts[0])
        self.urls = "http://node0:2379"
        self.start_nodes(*self.hosts)
        first = self.launch(self.hosts[0], "--no-torchrun", command=RANK_SUM)
        job = f"optile/{USER}/jobs/rank_sum.py/ranks/"
        wait_until(lambda: self.members["node0"].keys(job), "its claim of rank 0")
        self.assert_ranks_add_up([first, *(self.launch(host, "--no-torchrun", command=RANK_SUM)
                                           for host in self.hosts[1:])])

    def test_links_are_measured_as_they_are(self):
        self.hosts[2].narrow("8mbit")
        self.start_etcd(self.hosts[0])
        self.start_nodes(*self.hosts)

        def links():
            found = {(node["name"], link["node"]): link
                     for node in self.status(self.hosts[0])["nodes"] for link in node["links"]}
            return found if len(found) == 6 else None

        for ends, link in wait_until(links, "links from both ends").items():
            rate = link["bytes_per_second"]
            if "node2" in ends:
                self.assertTrue(2e5 < rate < 1.5e6, (ends, link))
            else:
                self.assertGreater(rate, 2e6, ends)
        self.assertEqual({"eth0"}, {node["interface"]
                                    for node in self.status(self.hosts[0])["nodes"]})

    def test_interface_that_the_user_names_stays(self):
        self.start_etcd(self.hosts[0])
        hosts = self.hosts[:2]
        for host in hosts:
            host.start_daemon()
        show = ["/bin/sh", "-c", "echo $GLOO_SOCKET_IFNAME"]
        ended = [finish(one) for one in [
            self.launch(host, command=show, nodes=2, env=env)
            for host, env in zip(hosts, ({}, {"GLOO_SOCKET_IFNAME": "mine"}))]]
        self.assertEqual(["eth0\n", "mine\n"], [one.stdout for one in ended], ended)


@needs_network
class LostHosts(NetworkTest):
    """Each host has a member of etcd, which goes with it."""

    def setUp(self):
        super().setUp()
        self.start_etcd(*self.hosts)
        self.start_nodes(*self.hosts)
        self.leader, self.epoch = self.wait_for_members(*self.hosts)

    def test_killed_node_is_gone_and_killed_leader_is_followed(self):  # fault: F53
        samples = self.sample_leaders()
        follower = self.others(self.leader)[0]
        follower.kill()
        self.assertEqual((self.leader, self.epoch),
                         self.wait_for_members(*self.others(follower)))
        self.members[follower.name].start()
        self.start_nodes(follower)

        self.leader.kill()
        leader, epoch = self.wait_for_members(*self.others(self.leader))
        self.assertEqual(self.epoch + 1, epoch)
        self.assert_never_two_leaders(samples)
        self.assertEqual({self.epoch: {self.leader.name}, epoch: {leader.name}},
                         samples.leaders())

    def test_leader_that_was_cut_off_comes_back(self):  # fault: F53
        program = self.start_program(self.leader)
        samples = self.sample_leaders()
        self.leader.cut()
        leader, epoch = self.wait_for_members(*self.others(self.leader))
        self.assertEqual(self.epoch + 1, epoch)
        alone = self.status(self.leader)
        self.assertEqual(("unreachable", False), (alone["state"], alone["leads"]))
        self.assertFalse(alone["etcd"]["reachable"])
        self.assertIn("etcd does not answer at", alone["messages"][0])
        self.assert_runs_on(program)
        self.leader.restore()
        self.assertEqual((leader, epoch), self.wait_for_members(*self.hosts))
        self.assert_runs_on(program)
        self.assert_ends_well(program)
        self.assert_never_two_leaders(samples)


@needs_network
class LostNodes(NetworkTest):
    """etcd is on one host, which stays. A member of etcd that is stopped while it leads may end
    all leases when it goes on (etcd 15247), and so make the next epoch."""

    def setUp(self):
        super().setUp()
        self.stays = self.hosts[2]
        self.start_etcd(self.stays)
        self.start_nodes(*self.hosts)
        self.leader, self.epoch = self.wait_for_members(*self.hosts)

    def test_leader_that_was_stopped_leads_no_more(self):  # fault: F53
        samples = self.sample_leaders()
        self.leader.stop()
        leader, epoch = self.wait_for_members(*self.others(self.leader))
        self.assertEqual(self.epoch + 1, epoch)
        with socket.socket(socket.AF_UNIX) as question:  # lies there until it goes on
            question.connect(str(self.leader.space.socket))
            question.sendall(b"GET /v1/cluster HTTP/1.1\r\nHost: l\r\nConnection: close\r\n\r\n")
            self.leader.resume()
            answer = question.makefile("rb").read().partition(b"\r\n\r\n")[2]
        self.assertFalse(json.loads(answer)["leads"])
        self.assertEqual((leader, epoch), self.wait_for_members(*self.hosts))
        self.assert_never_two_leaders(samples)

    def test_nodes_that_are_cut_off_in_one_direction_come_back(self):  # fault: F53
        deaf, mute = self.others(self.stays)
        programs = [self.start_program(host) for host in (deaf, mute)]
        samples = self.sample_leaders()
        deaf.cut(sending=False)
        mute.cut(receiving=False)
        leader, epoch = self.wait_for_members(self.stays)
        self.assertEqual(self.epoch + 1, epoch)
        for host in (deaf, mute):
            alone = self.status(host)
            self.assertEqual(("unreachable", False), (alone["state"], alone["leads"]), host.name)
        for program in programs:
            self.assert_runs_on(program)
        for host in (deaf, mute):
            host.restore()
        self.assertEqual((leader, epoch), self.wait_for_members(*self.hosts))
        for program in programs:
            self.assert_ends_well(program)
        self.assert_never_two_leaders(samples)

    def rounds_of_membership(self, host, count):
        """So often it reads who is there, and is always a member."""
        last, rounds = None, 0
        while rounds < count:
            status = self.status(host)
            self.assertEqual("member", status["state"], status)
            seen = status["nodes"][0]["seen_seconds"]
            rounds += last is not None and seen < last
            last = seen
            self.assertLess(seen, 60, "nothing is read any more")

    def test_node_behind_a_narrow_link_stays_and_has_its_rank(self):  # fault: F56
        narrow = self.hosts[0]
        narrow.narrow("32kbit")
        samples = self.sample_leaders()
        self.rounds_of_membership(narrow, 6)
        launched = [self.launch(host, "--no-torchrun", command=RANK_SUM) for host in self.hosts]
        self.assert_ranks_add_up(launched)
        self.assertEqual((self.leader, self.epoch), self.wait_for_members(*self.hosts))
        self.assert_never_two_leaders(samples)

    def test_node_behind_a_full_link_says_so_and_comes_back(self):  # fault: F56
        full = self.others(self.stays, self.leader)[0]
        full.narrow("32kbit", queue="400kb")
        samples = self.sample_leaders()
        source = full.popen([PYTHON, "-c", SOURCE, self.stays.address])
        self.wait_for_members(*self.others(full))
        wait_until(lambda: self.status(full)["state"] == "unreachable", "its lease to end")
        self.assertIn("no answer in time", self.status(full)["messages"][0])
        source.kill()
        full.restore()
        self.assertEqual((self.leader, self.epoch), self.wait_for_members(*self.hosts))
        self.assert_never_two_leaders(samples)


@needs_network
class FaultyEtcd(NetworkTest):
    def setUp(self):
        super().setUp()
        self.start_etcd(*self.hosts)

    def test_nodes_outlast_etcd(self):  # fault: F52
        self.start_nodes(*self.hosts)
        leader, epoch = self.wait_for_members(*self.hosts)
        program = self.start_program(leader)
        samples = self.sample_leaders()
        for member in self.members.values():
            member.signal(signal.SIGSTOP)
        wait_until(lambda: {self.status(host)["state"] for host in self.hosts} == {"unreachable"},
                   "all leases to end")
        for host in self.hosts:
            status = self.status(host)
            self.assertFalse(status["leads"])
            self.assertIn("etcd does not answer at", status["messages"][0])
        self.assert_runs_on(program)
        for member in self.members.values():
            member.signal(signal.SIGCONT)
        _, later = self.wait_for_members(*self.hosts)
        self.assertEqual(epoch + 1, later)  # once, since the leader's lease has ended
        self.assert_ends_well(program)
        self.assert_never_two_leaders(samples)

    def test_short_loss_of_etcd_changes_no_leader(self):  # fault: F52
        self.start_nodes(*self.hosts)
        leader, epoch = self.wait_for_members(*self.hosts)
        samples = self.sample_leaders()
        for member in self.members.values():
            member.kill()
        for member in self.members.values():
            member.begin()
        for member in self.members.values():
            member.wait()
        after = self.wait_for_members(*self.hosts)
        self.assert_never_two_leaders(samples)
        # On a crowded machine etcd may take longer than a lease.
        if all(one[2] for one in samples.said[leader.name]):
            self.assertEqual((leader, epoch), after)

    def ranks(self, job):
        for member in self.members.values():
            if member.runs():
                return [key for key in member.keys(f"optile/{USER}/jobs/{job}/ranks/")]
        return []

    def test_launch_outlasts_leader_of_etcd(self):  # fault: F54
        for host in self.hosts:
            host.start_daemon()
        for claimed in (1, 2):
            job = f"job{claimed}"
            launches = [self.launch(host, "--name", job, command=SHOW)
                        for host in self.hosts[:claimed]]
            wait_until(lambda: len(self.ranks(job)) == claimed, "the first claims")
            leader, = [one for one in self.members.values() if one.leads()]
            leader.kill()
            launches += [self.launch(host, "--name", job, command=SHOW)
                         for host in self.hosts[claimed:]]
            ended = [finish(one) for one in launches]
            self.assertEqual([0, 0, 0], [one.code for one in ended], ended)
            self.assertEqual([f"{rank} of 3" for rank in range(3)],
                             sorted(one.stdout.strip() for one in ended))
            leader.start()


@needs_network
class TrainingOverNetwork(NetworkTest):
    STEPS, BEGIN = 60, 30

    def setUp(self):
        super().setUp()
        self.start_etcd(self.hosts[2])
        self.ranks = self.hosts[:2]
        for host in self.ranks:
            host.start_daemon()

    def train(self, change_link, change_again=lambda host: None):
        """As one process: losses are the same, whatever these do to a host in mid-run."""
        program = [PYTHON, SCRIPTS / "distributed_train.py", "--steps", "60"]
        alone = finish(self.space.popen(program))
        self.assertEqual(0, alone.code, alone)
        ranks = [self.launch(host, "--no-torchrun", command=[*program, "--wait-step", "30"],
                             nodes=2) for host in self.ranks]
        for rank in ranks:
            read_until(rank, "waits")
        change_link(self.ranks[1])
        for rank in ranks:
            rank.stdin.write("\n")
            rank.stdin.flush()
        change_again(self.ranks[1])
        ended = [finish(rank) for rank in ranks]
        self.assertEqual([0, 0], [one.code for one in ended], ended)
        expected = json.loads(alone.stdout)["losses"]
        for one in ended:
            losses = json.loads(one.stdout)["losses"]
            self.assertEqual(len(expected), len(losses))
            for loss, other in zip(expected, losses):
                self.assertAlmostEqual(loss, other, delta=1e-5 * max(1, abs(loss)))

    def test_losses_are_the_same_when_a_link_becomes_narrow(self):  # fault: F56
        for host in self.ranks:
            host.narrow("10mbit")
        self.train(lambda host: host.narrow("1mbit"))

    def test_training_goes_on_when_a_host_was_cut_off(self):  # fault: F56
        def restore(host):
            # Sent again and again, later each time.
            wait_until(lambda: host.packets_lost() >= 5, "its packets to be lost")
            host.restore()

        self.train(lambda host: host.cut(), restore)


if __name__ == "__main__":
    unittest.main()
