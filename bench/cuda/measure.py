# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu.sh runs: the stages below in their order, each with a time of its own, into one JSON."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "cpu"))
import cases  # noqa: E402
from result_file import ResultFile  # noqa: E402

LAST = 2000  # characters that are kept of a failed stage's output

# Windows of 1,024 tokens a step, and tokens of a micro-batch, that fit in 80 GB.
SIZES = {"gpt2-124m": (64, 32768), "gpt2-350m": (64, 16384), "gpt2-774m": (32, 16384), "gpt2-1558m": (32, 8192)}
SANITIZED = "*ResidualNorm*:*CrossEntropy*:*Attention*:*Embed*"


def parse(arguments):
    p = argparse.ArgumentParser(prog="bench/gpu.sh", description=__doc__)
    p.add_argument("--out", required=True, help="the JSON")
    p.add_argument("--raw", help="a path for what each step took; default: build/raw/ and the name of --out")
    p.add_argument("--build", default=str(ROOT / "build" / "cpu"), help="build folder (%(default)s)")
    p.add_argument("--budget", type=int, default=570, help="seconds for everything (%(default)s)")
    p.add_argument("--models", default=",".join(SIZES), help="comma-separated (%(default)s)")
    p.add_argument("--precision", default="bf16", choices=("bf16", "fp32"))
    p.add_argument("--steps", type=int, default=10, help="measured steps of each model (%(default)s)")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a field of the models' jobs")
    p.add_argument("--python", default=os.environ.get("WEFT_BENCH_PYTHON", sys.executable),
                   help="a Python that has PyTorch; without PyTorch no peer is measured ($WEFT_BENCH_PYTHON; %(default)s)")
    p.add_argument("--peer-model", default="gpt2-124m", choices=SIZES, help="(%(default)s)")
    p.add_argument("--skip", default="", help="stages, comma-separated: tests, steps of a model by its name, ...")
    return p.parse_args(arguments)


class Record:
    """The stages so far, kept on disk after each of them: a call that is cut short has measured what it has."""

    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.budget
        self.file = ResultFile(pathlib.Path(options.out).stem, options.out, options.raw)
        self.result = {"name": pathlib.Path(options.out).stem, "date": datetime.datetime.now().isoformat(timespec="seconds"),
                       "command": "bench/gpu.sh " + " ".join(sys.argv[1:]), "machine": machine(), "stages": [],
                       "gpu": {"steps": [], "peers": []}}

    def save(self):
        self.file.keep(self.result)

    def run(self, name, seconds, command, **environment):
        """Its output, or nothing if it failed, was left out or had no time; either is on record."""
        stage = {"stage": name, "command": " ".join(map(str, command))}
        self.result["stages"].append(stage)
        left = min(seconds, self.end - time.monotonic())
        if name in self.options.skip.split(","):
            stage["outcome"] = "left out"
        elif left < 1:
            stage["outcome"] = "no time left"
        else:
            stage.update(attempt(command, left, environment))
        print(f"{name}: {stage['outcome']}" + (f", {stage['seconds']} s" if "seconds" in stage else ""), flush=True)
        output = stage.pop("output", "")
        if stage["outcome"] not in ("passed", "left out"):
            stage["last"] = output[-LAST:]
        self.save()
        return output if stage["outcome"] == "passed" else None


def attempt(command, seconds, environment):
    start = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds, env={**os.environ, **environment})
        outcome, output = ("passed" if done.returncode == 0 else f"failed with {done.returncode}"), done.stdout
    except subprocess.TimeoutExpired as late:
        outcome, output = f"ran longer than {seconds:.0f} s", (late.stdout or b"").decode(errors="replace")
    except OSError as error:
        outcome, output = f"did not start: {error}", ""
    return {"outcome": outcome, "seconds": round(time.monotonic() - start, 1), "output": output}


def machine():
    ask = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit", "--format=csv,noheader"]
    found = attempt(ask, 20, {})
    return {"processor": platform.processor() or platform.machine(), "processors": os.cpu_count(),
            "devices": found["output"].strip().splitlines() if found["outcome"] == "passed" else []}


