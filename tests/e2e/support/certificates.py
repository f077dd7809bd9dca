"""A certificate authority of a test's own, by the `openssl` command: what etcd and nodes need to
reach each other over TLS, and what they must refuse.
"""
import pathlib
import shutil
import subprocess

INSTALLED = shutil.which("openssl") is not None
MISSING = "no openssl here: install Debian's openssl"
_NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, stdin=subprocess.DEVNULL,
                   capture_output=True)


class Certificate:
    def __init__(self, folder, name):
        self.cert = folder / f"{name}.pem"
        self.key = folder / f"{name}.key"

    def move_to(self, other):
        """Becomes the other, as a renewed certificate does."""
        self.key.replace(other.key)
        self.cert.replace(other.cert)


class Authority:
    def __init__(self, folder, name):
        self._folder = pathlib.Path(folder)
        self._own = Certificate(self._folder, name)
        _openssl("req", "-x509", *_NEW_KEY, "-keyout", self._own.key, "-out", self._own.cert,
                 "-subj", f"/CN={name}", "-days", 2)
        self.cert = self._own.cert

    def issue(self, name, hosts="IP:127.0.0.1,DNS:localhost", days=2, subject=None):
        """For these hosts; with days below 0 it has expired. `name` is that of its files, and its
        common name unless there is a subject."""
        issued = Certificate(self._folder, name)
        request = self._folder / f"{name}.csr"
        _openssl("req", *_NEW_KEY, "-keyout", issued.key, "-out", request, "-subj",
                 subject or f"/CN={name}", "-addext", f"subjectAltName={hosts}")
        _openssl("x509", "-req", "-in", request, "-copy_extensions", "copyall", "-CA",
                 self._own.cert, "-CAkey", self._own.key, "-days", days, "-out", issued.cert)
        issued.key.chmod(0o600)
        return issued
