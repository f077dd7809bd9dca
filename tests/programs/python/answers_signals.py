"""Says when it is ready, then waits for a signal or the end of its input.

SIGTERM and SIGINT take it down as they would any program; with --handle it catches both, says which
one came and exits with 7.
"""
import os
import select
import signal
import sys


def say(text):
    """Past the buffers of print(), which a handler must not enter twice."""
    os.write(1, f"{text}\n".encode())


def leave(number, _frame):
    say(f"caught {signal.Signals(number).name}")
    os._exit(7)


for each in (signal.SIGTERM, signal.SIGINT):
    signal.signal(each, leave if "--handle" in sys.argv else signal.SIG_DFL)
# Python runs handlers between two of its own instructions: a signal that comes just before a read
# begins would wait for that read's end. The pipe makes it an input like the other.
woken, wake = os.pipe()
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
say("ready")
while select.select([0, woken], [], [])[0] == [woken]:
    os.read(woken, 1)
say("end of input")
