# SPDX-License-Identifier: Apache-2.0
"""The stages of bench/gpu.sh so far, kept on disk after each of them: a call that is cut short has measured what it has,
and the next one continues behind it."""

import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "cpu"))
import amounts  # noqa: E402
from result_file import ResultFile  # noqa: E402

LAST = 2000  # characters that are kept of a failed stage's output
DONE = ("passed", "left out")


def attempt(command, seconds, environment=None, folder=None):
    """How a command ended, in which time, and what it wrote."""
    start = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds, cwd=folder, env={**os.environ, **(environment or {})})
        outcome, output = ("passed" if done.returncode == 0 else f"failed with {done.returncode}"), done.stdout
    except subprocess.TimeoutExpired as late:
        outcome, output = f"ran longer than {seconds:.0f} s", (late.stdout or b"").decode(errors="replace")
    except OSError as error:
        outcome, output = f"did not start: {error}", ""
    return {"outcome": outcome, "seconds": round(time.monotonic() - start, 1), "output": output}


def machine():
    ask = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit", "--format=csv,noheader"]
    found = attempt(ask, 20)
    return {"processor": platform.processor() or platform.machine(), "processors": os.cpu_count(),
            "devices": found["output"].strip().splitlines() if found["outcome"] == "passed" else []}


def without_folders(words):
    """A command as it is kept: files of this project by their path in it, others by their name, whatever their folder is."""
    inside = (str(word).replace(f"{ROOT}/", "") for word in words)
    return " ".join(word.rpartition("/")[2] if word.startswith("/") else word for word in inside)


class Record:
    def __init__(self, options):
        self.options = options
        self.skipped = options.skip.split(",")
        self.amounts = amounts.DRY if options.dry_run else amounts.FULL
        self.end = time.monotonic() + options.budget
        self.file = ResultFile(pathlib.Path(options.out).stem, options.out, options.raw)
        self.result = {"name": pathlib.Path(options.out).stem, "date": datetime.datetime.now().isoformat(timespec="seconds"),
                       "command": without_folders(["bench/gpu.sh", *sys.argv[1:]]), "commit": options.commit, "machine": machine(),
                       "stages": [], "gpu": {"steps": [], "peers": []}}
        if options.resume:
            if not pathlib.Path(self.file.raw_path).exists():
                sys.exit(f"there is no {self.file.raw_path} to continue: measure once without --resume")
            self.go_on_behind(json.loads(pathlib.Path(self.file.raw_path).read_text(encoding="utf-8")))

    def go_on_behind(self, before):
        """What passed at the same commit on the same devices is not done again."""
        for what in ("commit", "machine"):
            if before[what] != self.result[what]:
                sys.exit(f"{self.file.raw_path} is of another {what}, {before[what]} and not {self.result[what]}: "
                         "measure again without --resume")
        before["stages"] = [stage for stage in before["stages"] if stage["outcome"] == "passed"]
        self.skipped += [stage["stage"] for stage in before["stages"]]
        self.result = before

    def save(self):
        self.file.keep(self.result)

    def leaves_out(self, name):
        return name in self.skipped

    def left(self, most):
        """Seconds that a stage may still take, of which it wants so many at most; 0 if there are none."""
        return max(0, min(most, self.end - time.monotonic()))

    def run(self, name, seconds, command, folder=None, **environment):
        """Its output, or nothing if it failed, was left out or had no time; either is on record."""
        stage = {"stage": name, "command": without_folders(command)}
        left = self.left(seconds * self.amounts.patience)
        if self.leaves_out(name):
            stage["outcome"] = "left out"
        elif left < 1:
            stage["outcome"] = "no time left"
        else:
            stage.update(attempt(command, left, environment, folder))
        output = stage.pop("output", "")
        self.add(stage, output)
        return output if stage["outcome"] == "passed" else None

    def run_pytorch(self, job, seconds, command):
        """A peer of bench/peers, whose last line is its figures."""
        stage, python = f"PyTorch {job}", self.options.python
        if attempt([python, "-c", "import torch"], 60)["outcome"] != "passed":
            self.add({"stage": stage, "outcome": "left out", "why": f"{python} cannot import torch"})
            return
        output = self.run(stage, seconds, [python, *command])
        if output is not None:
            self.keep_peer(job, json.loads(output.strip().splitlines()[-1]))

    def run_bench(self, name, seconds, folder, command, job, variant=None):
        """A command of weft that begins with `weft bench`, with fields of its job, and the figures that it writes."""
        figures = pathlib.Path(folder, name.replace(" ", "-") + ".json")
        command = [*command, "--json", figures, *(word for field in job for word in ("--set", field))]
        if self.run(name, seconds, command) is None:
            return
        measured = json.loads(figures.read_text(encoding="utf-8"))
        measured["runs"] = measured.pop("steps", [])
        if variant is not None:
            measured["variant"] = variant
        self.result["gpu"]["steps"].append(measured)
        self.save()

    def keep_peer(self, job, measured):
        self.result["gpu"]["peers"].append({"job": job, **measured})
        self.save()

    def add(self, stage, output=""):
        """A stage's name, outcome, seconds and more; the end of its output is kept where it did not pass, all of it in
        --log."""
        if any(known["stage"] == stage["stage"] for known in self.result["stages"]):
            return  # it passed in an earlier call
        self.result["stages"].append(stage)
        print(f"{stage['stage']}: {stage['outcome']}" + (f", {stage['seconds']} s" if "seconds" in stage else ""), flush=True)
        if stage["outcome"] not in DONE:
            stage["last"] = output[-LAST:]
        if self.options.log:
            with open(self.options.log, "a", encoding="utf-8") as log:
                log.write(f"==== {stage['stage']}: {stage['outcome']}\n{output}\n")
        self.save()

    def failed(self):
        return [stage["stage"] for stage in self.result["stages"] if stage["outcome"] not in DONE]
