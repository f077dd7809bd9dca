"""Daemons and launches that reach a real etcd over TLS, with certificates of a test's own, and what
they say where one of them is not as it should be.
"""
import unittest

from support import certificates, etcd
from support.certificates import Authority
from support.etcd import Etcd, EtcdTls
from support.harness import OPTILE, EndToEndTest, Workspace, finish, wait_until


class ClusterOverTls(EndToEndTest):
    def setUp(self):
        super().setUp()
        for needed in (certificates, etcd):
            if not needed.INSTALLED:
                self.skipTest(needed.MISSING)
        self.authority = Authority(self.space.dir, "authority")
        self.server = self.authority.issue("server")
        self.node = self.authority.issue("node")
        self.own = ["--cert", self.node.cert, "--key", self.node.key]
        self.all = ["--cacert", self.authority.cert, *self.own]

    def start_etcd(self, server=None, clients=None):
        # Keys are read with the server's own certificate, which `clients` has to have issued too.
        started = Etcd(self.space.dir, EtcdTls(server or self.server, clients))
        self.addCleanup(started.kill)
        return started

    def join(self, url, *options, space=None):
        return (space or self.space).ask("cluster", "join", "--etcd", url, *options)

    def refused(self, url, *options):
        """What a launch says of an etcd that cannot be used."""
        ended = finish(self.space.popen(
            [OPTILE, "launch", "--nodes", 2, "--wait", 1, "--etcd", url, *options, "--",
             "/bin/true"]))
        self.assertEqual(125, ended.code, ended)
        return ended.stderr

    def names(self, space):
        return [node["name"] for node in space.get("/v1/cluster").get("nodes", [])]

    def test_nodes_are_members_by_their_certificates(self):
        asks = self.start_etcd(clients=self.authority)
        other = Workspace()
        self.addCleanup(other.close)
        self.space.start_daemon()
        other.start_daemon(options=[
            "--cluster-etcd", asks.url, "--cluster-name", "node1", "--cluster-cacert",
            self.authority.cert, "--cluster-cert", self.node.cert, "--cluster-key", self.node.key])
        # Relative to where the command runs, which is not where the daemon does.
        joined = self.join(asks.url, "--name", "node0", "--cacert", "authority.pem", "--cert",
                           "node.pem", "--key", "node.key")
        self.assertEqual(0, joined.code, joined)
        for space in (self.space, other):
            wait_until(lambda space=space: self.names(space) == ["node0", "node1"], "both nodes")
        shown = self.space.ask("cluster", "status").stdout
        self.assertIn(f"etcd    {asks.url} answers", shown)

    def test_program_is_launched_over_tls(self):
        asks = self.start_etcd(clients=self.authority)
        self.space.start_daemon()
        # Both ways to name the files.
        named = {"OPTILE_ETCD_CACERT": str(self.authority.cert),
                 "OPTILE_ETCD_CERT": str(self.node.cert), "OPTILE_ETCD_KEY": str(self.node.key)}
        line = [OPTILE, "launch", "--socket", self.space.socket, "--nodes", 2, "--etcd", asks.url]
        program = ["--", "/bin/sh", "-c", "echo $RANK; exit 3"]
        started = [self.space.popen([*line, *self.all, *program]),
                   self.space.popen([*line, *program], named)]
        ended = [finish(one) for one in started]
        self.assertEqual([3, 3], [one.code for one in ended], ended)
        self.assertEqual(["0", "1"], sorted(one.stdout.strip() for one in ended))

    # fault: F55
    def test_what_is_wrong_reaches_join_and_status(self):
        asks = self.start_etcd(clients=self.authority)
        self.space.start_daemon()
        said = self.join(asks.url, "--cacert", self.authority.cert)
        self.assertEqual(1, said.code, said)
        shown = self.space.ask("cluster", "status")
        self.assertIn(" does not answer\n", shown.stdout)
        for text in (said.stderr, shown.stdout):
            self.assertIn(f"at {asks.url}: it asks for a certificate of ours", text)

    def test_etcd_that_is_not_trusted_is_told_by_what_is_wrong(self):
        stranger = Authority(self.space.dir, "stranger")
        trusted = self.start_etcd()
        self.assertIn("is of no CA that this machine trusts", self.refused(trusted.url))
        self.assertIn(f"is of no CA in {stranger.cert}",
                      self.refused(trusted.url, "--cacert", stranger.cert))
        trusted.kill()
        for server, wrong in (
                (self.authority.issue("elsewhere", "DNS:node0,IP:127.0.0.2"), "is not for 127.0.0"),
                (self.authority.issue("old", days=-1), "has expired")):
            started = self.start_etcd(server)
            self.assertIn(wrong, self.refused(started.url, "--cacert", self.authority.cert))
            started.kill()

    def test_host_is_verified_by_name_too(self):
        named = self.start_etcd(self.authority.issue("by_name", "DNS:localhost"))
        by_name = named.url.replace("127.0.0.1", "localhost")
        self.assertIn("is not for 127.0.0.1",
                      self.refused(named.url, "--cacert", self.authority.cert))
        self.space.start_daemon()
        self.assertEqual(0, self.join(by_name, "--cacert", self.authority.cert).code)

    def test_machines_own_authorities_count_where_none_is_named(self):
        trusted = self.start_etcd()
        # Where OpenSSL looks for what the machine trusts.
        self.space.start_daemon(
            wrap=lambda command: ["env", f"SSL_CERT_FILE={self.authority.cert}", *command])
        self.assertEqual(0, self.join(trusted.url).code)

    def test_etcd_that_asks_for_certificate_says_so(self):
        asks = self.start_etcd(clients=self.authority)
        foreign = Authority(self.space.dir, "stranger").issue("foreign")
        missing = self.refused(asks.url, "--cacert", self.authority.cert)
        self.assertIn("it asks for a certificate of ours", missing)
        self.assertIn("--cert FILE --key FILE", missing)
        self.assertIn(f"it refuses our certificate {foreign.cert}", self.refused(
            asks.url, "--cacert", self.authority.cert, "--cert", foreign.cert, "--key",
            foreign.key))

    def test_users_are_asked_for_besides_certificates(self):
        asks = self.start_etcd(clients=self.authority)
        asks.ask_for_users("root", "secret")
        user = self.space.dir / "user"
        user.write_text("root:secret\n")
        user.chmod(0o600)
        self.assertIn("use a certificate without a common name",
                      self.refused(asks.url, *self.all, "--user-file", user))
        nameless = self.authority.issue("nameless", subject="/O=optile")
        files = ["--cacert", self.authority.cert, "--cert", nameless.cert, "--key", nameless.key]
        self.assertIn("--user-file", self.refused(asks.url, *files))
        self.space.start_daemon()
        self.assertEqual(0, self.join(asks.url, *files, "--user-file", user).code)

    def test_port_of_the_other_kind_is_told(self):
        tls = self.start_etcd(clients=self.authority)
        self.assertIn("name it by https://", self.refused(tls.url.replace("https", "http")))
        tls.kill()
        plain = Etcd(self.space.dir)
        self.addCleanup(plain.kill)
        self.assertIn("there is no TLS at that port",
                      self.refused(plain.url.replace("http", "https"), *self.all))

    # fault: F55
    def test_renewed_certificate_is_taken_up(self):
        asks = self.start_etcd(clients=self.authority)
        old = self.authority.issue("old", days=-1)
        self.space.start_daemon()
        said = self.join(asks.url, "--cacert", self.authority.cert, "--cert", old.cert, "--key",
                         old.key)
        self.assertIn(f"it refuses our certificate {old.cert}", said.stderr)
        self.node.move_to(old)
        wait_until(lambda: self.space.get("/v1/cluster")["state"] == "member", "it to be a member")

    def test_files_that_cannot_be_used_are_told(self):
        url = "https://127.0.0.1:1"
        self.space.start_daemon()
        self.node.key.chmod(0o640)
        for wrong, options in (
                ("only --cert is there", [url, "--cert", self.node.cert]),
                ("only --key is there", [url, "--key", self.node.key]),
                ("name etcd by https://HOST:PORT", ["http://a", *self.all]),
                ("are mixed", ["https://a,http://b", *self.all]),
                ("cannot open the file", [url, "--cacert", "/nowhere/ca.pem"]),
                ("is the key of another certificate", [
                    url, "--cert", self.node.cert, "--key", self.server.key]),
                (f"chmod 600 {self.node.key}", [url, *self.own])):
            with self.subTest(wrong):
                self.assertIn(wrong, self.refused(*options))
                joined = self.join(*options)
                self.assertEqual(1, joined.code, joined)
                self.assertIn(wrong, joined.stderr)
                self.assertEqual({"state": "none"}, self.space.get("/v1/cluster"))


if __name__ == "__main__":
    unittest.main()