def program(options, name, *places):
    """In the build folder, or on the PATH."""
    for place in places:
        path = pathlib.Path(options.build, place, name)
        if path.exists():
            return path
    return shutil.which(name)


def check(record):
    """Whether the device can be used at all, then what the tests and the sanitizer say of it."""
    weft = program(record.options, "weft", "")
    if not weft:
        sys.exit(f"no weft in {record.options.build} and none on the PATH; build it, or say where it is with --build")
    doctor = record.run("doctor", 60, [weft, "doctor"])
    if doctor is None or "no device" in doctor or "built without" in doctor:
        sys.exit(f"weft sees no CUDA device here:\n{doctor}")
    record.result["doctor"] = dict(line.split(maxsplit=1) for line in doctor.splitlines() if len(line.split()) > 1)
    record.result["simulated"] = "simulated" in doctor
    operations = program(record.options, "kernels_test", "tests/kernels")
    if operations:
        chosen = ["--gtest_filter=-HostOnly*", "--gtest_brief=1"]
        record.run("tests of operations", 150, [operations, *chosen], WEFT_TEST_DEVICE="cuda")
    steps = program(record.options, "cuda_test", "tests/trainer")
    if steps:
        record.run("tests of whole steps", 90, [steps, "--gtest_brief=1"])
    if operations and shutil.which("compute-sanitizer"):
        for tool in ("memcheck", "racecheck"):
            record.run(tool, 60, ["compute-sanitizer", "--tool", tool, "--error-exitcode", "1", operations,
                                  f"--gtest_filter={SANITIZED}", "--gtest_brief=1"], WEFT_TEST_DEVICE="cuda")
    return weft


def measure_steps(record, weft, folder):
    options = record.options
    for model in options.models.split(","):
        windows, micro_batch = SIZES[model]
        figures = pathlib.Path(folder, model + ".json")
        job = ["device=cuda", f"train.precision={options.precision}", f"batch.sequences={windows}",
               f"batch.micro_batch_tokens={micro_batch}", *options.set]
        command = [weft, "bench", "--model", model, "--steps", options.steps, "--warmup", 3, "--operations", "--json",
                   figures, *(word for field in job for word in ("--set", field))]
        if record.result["simulated"]:
            command.append("--no-peak")
        if record.run(model, 90, command) is not None:
            measured = json.loads(figures.read_text(encoding="utf-8"))
            measured["runs"] = measured.pop("steps", [])
            record.result["gpu"]["steps"].append(measured)
            record.save()


def measure_peer(record):
    options, model = record.options, record.options.peer_model
    if attempt([options.python, "-c", "import torch"], 60, {})["outcome"] != "passed":
        why = f"{options.python} cannot import torch"
        record.result["stages"].append({"stage": "PyTorch", "outcome": "left out", "why": why})
        print(f"PyTorch: left out, {why}")
        return
    _, micro_batch = SIZES[model]
    shape = (*cases.GPT2[model], cases.GPT2_CONTEXT, micro_batch // cases.GPT2_CONTEXT)
    script, *words = cases.peer_language_model(shape, cases.GPT2_VOCABULARY, options.steps, os.cpu_count())
    command = [options.python, pathlib.Path(cases.PEERS, script), *words, "--device", "cuda", "--compile",
               "--precision", options.precision]
    output = record.run("PyTorch", 200, command)
    if output is not None:
        record.result["gpu"]["peers"].append({"job": model, **json.loads(output.strip().splitlines()[-1])})


def main(arguments):
    options = parse(arguments)
    record = Record(options)
    weft = check(record)
    with tempfile.TemporaryDirectory() as folder:
        measure_steps(record, weft, folder)
    measure_peer(record)
    record.save()
    failed = [s["stage"] for s in record.result["stages"] if s["outcome"] not in ("passed", "left out")]
    print(f"{record.file}\n" + (f"failed: {', '.join(failed)}" if failed else "everything passed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
