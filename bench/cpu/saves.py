#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what saving costs a run on this machine: two ranks train GPT-2 124M and save it with its optimizer's state,
again and again. How long the update waited for the copy, how fast steps were beside the writing, how fast it was written
beside `dd conv=fsync` in the same place and the same run. The result goes to bench/results."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import figures  # noqa: E402
import result_file  # noqa: E402

VOCABULARY = 50257
OF_A_SAVE = ("stall_ms", "snapshot_ms", "write_ms", "commit_ms", "bytes_per_second")
MODELS = {"gpt2-124m": {"layers": 12, "width": 768, "heads": 12, "context": 1024, "vocabulary": VOCABULARY},
          "tiny": {"layers": 2, "width": 64, "heads": 2, "context": 64, "vocabulary": 512}}


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result_file.add_options(p, "processor, date, saves")
    p.add_argument("--weft", default=os.path.join(compare.ROOT, "build", "cpu", "weft"), help="the program (%(default)s)")
    p.add_argument("--model", choices=MODELS, default="gpt2-124m", help="(%(default)s)")
    p.add_argument("--precision", default="fp32", help="(%(default)s)")
    p.add_argument("--ranks", type=int, default=2, help="of one thread, replicas of the model (%(default)s)")
    p.add_argument("--every", type=int, default=6, help="steps from save to save (%(default)s)")
    p.add_argument("--repeats", type=int, default=5, help="saves that count (%(default)s)")
    p.add_argument("--directory", help="where to write: a folder on the disk that is measured; default: a temporary one")
    p.add_argument("--timeout", type=int, default=7200, help="seconds that the run may take (%(default)s)")
    options = p.parse_args(arguments)
    options.threads = options.ranks
    if options.every < 3 or options.repeats < 1:
        p.error("three steps from save to save and one save are the least")
    if not shutil.which("mpirun"):
        p.error("no mpirun here")
    return options


def write_job(options, folder):
    """A job whose vocabulary has the model's size without any file of a tokenizer: a text of so many words."""
    shape = MODELS[options.model]
    rows = options.ranks
    with open(os.path.join(folder, "text.txt"), "w", encoding="ascii") as text:
        for _ in range(1 + shape["context"] * rows * 3 // shape["vocabulary"]):
            text.write(" ".join(f"w{i}" for i in range(shape["vocabulary"])) + "\n")
    # The first save and the last do not count: the first finds cold files, and the run waits for the last.
    steps = options.every * (options.repeats + 2)
    with open(os.path.join(folder, "job.yaml"), "w", encoding="ascii") as job:
        job.write(f"""name: saves
data: {{directory: data, document_delimiter: file, train: {{files: [text.txt]}}}}
tokenizer: {{kind: words, min_frequency: 1, vocabulary: 0}}
model: {{layers: {shape['layers']}, width: {shape['width']}, heads: {shape['heads']}, max_length: {shape['context']}}}
batch: {{sequences: {rows}, context_length: {shape['context']}}}
schedule: {{kind: constant, learning_rate: 1e-4}}
train: {{max_steps: {steps}, precision: {options.precision}}}
checkpoint: {{every_steps: {options.every}, keep_last: 1}}
log: {{every_steps: 1}}
run_dir: run
""")
    return steps


def run(options, folder, *command):
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, cwd=folder, env=environment, timeout=options.timeout, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:6])} ...: exit {done.returncode}\n{done.stdout}{done.stderr}")


def dd_rate(folder, size):
    """Bytes a second of one writer that is done when all of it is on the disk."""
    blocks = max(1, size // (1 << 20))
    path = os.path.join(folder, "dd")
    began = time.monotonic()
    subprocess.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={blocks}", "conv=fsync"], check=True,
                   capture_output=True)
    seconds = time.monotonic() - began
    os.remove(path)
    return blocks * (1 << 20) / seconds


def read_saves(lines, every):
    """Of each save: its line, and milliseconds of the steps beside it and of those that had none. The line of a save comes
    before that of the step which learned of its commit."""
    steps, saves, begun = {}, [], set()
    for line in lines:
        if line["event"] == "train":
            steps[line["step"]] = line["step_ms"]
        elif line["event"] == "save":
            first = line["step"] + 1
            saves.append({"line": line, "beside": range(first, max(steps, default=0) + 2)})
            begun.update(saves[-1]["beside"])
    alone = [ms for step, ms in steps.items() if step not in begun and step > every]
    for save in saves:
        save["beside"] = [steps[s] for s in save["beside"] if s in steps]
    return saves, alone


def checkpoint_bytes(folder):
    checkpoints = os.path.join(folder, "run", "checkpoints")
    newest = os.path.join(checkpoints, max(os.listdir(checkpoints)))
    return sum(os.path.getsize(os.path.join(newest, name)) for name in os.listdir(newest))


def measure(options, folder):
    steps = write_job(options, folder)
    run(options, folder, options.weft, "prepare", "job.yaml")
    mpirun = ["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(options.ranks)]
    run(options, folder, *mpirun, options.weft, "train", "job.yaml")
    with open(os.path.join(folder, "run", "metrics.jsonl"), encoding="utf-8") as metrics:
        saves, alone = read_saves([json.loads(line) for line in metrics], options.every)
    size = checkpoint_bytes(folder)
    shutil.rmtree(os.path.join(folder, "run"))
    disk = [dd_rate(folder, size) for _ in range(3)]
    counted = [s for s in saves if options.every < s["line"]["step"] < steps]  # neither the first nor the last
    series = {key: [s["line"][key] for s in counted] for key in OF_A_SAVE}
    beside = [ms for s in counted for ms in s["beside"]]
    step, stall = figures.median(alone), figures.median(series["stall_ms"])
    return {"model": options.model, "precision": options.precision, "ranks": options.ranks, "bytes": size, **series,
            "step_beside_ms": beside, "step_alone_ms": alone, "dd_bytes_per_second": disk,
            "stall_share_of_a_step": stall / step if step else None,
            "speed_beside_writing": step / figures.median(beside) if step and beside else None,
            "write_share_of_dd": figures.median(series["bytes_per_second"]) / figures.median(disk), "runs": counted}


def main(arguments=None):
    options = parse(arguments)
    options.weft = os.path.abspath(options.weft)
    result, file = compare.begin_result(options, compare.own_versions(options.weft), "-saves")
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        result["saves"] = measure(options, folder)
    file.keep(result)

    def percent(key):
        value = result["saves"][key]
        return "n/a" if value is None else f"{100 * value:.1f} %"
    print(f"{options.model}, {options.ranks} ranks, {result['saves']['bytes']} bytes a save: the run waits {percent('stall_share_of_a_step')} "
          f"of a step for it, has {percent('speed_beside_writing')} of its speed beside it, and writes at "
          f"{percent('write_share_of_dd')} of dd's rate\n{file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
