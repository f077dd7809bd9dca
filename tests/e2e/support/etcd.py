"""A real etcd of one member for a test: free ports, a folder of its own, and the keys in it."""
import base64
import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import urllib.request

from support.harness import DEADLINE, wait_until

INSTALLED = shutil.which("etcd") is not None
MISSING = "no etcd here: install Debian's etcd-server"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class EtcdTls:
    """By which certificate an etcd is known; it asks for one of `clients`, where that is named."""

    def __init__(self, server, clients=None):
        self._server = server
        self._clients = clients

    def options(self):
        options = [f"--cert-file={self._server.cert}", f"--key-file={self._server.key}"]
        if self._clients is not None:
            options += ["--client-cert-auth", f"--trusted-ca-file={self._clients.cert}"]
        return options

    def context(self):
        """Of whoever looks into it for a test, where nothing is verified."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(self._server.cert, self._server.key)
        return context


class EtcdMember:
    """One of those that are one etcd together, perhaps on a host of its own: `enter` makes of a
    command one that runs there, `ask` calls what opens sockets there, and `listen` is by which of
    its addresses it is reached."""

    def __init__(self, folder, name, url, peers, listen=None, enter=lambda command: command,
                 ask=lambda question: question(), tls=None):
        self.folder = folder
        self.tls = tls
        self.url = url
        self._name = name
        self._peers = peers  # name → where it listens to the others
        self._listen = listen or url
        self._enter = enter
        self._ask = ask
        self._process = None

    def begin(self):
        """The others may have to begin, too, before it answers."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ETCD_")}
        peer = self._peers[self._name]
        cluster = ",".join(f"{name}={url}" for name, url in self._peers.items())
        with (self.folder / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._enter(["etcd", *(self.tls.options() if self.tls else []),
                             f"--name={self._name}", f"--data-dir={self.folder / 'etcd'}",
                             f"--listen-client-urls={self._listen}",
                             f"--advertise-client-urls={self.url}",
                             f"--listen-peer-urls={peer}",
                             f"--initial-advertise-peer-urls={peer}",
                             f"--initial-cluster={cluster}"]),
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self):
        wait_until(self._answers, "etcd to answer")

    def start(self):
        self.begin()
        self.wait()

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
        entries = self.post("/v3/kv/range", body)
        return {base64.b64decode(one["key"]).decode():
                base64.b64decode(one.get("value", "")).decode() for one in entries.get("kvs", [])}

    def runs(self):
        return self._process.poll() is None

    def leads(self):
        """It is the one that the others follow."""
        status = self.post("/v3/maintenance/status", {})
        return status.get("leader") == status["header"]["member_id"]

    def signal(self, number):
        self._process.send_signal(number)

    def post(self, target, body):
        request = urllib.request.Request(self.url + target, json.dumps(body).encode())
        context = self.tls.context() if self.tls else None

        def question():
            with urllib.request.urlopen(request, timeout=DEADLINE, context=context) as answer:
                return json.load(answer)

        return self._ask(question)

    def ask_for_users(self, name, password):
        """From now on, and this one may do all."""
        for target, body in (("user/add", {"name": name, "password": password}),
                             ("role/add", {"name": "root"}),
                             ("user/grant", {"user": name, "role": "root"}), ("enable", {})):
            self.post(f"/v3/auth/{target}", body)

    def kill(self):
        self._process.kill()
        self._process.wait()


class Etcd(EtcdMember):
    """Of one member, which answers this machine alone."""

    def __init__(self, folder, tls=None):
        super().__init__(folder, "default",
                         f"{'http' if tls is None else 'https'}://127.0.0.1:{free_port()}",
                         {"default": f"http://127.0.0.1:{free_port()}"}, tls=tls)
        self.start()
