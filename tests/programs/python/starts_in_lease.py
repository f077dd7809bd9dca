"""Multiplies, so that it is attached. Then, at each line that it is told, it starts a program in
every way that Python has and prints where each of these may run. A number binds this process first.
"""
import os
import subprocess
import sys

import numpy

ASK = ["/bin/grep", "Cpus_allowed_list", "/proc/self/status"]


def by_spawn():
    read, write = os.pipe()
    child = os.posix_spawn(ASK[0], ASK, os.environ,
                           file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)])
    return output_of(child, read, write)


def by_fork(executes):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        if executes:
            os.execv(ASK[0], ASK)
        with open("/proc/self/status") as status:
            os.write(1, next(line for line in status if line.startswith(ASK[1])).encode())
        os._exit(0)
    return output_of(child, read, write)


def output_of(child, read, write):
    os.close(write)
    os.waitpid(child, 0)
    with open(read) as output:
        return output.read()


def by_system():
    read, write = os.pipe()
    os.set_inheritable(write, True)
    os.system(f"{' '.join(ASK)} >&{write}")
    os.close(write)
    with open(read) as output:
        return output.read()


def by_subprocess(**options):
    return subprocess.run(ASK, capture_output=True, text=True, **options).stdout


WAYS = {
    "subprocess": by_subprocess,
    "subprocess spawn": lambda: by_subprocess(close_fds=False),
    "subprocess fork": lambda: by_subprocess(preexec_fn=lambda: None),
    "posix_spawn": by_spawn,
    "fork and exec": lambda: by_fork(True),
    "system": by_system,
    "fork": lambda: by_fork(False),
}


def main():
    numbers = numpy.ones((400, 400), dtype=numpy.float32)
    print("products", (numbers @ numbers).sum() == 400.0 ** 3, flush=True)
    for line in sys.stdin:
        if line.strip().isdigit():
            os.sched_setaffinity(0, {int(line)})
        for name, start in WAYS.items():
            print(f"{name}:", start().split()[1], flush=True)
        print("done", flush=True)


if __name__ == "__main__":
    main()
