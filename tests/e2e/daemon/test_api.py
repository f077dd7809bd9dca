"""The API against its own description: schemathesis asks the daemon whatever
docs/reference/openapi.yaml allows, and what it does not allow, and compares the answers with it.

Needs a Python with schemathesis, named by OPTILE_SCHEMATHESIS_PYTHON; `./dev test` makes one.
"""
import contextlib
import os
import socket
import socketserver
import threading
import unittest

from support.harness import SCRIPTS, SOURCE, PYTHON, EndToEndTest, wait_until

SCHEMATHESIS_PYTHON = os.environ.get("OPTILE_SCHEMATHESIS_PYTHON", "")
DESCRIPTION = SOURCE.parent / "docs" / "reference" / "openapi.yaml"
SEED = "33"
EXAMPLES = "20"  # of each route, beside those that follow from the description alone


def copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class Relay(socketserver.ThreadingTCPServer):
    """A port of this machine whose connections go to a Unix socket."""
    daemon_threads = True

    def __init__(self, path):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with socket.socket(socket.AF_UNIX) as daemon:
                    daemon.connect(str(path))
                    back = threading.Thread(target=copy, args=(daemon, self.request), daemon=True)
                    back.start()
                    copy(self.request, daemon)
                    back.join()

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


@unittest.skipUnless(SCHEMATHESIS_PYTHON,
                     "no schemathesis: OPTILE_SCHEMATHESIS_PYTHON is not set; ./dev test makes one "
                     "and runs this")
class ApiDescription(EndToEndTest):
    def test_matches_answers_of_daemon(self):
        self.space.start_daemon()
        # Somebody to ask about: attached from here to the end.
        program = self.space.popen(self.space.launcher(
            command=[PYTHON, SCRIPTS / "train_small.py", "--steps", "100000000"]))
        wait_until(lambda: self.space.get("/v1/ops")["ops"], "ops")
        with Relay(self.space.socket) as relay:
            asked = self.space.run(
                [SCHEMATHESIS_PYTHON, "-m", "schemathesis.cli", "run", DESCRIPTION, "--url",
                 relay.url, "--checks", "all", "--seed", SEED, "--max-examples", EXAMPLES,
                 "--phases", "examples,coverage,fuzzing", "--no-color", "--warnings", "off",
                 "--generation-database", "none"])
        self.assertEqual(0, asked.code, asked)
        self.assertIsNone(program.poll())


if __name__ == "__main__":
    unittest.main()
