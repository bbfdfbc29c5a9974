# SPDX-License-Identifier: Apache-2.0
"""What comparisons of weft's models with those of other programs have in common."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[2]


class Bench:
    """Runs the programs of a build folder, and holds figures to their bounds. `scratch` is removed at the end."""

    def __init__(self, build, data=None):
        self.build, self.data = pathlib.Path(build).resolve(), data
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="against-"))
        self.folder = None  # in which programs run; None: the current one
        self.failed, self.report = False, {}

    def run(self, program, *words, text=None):
        done = subprocess.run([self.build / program, *map(str, words)], capture_output=True, cwd=self.folder,
                              input=text.encode() if text else b"")
        if done.returncode != 0:
            sys.exit(f"{program} {' '.join(map(str, words))}: {done.stderr.decode()}")
        return done.stdout

    def weft(self, *words, text=None):
        return self.run("weft", *words, text=text).decode()

    def says(self, checkpoint, what, text):
        return self.run("tests/exchange/model_says", checkpoint, what, text=text)

    def ids(self, checkpoint, texts, what="ids"):
        lines = self.says(checkpoint, what, "".join(json.dumps(text) + "\n" for text in texts)).decode().splitlines()
        return [[int(i) for i in line.split()] for line in lines]

    def hold(self, case, what, value, bound):
        good = value <= bound  # not-a-number is not
        self.failed |= not good
        self.report.setdefault(case, {})[what] = value
        print(f"{case:38} {what:44} {value:<12.6g} (at most {bound:g}){'' if good else '   FAILED'}", flush=True)

    def clear(self):
        shutil.rmtree(self.scratch)
        self.scratch.mkdir()

    def finish(self, path, modules):
        """Writes the figures and the versions of modules, if a path is given; ends with 1 if a figure is beyond its bound."""
        if path:
            found = {"versions": {m.__name__: m.__version__ for m in modules}, "figures": self.report}
            pathlib.Path(path).write_text(json.dumps(found, indent=1) + "\n")
        sys.exit(1 if self.failed else 0)
