"""A program on a terminal of its own: what it writes is kept as the characters that a person would
see. Knows what ncurses writes under TERM=xterm-256color and vt100, and no more; anything else fails
the test."""
import fcntl
import os
import pty
import re
import select
import struct
import termios

from support import harness

TERM = "xterm-256color"
_SEQUENCE = re.compile(rb"\x1b(?:\[(?P<words>[?>0-9;]*)(?P<verb>[@-~])"
                       rb"|[()](?P<set>.)|(?P<one>[=>78M]))")


class Screen:
    """Characters in rows. Colours are not kept, but counted."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.row = self.column = 0
        self.cells = []
        self.region = (0, rows)
        self.last = " "
        self.colours = 0
        self.alternate = False
        self.cursor_shown = True
        self.rest = b""
        self.resize(rows, columns)

    def resize(self, rows, columns):
        old = self.cells
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        for row, line in zip(self.cells, old):
            row[:len(line)] = line[:columns]
        self.region = (0, rows)
        self.row, self.column = min(self.row, rows - 1), min(self.column, columns - 1)

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def feed(self, data):
        data = self.rest + data
        self.rest = b""
        at = 0
        while at < len(data):
            if data[at] == 0x1b:
                match = _SEQUENCE.match(data, at)
                if match is None and len(data) - at < 32:
                    self.rest = data[at:]
                    return
                assert match, data[at:at + 20]
                if match["verb"]:
                    self.obey(match["verb"].decode(), match["words"].decode())
                elif match["one"] == b"M" and self.row == self.region[0]:
                    self.scroll("T", 1)
                elif match["one"] == b"M":
                    self.row -= 1
                at = match.end()
            elif data[at] < 0x20:
                self.control(data[at])
                at += 1
            else:
                size = 1 if data[at] < 0x80 else (2 if data[at] < 0xe0 else
                                                  3 if data[at] < 0xf0 else 4)
                if at + size > len(data):
                    self.rest = data[at:]
                    return
                self.put(data[at:at + size].decode())
                at += size

    def control(self, code):
        if code == 0x0d:
            self.column = 0
        elif code == 0x0a and self.row == self.region[1] - 1:
            self.scroll("S", 1)
        elif code == 0x0a:
            self.row = min(self.row + 1, self.rows - 1)
        elif code == 0x08:
            self.column = max(0, self.column - 1)
        elif code == 0x09:
            self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)
        elif code not in (0x07, 0x0e, 0x0f):
            raise AssertionError(f"control character {code:#x} on the terminal")

    def put(self, character):
        if self.column >= self.columns:  # as a real one: it wraps when the next one comes
            self.column = 0
            self.row = min(self.row + 1, self.rows - 1)
        self.cells[self.row][self.column] = self.last = character
        self.column += 1

    def obey(self, verb, words):
        if words.startswith((">", "?")):
            for word in words[1:].split(";"):
                if word == "1049":
                    self.alternate = verb == "h"
                if word == "25":
                    self.cursor_shown = verb == "h"
            return
        numbers = [int(word) if word else 0 for word in words.split(";")]
        count = max(1, numbers[0])
        if verb == "H":
            second = numbers[1] if len(numbers) > 1 else 1
            self.row, self.column = count - 1, max(1, second) - 1
        elif verb in "ABCDGd":
            self.move(verb, count)
        elif verb in "JKXPb@":
            self.change(verb, numbers[0])
        elif verb in "LMST":
            self.scroll(verb, count)
        elif verb == "r":
            bottom = numbers[1] if len(numbers) > 1 and numbers[1] else self.rows
            self.region = (count - 1, min(bottom, self.rows))
            self.row = self.column = 0
        elif verb == "m":
            self.colours += sum(30 <= number <= 47 or 90 <= number <= 97 for number in numbers)
        elif verb not in "lhtn":
            raise AssertionError(f"unknown sequence {words}{verb}")
        self.row = max(0, min(self.row, self.rows - 1))

    def move(self, verb, count):
        if verb == "G":
            self.column = count - 1
        elif verb == "d":
            self.row = count - 1
        else:
            down, right = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}[verb]
            self.row += down * count
            self.column = max(0, min(self.columns - 1, self.column + right * count))

    def scroll(self, verb, count):
        """Lines go up (M, S) or down (L, T) within the region; M and L from the cursor on."""
        top, bottom = self.region
        if verb in "LM":
            top = self.row
        for _ in range(min(count, bottom - top)):
            leaves, comes = (top, bottom - 1) if verb in "MS" else (bottom - 1, top)
            del self.cells[leaves]
            self.cells.insert(comes, [" "] * self.columns)

    def change(self, verb, number):
        line = self.cells[self.row]
        count = max(1, number)
        if verb == "J":
            if number in (2, 3):
                self.cells = [[" "] * self.columns for _ in range(self.rows)]
                return
            assert number == 0, number
            line[self.column:] = [" "] * (self.columns - self.column)
            for row in self.cells[self.row + 1:]:
                row[:] = [" "] * self.columns
        elif verb == "K":
            begin, end = {0: (self.column, self.columns), 1: (0, self.column + 1),
                          2: (0, self.columns)}[number]
            line[begin:end] = [" "] * (end - begin)
        elif verb == "X":
            end = min(self.columns, self.column + count)
            line[self.column:end] = [" "] * (end - self.column)
        elif verb == "P":
            line[self.column:] = (line[self.column + count:] + [" "] * count)[
                :self.columns - self.column]
        elif verb == "@":
            line[self.column:] = ([" "] * count + line[self.column:])[:self.columns - self.column]
        else:  # b: the last character again
            for _ in range(count):
                self.put(self.last)


class OnTerminal:
    """A program that runs on a terminal of `rows` times `columns`."""

    def __init__(self, space, command, rows=40, columns=150, env=None):
        self.screen = Screen(rows, columns)
        self.controller, self.terminal = pty.openpty()
        self.set_size(rows, columns)
        self.modes = termios.tcgetattr(self.terminal)
        environment = {"TERM": TERM, "LC_ALL": "C.UTF-8", **(env or {})}
        self.process = space.popen(
            command, environment, stdin=self.terminal, stdout=self.terminal, stderr=self.terminal,
            text=False, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def set_size(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self):
        while select.select([self.controller], [], [], 0)[0]:
            self.screen.feed(os.read(self.controller, 65536))

    def wait_for(self, *texts, gone=()):
        def there():
            self.read()
            seen = self.screen.text()
            return (all(text in seen for text in texts)
                    and not any(text in seen for text in gone))

        try:
            harness.wait_until(there, f"{texts} on the terminal")
        except AssertionError as error:
            raise AssertionError(f"{error}; exit {self.process.poll()}; it shows\n"
                                 + self.screen.text()) from None
        return self.screen.text()

    def press(self, keys):
        os.write(self.controller, keys.encode())

    def end(self):
        """Its exit code; what was written until then is read."""
        def ended():
            self.read()
            return self.process.poll() is not None

        harness.wait_until(ended, "the program on the terminal to end")
        self.read()
        return self.process.returncode

    def is_as_before(self):
        """The terminal's modes, screen and cursor are those from before the program."""
        return (termios.tcgetattr(self.terminal) == self.modes and not self.screen.alternate
                and self.screen.cursor_shown)

    def close(self):
        os.close(self.controller)
        os.close(self.terminal)
