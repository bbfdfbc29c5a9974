#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft watch in a terminal: it shows what a run's log says as it grows, leaves at Ctrl-C, and gives the screen back.

usage: watch_command_test.py WEFT SCRATCH"""

import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time

LEAVES = "\x1b[?25h\x1b[?1049l"


def line(event, step, **fields):
    return json.dumps({"run": "abc", "attempt": 0, "event": event, "step": step, "time": "2026-03-01T00:00:00Z", **fields}) + "\n"


class Terminal:
    """A program in a terminal of 24 lines of 70 characters."""

    def __init__(self, command):
        self.main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**os.environ, "LC_ALL": "C.UTF-8"})
        os.close(other)
        self.text = ""

    def read_until(self, words, seconds=60):
        """Reads on until the words have come, from what came after the last call."""
        end = time.monotonic() + seconds
        while words not in self.text:
            ready, _, _ = select.select([self.main], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.main, 1 << 16) if ready else b""
            except OSError:  # the program has ended
                more = b""
            if not more:
                raise SystemExit(f"'{words}' did not come: {self.text!r}")
            self.text += more.decode("utf-8", "replace")
        before, _, self.text = self.text.partition(words)
        return before


def follow(weft, run):
    terminal = Terminal([weft, "watch", str(run), "--every", "1"])
    terminal.read_until("\x1b[?1049h")
    terminal.read_until("step 1 of 10")
    terminal.read_until("Ctrl-C leaves")
    with open(run / "metrics.jsonl", "a", encoding="utf-8") as log:
        log.write(line("train", 2, loss=2.0))
    terminal.read_until("step 2 of 10")
    os.write(terminal.main, b"\x03")
    terminal.read_until(LEAVES)
    status = terminal.process.wait(timeout=60)
    assert status == 0, f"exit status {status}"


def lose_the_run(weft, run):
    """A run that goes away ends it with an error, on the screen that was there before."""
    terminal = Terminal([weft, "watch", str(run), "--every", "1"])
    terminal.read_until("Ctrl-C leaves")
    shutil.rmtree(run)
    terminal.read_until(LEAVES)
    terminal.read_until("no such directory")
    assert terminal.process.wait(timeout=60) == 3, terminal.process.returncode


def main(weft, scratch):
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    run = scratch / "run"
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_text(line("start", 0, max_steps=10) + line("train", 1, loss=3.0), encoding="utf-8")
    once = subprocess.run([weft, "watch", run], capture_output=True, text=True, check=True).stdout
    assert "step 1 of 10" in once and "\x1b" not in once, once
    follow(weft, run)
    lose_the_run(weft, run)


main(*sys.argv[1:])
