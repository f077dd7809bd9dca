"""Says when it is ready, then waits for a signal or the end of its input.

SIGTERM and SIGINT take it down as they would any program; with --handle it catches both, says which
one came and exits with 7.
"""
import signal
import sys


def leave(number, _frame):
    print("caught", signal.Signals(number).name, flush=True)
    sys.exit(7)


for each in (signal.SIGTERM, signal.SIGINT):
    signal.signal(each, leave if "--handle" in sys.argv else signal.SIG_DFL)
print("ready", flush=True)
sys.stdin.read()
print("end of input", flush=True)
