"""Hostile clients beside an honest one: the daemon stays up, its memory stays flat, every
descriptor comes back, and the honest program is served on as if nothing were."""
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import socket
import unittest

from support.harness import (ATTACH_SUFFIX, PYTHON, QUICK_BLAS, SCRIPTS, EndToEndTest, blas, get,
                             wait_until)
from support.hostile_client import (ATTACH_REQUEST_BYTES, LAYOUT, MAX_OPS, MAX_THREADS, RING_EVENTS,
                                    HostileClient, attach_request, connect, offset)

SEED = 20240229
MANY_OPS = 10000
STORM = 1000
PLACES = "256"
HALF_OPEN = 200
# What a few rounds may add to the daemon's own memory once the first rounds are over. One round's
# input is many times as much.
MAX_GROWTH_KB = 4096


class HostileClients(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 8192), limit[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limit)
        self.daemon = self.space.start_daemon(options=("--max-clients", PLACES))
        self.honest = self.space.popen(
            self.space.launcher(command=[PYTHON, SCRIPTS / "train_small.py", "--steps", "1000000"]),
            {**blas(QUICK_BLAS), "OMP_NUM_THREADS": "2"})
        wait_until(lambda: self.client() and self.client()["phase"] == "tuned",
                   "the honest program to be tuned")
        self.before = self.client()
        self.descriptors = self.daemon_descriptors()

    # ---- what must hold
    def client(self):
        """What the daemon says of the honest program."""
        for client in self.space.get("/v1/clients")["clients"]:
            if client["pid"] == self.honest.pid:
                return self.space.get(f"/v1/clients/{client['id']}")
        return None

    def daemon_descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))

    def daemon_memory_kb(self):
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1])

    def assert_undisturbed(self):
        self.assertIsNone(self.daemon.process.poll(), self.space.daemon_log())
        self.assertIsNone(self.honest.poll())
        now = wait_until(lambda: self.went_on(), "the honest program's events to be read")
        self.assertEqual(0, now["events"]["rejected"], now)
        self.assertEqual(self.before["id"], now["id"])
        # A storm is load as well: the guard may look for better widths. The step is not lost.
        self.assertIn(now["phase"], ("tuned", "exploring", "comparing"))
        self.assertGreaterEqual(now["plan_generation"], self.before["plan_generation"])
        self.before = now

    def went_on(self):
        now = self.client()
        grown = (now["events"]["read"] > self.before["events"]["read"]
                 and now["steps"] > self.before["steps"]
                 and now["ops_begun"] > self.before["ops_begun"])
        return now if grown else None

    def assert_all_returned(self):
        wait_until(lambda: [c["pid"] for c in self.daemon.status()["clients"]] == [self.honest.pid],
                   "the hostile clients to be gone")
        wait_until(lambda: self.daemon_descriptors() <= self.descriptors + 1,  # ours, asking
                   "the daemon's descriptors to come back")

    def assert_flat(self, attack, warm_up, rounds):
        for _ in range(warm_up):
            attack()
        self.assert_all_returned()
        before_kb = self.daemon_memory_kb()
        for _ in range(rounds):
            attack()
        self.assert_all_returned()
        self.assertLess(self.daemon_memory_kb() - before_kb, MAX_GROWTH_KB)
        self.assert_undisturbed()

    # ---- attacks
    def attack_path(self):
        return f"{self.space.socket}{ATTACH_SUFFIX}"

    def send_random(self):
        for number in range(40):
            size = self.random.choice(
                (1, 16, ATTACH_REQUEST_BYTES - 1, ATTACH_REQUEST_BYTES, ATTACH_REQUEST_BYTES + 1,
                 60000))
            noise = self.random.randbytes(size)
            if number % 4 == 0:
                noise = attach_request()[:self.random.randrange(ATTACH_REQUEST_BYTES)] + noise
            for path, kind in ((self.attack_path(), socket.SOCK_SEQPACKET),
                               (self.space.socket, socket.SOCK_STREAM)):
                with contextlib.suppress(OSError), connect(path, kind) as peer:
                    peer.sendall(noise)
                    peer.shutdown(socket.SHUT_WR)
                    peer.recv(4096)

    def test_send_random_bytes_on_both_sockets(self):  # fault: F14
        self.assert_flat(self.send_random, warm_up=2, rounds=4)

    def hold_half_open(self):
        """Connections that say nothing, or half of something, and stay."""
        with contextlib.ExitStack() as held:
            for number in range(HALF_OPEN):
                with contextlib.suppress(OSError):
                    silent = held.enter_context(
                        connect(self.attack_path(), socket.SOCK_SEQPACKET))
                    if number % 2 == 0:
                        silent.send(b"half")
                # Fewer than the daemon keeps open at once, so that it can be asked.
                if number < 32:
                    half = held.enter_context(connect(self.space.socket, socket.SOCK_STREAM))
                    half.sendall(b"GET /v1/status HTTP/1.1\r\nHost:")
            self.assert_undisturbed()

    def test_hold_half_open_connections(self):  # fault: F15
        self.assert_flat(self.hold_half_open, warm_up=1, rounds=2)

    def test_take_every_http_connection(self):  # fault: F15
        """The daemon gives a silent one up by itself: later questions are answered."""
        with contextlib.ExitStack() as held:
            for _ in range(HALF_OPEN):
                with contextlib.suppress(OSError):
                    held.enter_context(connect(self.space.socket, socket.SOCK_STREAM))

            def answered():
                with contextlib.suppress(OSError, ValueError):
                    return get(self.space.socket, "/v1/status")[0] == 200
                return False

            wait_until(answered, "the daemon to give up silent connections")
            self.assert_undisturbed()
        self.assert_all_returned()

    def storm(self):
        """All of them send an attach request and stay: some are served, the others told no."""
        served = 0
        with contextlib.ExitStack() as held:
            peers = []
            for _ in range(STORM):
                peer = held.enter_context(connect(self.attack_path(), socket.SOCK_SEQPACKET))
                with contextlib.suppress(OSError):  # closed before it could speak
                    peer.send(attach_request())
                    peers.append(peer)
            for peer in peers:
                with contextlib.suppress(OSError):
                    frame, ancillary, _, _ = peer.recvmsg(4096, socket.CMSG_SPACE(8))
                    for _, _, fds in ancillary:
                        served += 1
                        for i in range(0, len(fds), 4):
                            os.close(int.from_bytes(fds[i:i + 4], "little"))
            self.assertGreater(served, 0)
            self.assertLess(served, 256)
            self.assert_undisturbed()

    def test_open_connections_in_a_storm(self):  # fault: F13
        self.assert_flat(self.storm, warm_up=1, rounds=2)

    def write_nonsense(self):
        """Ten thousand ops with names of any bytes, counts and positions that cannot be, and all
        of it changed while the daemon reads."""
        client = HostileClient(self.space.socket)
        try:
            records = offset("optile_client_region.ops")
            client.scribble(self.random, records, MAX_OPS * LAYOUT["optile_op_record"][0])
            client.put32("optile_client_header.registry_count", MANY_OPS)
            client.wait_for_drains(2)
            for slot in range(MAX_THREADS):
                thread = client.thread(slot)
                client.scribble(self.random, thread, LAYOUT["optile_thread_slot"][0])
                head = self.random.choice((1, RING_EVENTS, RING_EVENTS + 1, 2**63, -1))
                client.put64("optile_thread_slot.head", head, thread)
            self.ask_about(client)
            for _ in range(20):
                begin = self.random.randrange(len(client.memory) - 65536)
                client.scribble(self.random, begin, self.random.randrange(65536))
                client.scribble(self.random, 0, records)  # the header
                client.begin()
                client.put32("optile_client_header.registry_count", self.random.getrandbits(32))
                client.wait_for_drains(1)
            self.ask_about(client)
        finally:
            client.close()

    def ask_about(self, client):
        for target in ("/v1/status", f"/v1/clients/{client.id}", f"/v1/ops?client={client.id}",
                       "/v1/runs/hostile/report"):
            code, body = get(self.space.socket, target)
            self.assertEqual(200, code, target)
            json.dumps(body).encode("utf-8")

    def test_write_garbage_to_shared_memory(self):  # fault: F14
        # The daemon remembers those that left, up to a number of ops that four of these reach.
        self.assert_flat(self.write_nonsense, warm_up=6, rounds=4)


if __name__ == "__main__":
    unittest.main()
