"""Metrics of a daemon at work: of a real program, read by Prometheus' own tools."""
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import unittest
import urllib.parse

from support import harness
from support.harness import PYTHON, SCRIPTS, finish, read_until

TRAINER = [PYTHON, SCRIPTS / "train_small.py"]
DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy" / "prometheus"


def fetch(target, path):
    """GET over TCP: (status, text)."""
    connection = http.client.HTTPConnection(target, timeout=harness.DEADLINE)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8")
    finally:
        connection.close()


def lint(page):
    """What `promtool check metrics` has against a page; "" for nothing."""
    done = subprocess.run(["promtool", "check", "metrics"], input=page, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
    return done.stdout if done.stdout or done.returncode == 0 else f"exit {done.returncode}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class MetricsScrape(harness.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.env = harness.blas(harness.QUICK_BLAS)
        self.discovery = self.space.dir / "optile-test.json"
        self.textfile = self.space.dir / "optile.prom"
        self.daemon = self.space.start_daemon(wrap=lambda command: [
            *command, "--metrics-listen", "127.0.0.1:0", "--metrics-discovery", self.discovery,
            "--metrics-textfile", self.textfile])
        self.target = harness.wait_until(self._announced, "the discovery file")

    def _announced(self):
        if not self.discovery.exists():
            return None
        groups = json.loads(self.discovery.read_text())
        self.assertEqual(1, len(groups), groups)
        return groups[0]["targets"][0]

    def paused_program(self):
        program = self.space.popen(
            self.space.launcher(command=[*TRAINER, "--steps", "60", "--pause-at", "50"]), self.env)
        read_until(program, "paused")
        return program

    def test_matches_running_program(self):
        self.assertEqual("", lint(fetch(self.target, "/metrics")[1]))
        program = self.paused_program()
        page = harness.wait_until(self._page_with_ops, "the program's ops on the page")
        self.assertEqual("", lint(page))
        self.assertIn('optile_client_id{program="', page)
        self.assertNotIn("pid=", page)
        self.assertNotIn("train_small", page, "everybody may read this")
        self.assertNotIn("aten::", page)
        asked = self.space.ask("metrics")
        self.assertEqual(0, asked.code, asked)
        self.assertIn("train_small.py", asked.stdout)
        self.assertIn("aten::", asked.stdout)
        self.assertEqual("", lint(asked.stdout))
        names = re.compile(r"^# TYPE (\S+)", re.MULTILINE)
        # What was there a moment ago is there still; an op may have got a width since.
        self.assertLessEqual(set(names.findall(page)), set(names.findall(asked.stdout)))
        self.assertEqual(404, fetch(self.target, "/v1/status")[0])
        self.assertEqual(0, finish(program, "\n").code)
        harness.wait_until(
            lambda: "optile_clients_attached_total 1" in self.textfile.read_text()
            and "optile_client_id" not in self.textfile.read_text(),
            "the text file to be written when the program had left")
        self.assertEqual("", lint(self.textfile.read_text()))
        self.assertEqual(0, self.daemon.stop())
        self.assertFalse(self.discovery.exists())

    def _page_with_ops(self):
        status, page = fetch(self.target, "/metrics")
        self.assertEqual(200, status)
        return page if "optile_op_seconds_total{" in page else None

    def test_feeds_prometheus_console(self):
        program = self.paused_program()
        port = free_port()
        self._start_prometheus(port)
        address = f"127.0.0.1:{port}"
        query = urllib.parse.quote("optile_client_phase == 1")

        def scraped():
            try:
                status, text = fetch(address, f"/api/v1/query?query={query}")
            except OSError:
                return False
            return status == 200 and json.loads(text)["data"]["result"]

        harness.wait_until(scraped, "Prometheus to have scraped the daemon")
        status, page = fetch(address, "/consoles/optile.html")
        self.assertEqual(200, status, page)
        self.assertIn("unnamed", page)
        self.assertNotIn("No program is attached", page)
        self.assertNotIn("Prometheus knows no daemon", page)
        self.assertEqual(0, finish(program, "\n").code)

    def _start_prometheus(self, port):
        folder = self.space.dir / "prometheus"
        folder.mkdir()
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(DEPLOY / "optile.rules.yml")],
            "scrape_configs": [{"job_name": "optile", "sample_limit": 5000, "file_sd_configs": [
                {"files": [str(self.discovery)]}]}]}))
        self.space.popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
             f"--web.console.templates={DEPLOY}/consoles",
             f"--web.console.libraries={DEPLOY}/console_libraries"],
            stdout=subprocess.DEVNULL, stderr=(folder / "log").open("w"))


class MetricsListener(harness.EndToEndTest):
    def test_refuses_network_address(self):
        for address in ("0.0.0.0:9464", "[::]:0", f"{os.uname().nodename}:9464"):
            done = self.space.run([harness.OPTILED, "--socket", self.space.socket,
                                   "--metrics-listen", address])
            self.assertEqual(2, done.code, done)
            self.assertIn("this machine only", done.stderr)
            self.assertFalse(self.space.socket.exists())


if __name__ == "__main__":
    unittest.main()
