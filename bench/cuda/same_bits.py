# SPDX-License-Identifier: Apache-2.0
"""Whether a device gives the same bits again: in a second run, without CUDA graphs, killed or stopped half-way and resumed,
and twice on two ranks that share the device. Every step's loss and gradient norm are compared."""

import pathlib
import shutil
import signal
import subprocess
import time

from smoke import prepare, settings, train_events

JOB = "configs/sample/gpt.yaml"
SECONDS = 60


def command(amounts, weft, directory, fields, ranks):
    always = ["device=cuda", "train.precision=bf16", f"train.max_steps={amounts.bits_steps}", "schedule.warmup_steps=10",
              "log.every_steps=1", f"evaluation.every_steps={amounts.bits_steps // 3}", f"checkpoint.every_steps={amounts.bits_steps // 3}",
              "log.generations.every_steps=0", f"run_dir={directory}", *amounts.jobs[JOB]]
    launcher = ["mpirun", "-np", str(ranks), "--bind-to", "none"] if ranks > 1 else []
    return [str(word) for word in [*launcher, weft, "train", JOB, *settings([*always, *fields])]]


def run(words, folder, directory, half, end=None):
    """Starts a run, and after half of its steps sends it the signal `end`; its exit status."""
    deadline = time.monotonic() + SECONDS
    with open(f"{directory}.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        try:
            while end and process.poll() is None and time.monotonic() < deadline:
                if len(train_events(directory)) > half:
                    process.send_signal(end)
                    break
                time.sleep(0.02)
            return process.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


# What is compared: the run that gives the losses, and the run that must give them again. A run is its fields, the number
# of its ranks, and a signal that ends its first start.
ONE, TWO = ((), 1, None), (("parallel.share_device=true",), 2, None)
PAIRS = {"a second run": (ONE, ONE), "without graphs": (ONE, (("train.graphs=false",), 1, None)),
         "killed and resumed": (ONE, ((), 1, signal.SIGKILL)), "stopped and resumed": (ONE, ((), 1, signal.SIGTERM)),
         "two ranks again": (TWO, TWO)}


def compare_bits(record, weft, folder):
    wanted = {what: pair for what, pair in PAIRS.items() if not record.leaves_out(f"same bits: {what}")}
    if not shutil.which("mpirun"):
        wanted.pop("two ranks again", None)
    folder = pathlib.Path(folder, "same-bits")
    folder.mkdir()
    if not wanted or not prepare(record, weft, folder, JOB, record.amounts.jobs[JOB]):
        return
    steps = record.amounts.bits_steps
    references = {}

    def trained(name, fields, ranks, end):
        directory = folder / name
        words = command(record.amounts, weft, directory, fields, ranks)
        statuses = [run(words, folder, directory, steps // 2, end)] if end else []
        statuses.append(run(words, folder, directory, steps // 2))
        return statuses, train_events(directory)

    for what, (reference, other) in wanted.items():
        if reference not in references:
            references[reference] = trained(f"reference-of-{what}".replace(" ", "-"), *reference)[1]
        started = time.monotonic()
        statuses, losses = trained(what.replace(" ", "-"), *other)
        outcome = "passed" if losses == references[reference] else "failed: other bits"
        if statuses[-1] != 0 or len(losses) != steps:
            outcome = "failed: did not train"
        record.add({"stage": f"same bits: {what}", "outcome": outcome, "seconds": round(time.monotonic() - started, 1),
                    "exits": ", ".join(map(str, statuses))},
                   "\n".join(path.read_text(errors="replace") for path in folder.glob("*.log")))
