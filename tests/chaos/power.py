# SPDX-License-Identifier: Apache-2.0
"""The power fails while a run trains or prepares, or after other commands, with any part of what was not synced: what was
said to be saved is there."""

import json
import shutil
import subprocess

import disk
from runs import Lost


def recorded(runs, name, command):
    """Calls `command` with the words that record it, and returns what it changed below the folder of this name."""
    folder, record = runs.scratch / name, runs.scratch / f"{name}.record"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    record.unlink(missing_ok=True)
    command(("env", f"LD_PRELOAD={runs.recorder}", f"WEFT_RECORD={record}", f"WEFT_RECORD_BELOW={folder}"))
    changes = disk.read_record(record)
    if disk.content_of(left_by(runs, changes, "everything", None)) != disk.content_of(folder):
        raise Lost(f"the record of {name} is not all that was changed")
    return changes


def left_by(runs, changes, survives, random_):
    """Makes the folder `lost` as a disk has it after these changes, and returns it."""
    after = disk.Disk()
    for change in changes:
        after.apply(change)
    shutil.rmtree(runs.scratch / "lost", ignore_errors=True)
    disk.write_out(after.root, runs.scratch / "lost", disk.SURVIVES[survives], random_)
    return runs.scratch / "lost"


def moments_of(changes, random_, count, first):
    """Numbers of changes after which the power fails, and what survives: nothing after the `first`, then by chance."""
    turns = [i + 1 for i, change in enumerate(changes) if change.call != "write"]
    yield first, "nothing"
    for number in range(count - 1):
        yield random_.choice(turns), ("chance", "names", "nothing")[number % 3]


def while_training(runs, random_, found, count):
    def train(before):
        code, log = runs.train("power/run", before=before)
        (runs.scratch / "power" / "run.log").unlink()
        if code != 0 or runs.result("power/run") != runs.expected:
            raise Lost(f"the recorded run ended with {code}:\n{log}")

    changes = recorded(runs, "power", train)
    saved = {i + 1: int(step) for i, change in enumerate(changes) for step in said_saved(change)}
    for moment, survives in moments_of(changes, random_, count, min(saved)):
        left_by(runs, changes[:moment], survives, random_)
        promised = max((step for said, step in saved.items() if said <= moment), default=0)
        try:
            runs.goes_on("lost/run", lines_may_lack=True, begins_at=promised)
        except Lost as lost:
            raise Lost(f"{told(changes, moment, survives)}: {lost}") from lost
        found[f"power-{survives}"] += 1
        print(f"{told(changes, moment, survives)}: begun at step {promised} or later", flush=True)


def while_preparing(runs, random_, found, count):
    """The power fails while a dataset is prepared: it is whole, or made by the same command, with the same bytes."""
    def prepare(folder, before=()):
        words = [*before, runs.weft, "prepare", "job.yaml", "--set", f"data.directory={folder}/made"]
        made = subprocess.run(words, cwd=runs.scratch, capture_output=True, text=True)
        if made.returncode != 0:
            raise Lost(f"weft prepare ended with {made.returncode}:\n{made.stderr}")

    def dataset(folder):  # what is in the folder of unfinished files may be left, for the next preparation
        return {path: content for path, content in disk.content_of(folder).items() if ".weft-preparation" not in path}

    changes = recorded(runs, "prepared", lambda before: prepare("prepared", before))
    whole = dataset(runs.scratch / "prepared")
    for moment, survives in moments_of(changes, random_, count, len(changes)):
        left = left_by(runs, changes[:moment], survives, random_)
        if moment < len(changes):
            prepare("lost")
        if dataset(left) != whole:
            raise Lost(f"{told(changes, moment, survives)}: another dataset is left than was prepared")
        found[f"power-prepare-{survives}"] += 1
        print(f"{told(changes, moment, survives)} of a preparation: the same dataset", flush=True)


def after_commands(runs, found):
    """The power fails once a command has ended that makes a folder, and only what it synced survives: the folder is whole."""
    checkpoints = sorted((runs.scratch / "half" / "checkpoints").glob("step-????????"))
    for name, words in {"exported": ["export-hf", checkpoints[-1], "exported/made"],
                        "averaged": ["average", *checkpoints, "--out", "averaged/made"]}.items():
        def make(before, words=words):
            made = subprocess.run([*before, runs.weft, *words], cwd=runs.scratch, capture_output=True, text=True)
            if made.returncode != 0:
                raise Lost(f"weft {words[0]} ended with {made.returncode}:\n{made.stderr}")

        changes = recorded(runs, name, make)
        left = left_by(runs, changes, "nothing", None)
        if disk.content_of(left) != disk.content_of(runs.scratch / name):
            raise Lost(f"the power is lost after weft {words[0]}, and with it what it has made")
        found[f"power-{words[0]}"] += 1
        print(f"power lost after weft {words[0]}: what it made is there", flush=True)


def told(changes, moment, survives):
    last = changes[moment - 1]
    return f"power lost after change {moment} of {len(changes)} ({last.call} {last.path}), {survives} survived unsynced"


def said_saved(change):
    """Returns the steps of whose checkpoints a write to the metrics says that they are saved."""
    if change.call != "write" or not change.path.endswith("metrics.jsonl"):
        return []
    lines = [json.loads(line) for line in change.bytes.split(b"\n") if line.startswith(b"{")]
    return [line["step"] for line in lines if line["event"] == "save"]
