# SPDX-License-Identifier: Apache-2.0
"""Whether a device gives the same bits again: in a second run, with CUDA graphs, killed or stopped half-way and resumed,
and twice on two ranks that share the device. Every step's loss and gradient norm are compared."""

import pathlib
import shutil
import signal
import subprocess
import time

from smoke import prepare, settings, train_events

JOB = "configs/sample/gpt.yaml"
STEPS, HALF = 300, 150
SECONDS = 60


def command(weft, directory, fields, ranks):
    always = ["device=cuda", "train.precision=bf16", f"train.max_steps={STEPS}", "schedule.warmup_steps=10",
              "log.every_steps=1", "evaluation.every_steps=100", "checkpoint.every_steps=100",
              "log.generations.every_steps=0", f"run_dir={directory}"]
    launcher = ["mpirun", "-np", str(ranks), "--bind-to", "none"] if ranks > 1 else []
    return [str(word) for word in [*launcher, weft, "train", JOB, *settings([*always, *fields])]]


def run(words, folder, directory, end=None):
    """Starts a run, and after half of its steps sends it the signal `end`; its exit status."""
    deadline = time.monotonic() + SECONDS
    with open(f"{directory}.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        try:
            while end and process.poll() is None and time.monotonic() < deadline:
                if len(train_events(directory)) > HALF:
                    process.send_signal(end)
                    break
                time.sleep(0.02)
            return process.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def compare_bits(record, weft, folder):
    folder = pathlib.Path(folder, "same-bits")
    folder.mkdir()
    if not prepare(record, weft, folder, JOB):
        return

    def trained(name, *fields, ranks=1, end=None):
        directory = folder / name
        words = command(weft, directory, fields, ranks)
        statuses = [run(words, folder, directory, end)] if end else []
        statuses.append(run(words, folder, directory))
        return statuses, train_events(directory)

    def same(what, expected, *run_of, **how):
        started = time.monotonic()
        statuses, losses = trained(*run_of, **how)
        ended = statuses[-1] == 0 and len(losses) == STEPS
        outcome = "passed" if ended and losses == expected else "failed: other bits" if ended else "failed: did not train"
        record.add({"stage": f"same bits: {what}", "outcome": outcome, "seconds": round(time.monotonic() - started, 1),
                    "exits": ", ".join(map(str, statuses))}, "\n".join(path.read_text(errors="replace") for path in folder.glob("*.log")))

    _, first = trained("first")
    same("a second run", first, "second")
    same("graphs", first, "graphs", "train.graphs=true")
    same("killed and resumed", first, "killed", end=signal.SIGKILL)
    same("stopped and resumed", first, "stopped", end=signal.SIGTERM)
    if shutil.which("mpirun"):
        shared = "parallel.share_device=true"
        _, two = trained("two", shared, ranks=2)
        same("two ranks again", two, "two-again", shared, ranks=2)
