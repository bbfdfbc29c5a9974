# SPDX-License-Identifier: Apache-2.0
"""Files of results. Git keeps a row for each case, in which every series of measurements is its median, minimum, maximum
and count. What each run measured lies in a file of its own under build/, which git ignores."""

import json
import os

import figures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def add_options(parser, default):
    """default: what the name is made of where none is given."""
    parser.add_argument("--name", help=f"of the result, bench/results/NAME.json; default: {default}")
    parser.add_argument("--out", help="a path for the result instead")
    parser.add_argument("--raw", help="a path for what each run measured; default: build/raw/NAME.json")


def is_table(value):
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def laid_out(value, depth=0):
    """JSON whose differences can be read: a line for each member of the result, and for each row of a table in it."""
    pad = " " * depth
    if isinstance(value, dict) and (depth == 0 or any(is_table(member) for member in value.values())):
        lines = [f"{pad} {json.dumps(key)}: {laid_out(member, depth + 1)}" for key, member in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{pad}}}"
    if is_table(value):
        return "[\n" + ",\n".join(f"{pad} {json.dumps(row)}" for row in value) + f"\n{pad}]"
    return json.dumps(value)


def write(path, result):
    replace(path, laid_out(result))


def replace(path, text):
    """The file is there whole or not at all; its folder is made."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".tmp", "w", encoding="utf-8") as out:
        out.write(text + "\n")
    os.replace(path + ".tmp", path)


class ResultFile:
    """Where a result goes, and where its raw figures."""

    def __init__(self, name, path=None, raw_path=None):
        self.path = path or os.path.join(ROOT, "bench", "results", name + ".json")
        self.raw_path = raw_path or os.path.join(ROOT, "build", "raw", os.path.basename(self.path))

    def keep(self, result):
        replace(self.raw_path, json.dumps(result, indent=1))
        write(self.path, figures.condensed(result))

    def __str__(self):
        return f"{self.path}\n{self.raw_path} (of each run; not for git)"
