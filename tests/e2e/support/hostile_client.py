"""Clients that keep no rule: they speak the frames of bindings/abi and then write what they like
into the memory that they were given. Where a word lies comes from the frozen listing in
tests/abi."""
import array
import mmap
import os
import re
import socket
import struct

from support import harness

_ABI = harness.SOURCE.parent / "bindings" / "abi"


def _number(name):
    match = re.search(rf"#define {name} (?:UINT32_C\()?(\w+?)u?\)?\s",
                      (_ABI / "limits.h").read_text())
    return int(match[1], 0)


MAGIC = _number("OPTILE_ABI_MAGIC")
VERSION = _number("OPTILE_ABI_VERSION")
MAX_OPS = _number("OPTILE_MAX_OPS")
MAX_THREADS = _number("OPTILE_MAX_THREADS")
RING_EVENTS = _number("OPTILE_RING_EVENTS")


def _layout():
    text = (harness.SOURCE / "abi" / f"layout_v{VERSION}.txt").read_text()
    return {line.split()[0]: [int(word) for word in line.split()[1:]]
            for line in text.splitlines()[1:]}


LAYOUT = _layout()
ATTACH_REQUEST_BYTES = LAYOUT["optile_attach_request"][0]


def offset(name):
    return LAYOUT[name][0]


OBSERVE = 1  # a mode without a lease


def attach_request(run_id="hostile", pid=1, name=b"hostile", mode=0):
    def text(words, size):
        return words[:size - 1].ljust(size, b"\0")

    frame = struct.pack("<IHHII", MAGIC, VERSION, 1, ATTACH_REQUEST_BYTES, 0)
    frame += struct.pack("<iIIBBBBQ", pid, 0, 0, mode, 0, 0, 0, 0)
    frame += text(run_id.encode(), 40) + text(name, 256) + text(name, 256) + text(name, 512)
    frame += text(b"", 256) + text(b"0", 32)
    return frame.ljust(ATTACH_REQUEST_BYTES, b"\0")


def connect(path, kind):
    peer = socket.socket(socket.AF_UNIX, kind)
    peer.connect(str(path))  # waits while the daemon's queue is full; with a timeout it would not
    peer.settimeout(harness.DEADLINE)
    return peer


class HostileClient:
    """Attached, with its memory mapped and a header that lets the daemon begin."""

    def __init__(self, socket_path, run_id="hostile", **words):
        self.peer = connect(f"{socket_path}{harness.ATTACH_SUFFIX}", socket.SOCK_SEQPACKET)
        self.peer.send(attach_request(run_id, **words))
        frame, ancillary, _, _ = self.peer.recvmsg(4096, socket.CMSG_SPACE(2 * 4))
        assert ancillary, f"refused: {frame[16:]}"
        fds = array.array("i")
        fds.frombytes(ancillary[0][2][:8])
        self.id = struct.unpack_from("<Q", frame, 16)[0]
        self.plan = mmap.mmap(fds[0], LAYOUT["optile_plan_region"][0], prot=mmap.PROT_READ)
        self.memory = mmap.mmap(fds[1], LAYOUT["optile_client_region"][0])
        for fd in fds:
            os.close(fd)
        self.begin()

    def begin(self):
        """The monotonic clock, four threads of its own, libgomp."""
        self.put64("optile_client_header.ticks_per_second", 10**9)
        self.put32("optile_client_header.default_width", 4)
        # The first four words: magic, version, clock, runtime.
        struct.pack_into("<IIII", self.memory, 0, MAGIC, VERSION, 0, 1)

    def put32(self, name, value):
        struct.pack_into("<I", self.memory, offset(name), value)

    def put64(self, name, value, base=0):
        struct.pack_into("<Q", self.memory, base + offset(name), value & (2**64 - 1))

    def thread(self, slot):
        return offset("optile_client_region.threads") + slot * LAYOUT["optile_thread_slot"][0]

    def scribble(self, random, begin, size):
        """Random bytes over a stretch of the memory."""
        self.memory[begin:begin + size] = random.randbytes(size)

    def heartbeat(self):
        return struct.unpack_from("<Q", self.plan, offset("optile_plan_region.heartbeat"))[0]

    def wait_for_drains(self, count):
        for _ in range(count):
            seen = self.heartbeat()
            harness.wait_until(lambda seen=seen: self.heartbeat() != seen, "the daemon to read")

    def close(self):
        self.peer.close()
        self.memory.close()
        self.plan.close()
