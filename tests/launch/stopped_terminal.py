# SPDX-License-Identifier: Apache-2.0
"""Becomes a command whose standard error is a terminal that takes no text, as after Ctrl-S.

usage: stopped_terminal.py COMMAND...
"""
import os
import pty
import sys
import termios

keyboard, terminal = pty.openpty()
termios.tcflow(terminal, termios.TCOOFF)
os.set_inheritable(keyboard, True)  # the terminal is gone when nobody has its other end
os.dup2(terminal, sys.stderr.fileno())
os.execvp(sys.argv[1], sys.argv[1:])
