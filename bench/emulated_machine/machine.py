"""A machine with many processors, emulated: Debian's kernel under QEMU with the host's files, in
which work is held (held_work.c), so that programs scale however few processors the host has."""

from __future__ import annotations

import gzip
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import List, Sequence

import workload_run
from workload_run import RunError

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
NEEDED = ("qemu-system-x86_64", "modprobe", "busybox", "cpio", "make")
INSTALL = "./dev setup build run emulated_machine"
LOOK_SECONDS = 0.5
MEMORY_MIB = 4096


@dataclass(frozen=True)
class Kernel:
    release: str
    image: pathlib.Path
    headers: pathlib.Path


def newest_kernel() -> Kernel:
    """One that can be booted and built a module for."""
    for image in sorted(pathlib.Path("/boot").glob("vmlinuz-*"), reverse=True):
        release = image.name.partition("-")[2]
        headers = pathlib.Path("/lib/modules", release, "build")
        if headers.exists():
            return Kernel(release, image, headers)
    raise RunError(f"no kernel with its headers on this machine: {INSTALL}")


def modules_of(kernel: Kernel) -> List[pathlib.Path]:
    """In the order in which they are loaded."""
    found: List[pathlib.Path] = []
    for name in MODULES:
        said = subprocess.run(
            ["modprobe", "--show-depends", "-S", kernel.release, name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        words = [line.split() for line in said.stdout.splitlines()]
        paths = [pathlib.Path(line[1]) for line in words if line[:1] == ["insmod"]]
        found += [path for path in paths if path not in found]
    return found


def build_module(kernel: Kernel, folder: pathlib.Path) -> pathlib.Path:
    for name in ("Kbuild", "held_work.c"):
        shutil.copy(HERE / name, folder)
    said = subprocess.run(
        ["make", "-C", str(kernel.headers), f"M={folder}", "modules"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if said.returncode != 0:
        raise RunError(f"held_work does not build for {kernel.release}:\n{said.stderr}")
    return folder / "held_work.ko"


def first_files(kernel: Kernel, folder: pathlib.Path) -> pathlib.Path:
    """What the kernel starts from: busybox, the modules, init."""
    build = folder / "module"
    build.mkdir()
    root = folder / "initrd"
    for place in ("bin", "modules"):
        (root / place).mkdir(parents=True)
    shutil.copy(str(shutil.which("busybox")), root / "bin" / "busybox")
    shutil.copy(HERE / "init", root / "init")
    (root / "init").chmod(0o755)
    for number, module in enumerate([*modules_of(kernel), build_module(kernel, build)]):
        shutil.copy(module, root / "modules" / f"{number:02}-{module.name}")
    names = "\n".join(str(path.relative_to(root)) for path in root.rglob("*"))
    packed = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet"], input=names.encode(), cwd=root,
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    file = folder / "initrd.gz"
    file.write_bytes(gzip.compress(packed, 1))
    return file


def qemu(kernel: Kernel, files: pathlib.Path, out: pathlib.Path, processors: str) -> List[str]:
    share = "security_model=none"
    return [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", processors,
        "-m", str(MEMORY_MIB), "-nographic", "-no-reboot", "-net", "none",
        "-kernel", str(kernel.image), "-initrd", str(files),
        "-append", "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable",
        "-virtfs", f"local,path=/,mount_tag=host,{share},readonly=on,multidevs=remap",
        "-virtfs", f"local,path={out},mount_tag=out,{share}",
    ]  # fmt: skip


def follow(process: "subprocess.Popen[bytes]", progress: pathlib.Path, limit: float) -> None:
    """Shows what the command in the machine writes, until the machine is off."""
    shown = 0
    end = time.monotonic() + limit
    while True:
        over = process.poll() is not None
        text = progress.read_text(errors="replace") if progress.exists() else ""
        sys.stderr.write(text[shown:])
        sys.stderr.flush()
        shown = len(text)
        if over:
            return
        if time.monotonic() > end:
            raise RunError(f"the machine was not done after {limit:.0f} s")
        time.sleep(LOOK_SECONDS)


def run(command: Sequence[str], processors: str, folder: pathlib.Path, limit: float) -> None:
    """Boots a machine, runs the command in it with /out for its files, and shows its progress.
    `processors`: QEMU's -smp, such as 16 or 16,sockets=2. `folder`: of this machine, where /out is
    `out` afterwards."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise RunError(f"{', '.join(missing)}: not on this machine: {INSTALL}")
    kernel = newest_kernel()
    out = folder / "out"
    out.mkdir()
    files = first_files(kernel, folder)
    script = [
        "export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root",
        f"cd {shlex.quote(str(HERE.parent.parent))}",
        f"{shlex.join(command)} >/out/stdout 2>/out/progress",
        "echo $? >/out/status",
    ]
    (out / "inside.sh").write_text("\n".join(script) + "\n")
    with open(out / "console", "wb") as console:
        process = subprocess.Popen(
            qemu(kernel, files, out, processors), stdin=subprocess.DEVNULL, stdout=console,
            stderr=console, start_new_session=True,
        )  # fmt: skip
        try:
            follow(process, out / "progress", limit)
        finally:
            workload_run.end_process(process)
    status = out / "status"
    if not status.exists():
        last = (out / "console").read_text(errors="replace").splitlines()[-12:]
        raise RunError("the machine went off before the command ended:\n" + "\n".join(last))
    if status.read_text().strip() != "0":
        raise RunError(f"the command in the machine ended with {status.read_text().strip()}")
