# SPDX-License-Identifier: Apache-2.0
"""Types lines to a command on a pseudo-terminal, each when the command has asked for it, and then Ctrl-D.

usage: typed_lines.py COMMAND... <LINES

What the command prints is printed, and its exit status returned.
"""
import os
import pty
import subprocess
import sys


def wait_for_question(errors):
    """Reads standard error up to "> " at the beginning of a line."""
    seen = b""
    while not (seen == b"> " or seen.endswith(b"\n> ")):
        byte = errors.read(1)
        if not byte:
            raise SystemExit(f"typed_lines.py: the command ended without asking; it said: {seen.decode()}")
        seen += byte
        sys.stderr.buffer.write(byte)
    sys.stderr.flush()


def main():
    lines = sys.stdin.buffer.read().splitlines(keepends=True)
    keyboard, terminal = pty.openpty()
    command = subprocess.Popen(sys.argv[1:], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(terminal)
    for typed in [*lines, b"\x04"]:
        wait_for_question(command.stderr)
        os.write(keyboard, typed)
    out, rest = command.communicate()
    sys.stderr.buffer.write(rest)
    sys.stdout.buffer.write(out)
    return command.returncode


sys.exit(main())
