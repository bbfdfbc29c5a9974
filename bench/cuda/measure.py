# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu.sh runs: the stages below, the most telling first, each with a time of its own, into one JSON. A stage
that fails does not end it; the same command with --resume does what has not passed yet."""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from record import ROOT, Record, attempt
from peers import measure_llmc, measure_pytorch
from same_bits import compare_bits
from smoke import smoke
from translation import measure_translation

# Windows of 1,024 tokens a step, and tokens of a micro-batch, that fit in 80 GB.
SIZES = {"gpt2-124m": (32, 32768), "gpt2-350m": (64, 16384), "gpt2-774m": (32, 16384), "gpt2-1558m": (32, 8192)}
# What else the first of the models is measured with.
VARIANTS = {"own attention": ["train.attention=own"], "no graphs": ["train.graphs=false"]}
# Programs of tests that run on a device, the most telling first, and the seconds that each may take. Those of NCCL leave
# out what needs more devices than there are.
TESTS = {"operations": ("tests/kernels/kernels_test", 150), "whole steps": ("tests/trainer/cuda_test", 90),
         "steps as graphs": ("tests/trainer/cuda_graphs_test", 90), "graphs": ("tests/kernels/kernels_cuda_graphs_test", 30),
         "copies": ("tests/kernels/kernels_cuda_copies_test", 30),
         "a library's attention": ("tests/kernels/kernels_library_attention_test", 30),
         "NCCL": ("tests/parallel/nccl_test", 60), "layouts over NCCL": ("tests/trainer/nccl_parity_test", 90)}
SANITIZED = "*ResidualNorm*:*CrossEntropy*:*Attention*:*Embed*"


def commit():
    found = attempt(["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"], 20)
    return found["output"].strip() if found["outcome"] == "passed" else "unknown"


def parse(arguments):
    p = argparse.ArgumentParser(prog="bench/gpu.sh", description=__doc__)
    p.add_argument("--out", required=True, help="the JSON")
    p.add_argument("--raw", help="a path for what each step took; default: build/raw/ and the name of --out")
    p.add_argument("--log", help="a file to which the whole output of each stage is appended")
    p.add_argument("--resume", action="store_true", help="continue behind the stages that passed, as --raw knows them")
    p.add_argument("--commit", default=commit(), help="of this build, where it was carried without its repository (%(default)s)")
    p.add_argument("--build", default=str(ROOT / "build" / "cpu"), help="build folder (%(default)s)")
    p.add_argument("--budget", type=int, default=570, help="seconds for everything (%(default)s)")
    p.add_argument("--models", default=",".join(SIZES), help="comma-separated (%(default)s)")
    p.add_argument("--precision", default="bf16", choices=("bf16", "fp32"))
    p.add_argument("--steps", type=int, default=10, help="measured steps of each model (%(default)s)")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a field of the models' jobs")
    p.add_argument("--python", default=os.environ.get("WEFT_BENCH_PYTHON", sys.executable),
                   help="a Python that has PyTorch; without PyTorch no peer is measured ($WEFT_BENCH_PYTHON; %(default)s)")
    p.add_argument("--peer-models", default="gpt2-124m", help="comma-separated (%(default)s)")
    p.add_argument("--llmc", help="llm.c's train_gpt2cu, as bench/README.md builds it, to be measured with GPT-2 124M")
    p.add_argument("--skip", default="", help="parts or stages, comma-separated: smoke, same bits, tests, sanitizer, "
                                              "peers, a model by its name, a model and a variant (gpt2-124m no graphs)")
    p.add_argument("--dry-run", action="store_true", help="try every stage with so little work that the simulated device "
                                                          "does it in a minute; the figures mean nothing")
    options = p.parse_args(arguments)
    for name in options.models.split(",") + options.peer_models.split(","):
        if name not in SIZES:
            p.error(f"{name} is no model; there are {', '.join(SIZES)}")
    return options


def program(options, name, *places):
    """In the build folder, or on the PATH."""
    for place in places:
        path = pathlib.Path(options.build, place, name)
        if path.exists():
            return path
    return shutil.which(name)


def meet_device(record):
    """Whether the device can be used at all: without one there is nothing to measure."""
    weft = program(record.options, "weft", "")
    if not weft:
        sys.exit(f"no weft in {record.options.build} and none on the PATH; build it, or say where it is with --build")
    doctor = attempt([weft, "doctor"], 60)
    if doctor["outcome"] != "passed" or "no device" in doctor["output"] or "built without" in doctor["output"]:
        sys.exit(f"weft sees no CUDA device here:\n{doctor['output']}")
    lines = doctor.pop("output").splitlines()
    record.add({"stage": "doctor", "command": "weft doctor", **doctor}, "\n".join(lines))
    record.result["doctor"] = dict(line.split(maxsplit=1) for line in lines if len(line.split()) > 1)
    record.result["simulated"] = any("simulated" in line for line in lines)
    return weft


def test(record):
    for what, (path, seconds) in TESTS.items():
        folder, _, name = path.rpartition("/")
        found = program(record.options, name, folder)
        if found:
            record.run(f"tests of {what}", seconds, [found, f"--gtest_filter={record.amounts.tests[what]}", "--gtest_brief=1"],
                       WEFT_TEST_DEVICE="cuda")


def sanitize(record):
    """Only weft's kernels: the tools take the asynchronous copies in those of NVIDIA's libraries for races."""
    operations = program(record.options, "kernels_test", "tests/kernels")
    if operations and shutil.which("compute-sanitizer"):
        for tool in ("memcheck", "racecheck", "initcheck"):
            record.run(tool, 60, ["compute-sanitizer", "--tool", tool, "--error-exitcode", "1", "--kernel-name",
                                  "kernel_substring=weft", operations, f"--gtest_filter={SANITIZED}", "--gtest_brief=1"],
                       WEFT_TEST_DEVICE="cuda")


def measure_steps(record, weft, folder, model, variant=None):
    options, (windows, micro_batch) = record.options, SIZES[model]
    name = " ".join(filter(None, (model, variant)))
    job = ["device=cuda", f"train.precision={options.precision}", f"batch.sequences={windows}",
           f"batch.micro_batch_tokens={micro_batch}", *VARIANTS.get(variant, []), *record.amounts.gpt, *options.set]
    command = [weft, "bench", "--model", model, "--steps", options.steps, "--warmup", 3]
    if variant is None:
        command.append("--operations")
    if record.result["simulated"] or variant is not None:
        command.append("--no-peak")
    record.run_bench(name, 90, folder, command, job, variant)


def measure(record, weft, folder):
    first, *others = record.options.models.split(",")
    measure_steps(record, weft, folder, first)
    for variant in VARIANTS:
        measure_steps(record, weft, folder, first, variant)
    parts = {"peers": lambda: measure_peers(record, folder), "same bits": lambda: compare_bits(record, weft, folder),
             "smoke": lambda: smoke(record, weft, folder), "tests": lambda: test(record)}
    for name, part in parts.items():
        if not record.leaves_out(name):
            part()
    for model in others:
        measure_steps(record, weft, folder, model)
    if not record.leaves_out("translation"):
        measure_translation(record, weft, folder)
    if not record.leaves_out("sanitizer"):
        sanitize(record)


def measure_peers(record, folder):
    if record.options.llmc:
        measure_llmc(record, folder, *SIZES["gpt2-124m"])
    for model in record.options.peer_models.split(","):
        measure_pytorch(record, model, SIZES[model][1])


def main(arguments):
    options = parse(arguments)
    record = Record(options)
    weft = meet_device(record)
    with tempfile.TemporaryDirectory() as folder:
        measure(record, weft, folder)
    record.save()
    failed = record.failed()
    print(f"{record.file}\n" + (f"to be looked at, the first first: {', '.join(failed)}" if failed else "everything passed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
