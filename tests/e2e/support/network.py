"""Hosts of a test as network namespaces, joined by a bridge in one of its own: nothing of the
machine's network is touched. A namespace has no name: it lasts as long as something runs in it.

Each host has a name, an address, an /etc/hosts and a Workspace of its own; processes and files are
the machine's. What is started on a host is killed with the test, also where the test itself is
killed: the kernel does that for what the test has started, the next network for their children.
"""
import contextlib
import ctypes
import functools
import os
import pathlib
import re
import signal
import subprocess
import threading
import unittest

from support.harness import Workspace, finish, processes_mentioning, wait_until

# In the environment of all that runs on a host: the test's pid, and in which namespace of pids.
_OWNER = "NETWORK_TEST_OWNER"
_PIDS = os.readlink("/proc/self/ns/pid")
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stderr)


@functools.lru_cache(None)
def _why_not():
    """Why there are no networks here; "" where there are."""
    if os.geteuid() != 0:
        return "namespaces of the network need root"
    try:
        tried = subprocess.run(
            ["unshare", "--net", "--uts", "--mount", "sh", "-c",
             "ip link add bridge type bridge && ip link add left type veth peer name right && "
             "tc qdisc add dev left root blackhole && "
             "tc qdisc add dev right root tbf rate 1mbit burst 4kb limit 8kb"],
            capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return f"no networks here: {tried.stderr.strip()}" if tried.returncode else ""


def needs_network(test):
    why = _why_not()
    return unittest.skipIf(why, why)(test)


def _end_leftovers():
    """What runs on hosts of tests that are gone."""
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            for one in (entry / "environ").read_bytes().split(b"\0"):
                name, _, owner = one.decode(errors="replace").partition("=")
                pids, _, pid = owner.partition(" ")
                if (name, pids) == (_OWNER, _PIDS) and not pathlib.Path("/proc", pid).exists():
                    os.kill(int(entry.name), signal.SIGKILL)


class _Namespaces:
    """A network, a name of the machine and a view of its files, which last as long as this."""

    def __init__(self, name, preparation=""):
        # It ends when its input does, and so with the test.
        self._keeper = subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "sh", "-ec",
             f"hostname {name}; ip link set lo up; {preparation}\necho ready; exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._keeper.pid
        assert self._keeper.stdout.readline() == "ready\n", "no namespaces: see above"
        self._network = os.readlink(f"/proc/{self.pid}/ns/net")

    def enter(self, command):
        """`command` there; it dies with the thread that starts it."""
        return ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--target={self.pid}", "--net",
                "--uts", "--mount", "env", f"{_OWNER}={_PIDS} {os.getpid()}", *map(str, command)]

    def run(self, *command):
        _run(self.enter(command))

    def processes(self):
        """Those that live."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.readlink(entry / "ns/net") == self._network:
                    found.append(int(entry.name))
        return [pid for pid in found if pid != self.pid]

    def signal_all(self, number):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end_processes(self):
        def gone():
            self.signal_all(signal.SIGKILL)
            return not self.processes()

        wait_until(gone, "the processes of a host to be gone")

    def close(self):
        self.end_processes()
        self._keeper.kill()
        self._keeper.communicate()


class Host:
    def __init__(self, switch, name, addresses):
        """`addresses`: of all hosts, by their names."""
        self.name = name
        self.address = addresses[name]
        self.space = Workspace()
        self._switch = switch
        self._port = f"to-{self.name}"
        hosts = self.space.dir / "hosts"
        # As an installation of Debian leaves it: who asks for the own name gets the loopback.
        known = {**addresses, "localhost": "127.0.0.1", name: "127.0.1.1"}
        hosts.write_text("".join(f"{address}\t{one}\n" for one, address in known.items()))
        self._namespaces = _Namespaces(self.name, f"mount --bind {hosts} /etc/hosts")
        self.enter = self._namespaces.enter
        switch.run("ip", "link", "add", self._port, "type", "veth", "peer", "name", "eth0",
                   "netns", str(self._namespaces.pid))
        switch.run("ip", "link", "set", self._port, "master", "bridge", "up")
        self._namespaces.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self._namespaces.run("ip", "link", "set", "eth0", "up")

    # ---- what runs on it
    def popen(self, command, env=None, **options):
        return self.space.popen(self.enter(command), env, **options)

    def run(self, *command):
        return finish(self.popen(command))

    def start_daemon(self, *options):
        return self.space.start_daemon(wrap=self.enter, options=options)

    def kill(self):
        """All that runs there, as if the machine lost its power."""
        self._namespaces.end_processes()

    def running(self, text):
        """Pids of what runs there with `text` in its command line."""
        here = self._namespaces.processes()
        return [pid for pid in processes_mentioning(text) if pid in here]

    def stop(self):
        self._namespaces.signal_all(signal.SIGSTOP)

    def resume(self):
        self._namespaces.signal_all(signal.SIGCONT)

    def ask_within(self, question):
        """What `question()` returns, whose sockets are the host's."""
        answers = []

        def ask():
            with open(f"/proc/{self._namespaces.pid}/ns/net", "rb") as network:
                assert _libc.setns(network.fileno(), _CLONE_NEWNET) == 0, ctypes.get_errno()
            try:
                answers.append((question(), None))
            except OSError as error:
                answers.append((None, error))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        (answer, error), = answers
        if error is not None:
            raise error
        return answer

    # ---- its link
    def cut(self, sending=True, receiving=True):
        """Nothing that it sends arrives, or nothing arrives at it."""
        self._queue(sending, receiving, "blackhole")

    def narrow(self, rate, queue="20kb"):
        """The link has this rate in both directions, and drops what does not fit into its queue."""
        self._queue(True, True, "tbf", "rate", rate, "burst", "4kb", "limit", queue)

    def restore(self):
        self._queue(True, True, "noqueue")

    def packets_lost(self):
        """Of those that it sent, since its link was cut."""
        shown = subprocess.run(self.enter(["tc", "-s", "qdisc", "show", "dev", "eth0"]),
                               capture_output=True, text=True, check=True).stdout
        return int(re.search(r"dropped (\d+)", shown)[1])

    def _queue(self, sending, receiving, *kind):
        if sending:
            self._namespaces.run("tc", "qdisc", "replace", "dev", "eth0", "root", *kind)
        if receiving:
            self._switch.run("tc", "qdisc", "replace", "dev", self._port, "root", *kind)

    def close(self):
        self._namespaces.close()
        self.space.close()


class Network:
    """`hosts`, of which each reaches each."""

    def __init__(self, hosts=3):
        _end_leftovers()
        self._switch = _Namespaces("switch", "ip link add bridge type bridge; "
                                             "ip link set bridge up")
        addresses = {f"node{number}": f"10.0.0.{number + 1}" for number in range(hosts)}
        self.hosts = [Host(self._switch, name, addresses) for name in addresses]

    def close(self):
        for host in self.hosts:
            host.close()
        self._switch.close()
