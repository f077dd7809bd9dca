"""A real etcd of one member for a test: free ports, a folder of its own, and the keys in it."""
import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import urllib.request

from support.harness import DEADLINE, wait_until

INSTALLED = shutil.which("etcd") is not None
MISSING = "no etcd here: install Debian's etcd-server"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Etcd:
    def __init__(self, folder):
        self.folder = folder
        self.url = f"http://127.0.0.1:{free_port()}"
        self._peer = f"http://127.0.0.1:{free_port()}"
        self._process = None
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ETCD_")}
        with (self.folder / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["etcd", f"--data-dir={self.folder / 'etcd'}", f"--listen-client-urls={self.url}",
                 f"--advertise-client-urls={self.url}", f"--listen-peer-urls={self._peer}",
                 f"--initial-advertise-peer-urls={self._peer}",
                 f"--initial-cluster=default={self._peer}"],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._answers, "etcd to answer")

    def _answers(self):
        assert self._process.poll() is None, (self.folder / "etcd.log").read_text()
        with contextlib.suppress(OSError):
            self.keys()
            return True
        return False

    def keys(self, prefix="optile/"):
        """The keys that begin so, with their values."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        body = {"key": base64.b64encode(prefix.encode()).decode(),
                "range_end": base64.b64encode(end.encode()).decode()}
        request = urllib.request.Request(f"{self.url}/v3/kv/range", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            entries = json.load(answer).get("kvs", [])
        return {base64.b64decode(one["key"]).decode():
                base64.b64decode(one.get("value", "")).decode() for one in entries}

    def kill(self):
        self._process.kill()
        self._process.wait()
