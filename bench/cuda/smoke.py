# SPDX-License-Identifier: Apache-2.0
"""Short runs of the three kinds of job on the device, beside the same runs on the CPU and beside themselves.

Masks of dropout and the order of data are functions of the seed, so the losses of both kinds of device may differ by
rounding alone; a second run on the device, with the algorithms that the first measured, must not differ at all."""

import gzip
import json
import pathlib
import time

from record import ROOT, attempt

# Each with fields of its own. Finetuning begins from what pretraining left on the CPU.
JOBS = {"configs/sample/gpt.yaml": [], "configs/sample/translation.yaml": [],
        "configs/finetune/sample-translate.yaml": ["train.init_from=runs/gpt-0"]}
# Of a loss, relative. In fp32 sums of a few thousand terms differ in their order, and 40 updates add that up.
ALLOWED = {"fp32": 2e-3, "bf16": 3e-2}
RUNS = (("cpu", "fp32"), ("cuda", "fp32"), ("cuda", "bf16"), ("cuda", "bf16"))


def prepare(record, weft, folder, job, fields=()):
    """Jobs name their text relative to the folder that they run in."""
    configs = folder / "configs"
    if not configs.exists():
        configs.symlink_to(ROOT / "configs")
    prepared = attempt([weft, "prepare", job, *settings(fields)], 60, folder=folder)
    if prepared["outcome"] == "passed":
        return True
    record.add({"stage": f"{pathlib.Path(job).stem}: prepare", **{k: prepared[k] for k in ("outcome", "seconds")}},
               prepared["output"])
    return False


def write_prompts(folder):
    """The pairs of the sample corpus as prompts and answers, as docs/finetuning.md makes them."""
    corpora = folder / "corpora"
    corpora.mkdir()
    with gzip.open(ROOT / "configs/sample/train.tsv.gz", "rt", encoding="utf-8") as pairs, \
            open(corpora / "sample-translate.jsonl", "w", encoding="utf-8") as out:
        for source, target in (line.rstrip("\n").split("\t") for line in pairs):
            out.write(json.dumps({"prompt": f"{source} In Norwegian:", "answer": f" {target}"}) + "\n")


def settings(fields):
    return [word for field in fields for word in ("--set", field)]


def train_events(directory):
    """Step -> loss and norm of the gradient; of a step that was trained twice, the later ones."""
    file = pathlib.Path(directory, "metrics.jsonl")
    lines = file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []  # the last may be half written
    events = [json.loads(line) for line in lines if line]
    return {event["step"]: (event["loss"], event["grad_norm"]) for event in events if event["event"] == "train"}


def train(record, weft, folder, job, device, precision, directory, algorithms=None):
    """How a run ended, and the loss and the norm of each of its steps."""
    steps = record.amounts.smoke_steps
    shared = [f"train.algorithms_file={algorithms}"] if algorithms else []
    fields = [*JOBS[job], *shared, f"device={device}", f"train.precision={precision}", f"train.max_steps={steps}",
              f"schedule.warmup_steps={steps // 4}", "log.every_steps=1", f"evaluation.every_steps={steps}", f"checkpoint.every_steps={steps}",
              f"run_dir={directory}", *record.amounts.jobs[job]]
    ended = attempt([weft, "train", job, *settings(fields)], record.left(60), folder=folder)
    return ended, list(train_events(directory).values())


def compared(found):
    """The outcome of the losses of RUNS, and their greatest difference from the CPU's in each precision."""
    expected, first, second = found[0], found[2], found[3]
    differences = {precision: max(abs(a[0] - b[0]) / a[0] for a, b in zip(expected, losses))
                   for (_, precision), losses in zip(RUNS[1:], found[1:])}
    for precision, difference in differences.items():
        if not difference <= ALLOWED[precision]:
            return f"failed: losses in {precision} differ from the CPU's", differences
    if first != second:
        at = next(i for i, (a, b) in enumerate(zip(first, second)) if a != b)
        return f"failed: the second run differs from the first at step {at + 1}", differences
    return "passed", differences


def try_job(record, weft, folder, job):
    """One stage: a job's runs, as far as they succeed, and their losses."""
    name = pathlib.Path(job).stem
    if not prepare(record, weft, folder, job, [*JOBS[job], *record.amounts.jobs[job]]):
        return
    directories = [folder / "runs" / f"{name}-{i}" for i in range(len(RUNS))]
    stage, found = {"stage": f"{name}: losses", "seconds": 0.0}, []
    for run, directory in zip(RUNS, directories):
        again = directories[-2] / "algorithms.json" if directory == directories[-1] else None
        ended, losses = train(record, weft, folder, job, *run, directory, again)
        stage["seconds"] = round(stage["seconds"] + ended["seconds"], 1)
        if ended["outcome"] != "passed" or len(losses) != record.amounts.smoke_steps:
            return record.add({**stage, "outcome": f"failed: on {' in '.join(run)}: {ended['outcome']}"}, ended["output"])
        found.append(losses)
    stage["outcome"], stage["greatest_difference"] = compared(found)
    record.add(stage, json.dumps(found))


def smoke(record, weft, folder):
    if all(record.leaves_out(f"{pathlib.Path(job).stem}: losses") for job in JOBS):
        return
    folder = pathlib.Path(folder, "smoke")
    folder.mkdir()
    write_prompts(folder)
    for job in JOBS:
        try_job(record, weft, folder, job)
