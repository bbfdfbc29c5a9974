# SPDX-License-Identifier: Apache-2.0
"""The steps of other programs on the same device, of the same models on random tokens, in the same micro-batches."""

import array
import json
import os
import pathlib
import random
import re

from record import attempt

import cases  # of bench/cpu, to which record.py leads


def measure_pytorch(record, model, micro_batch):
    options = record.options
    if attempt([options.python, "-c", "import torch"], 60)["outcome"] != "passed":
        record.add({"stage": f"PyTorch {model}", "outcome": "left out", "why": f"{options.python} cannot import torch"})
        return
    shape = (*cases.GPT2[model], cases.GPT2_CONTEXT, micro_batch // cases.GPT2_CONTEXT)
    script, *words = cases.peer_language_model(shape, cases.GPT2_VOCABULARY, options.steps, os.cpu_count())
    command = [options.python, pathlib.Path(cases.PEERS, script), *words, "--device", "cuda", "--compile",
               "--precision", options.precision]
    output = record.run(f"PyTorch {model}", 200, command)
    if output is not None:
        record.result["gpu"]["peers"].append({"job": model, **json.loads(output.strip().splitlines()[-1])})


def measure_llmc(record, folder, windows, micro_batch):
    """llm.c reads tokens from a file: a header of 256 numbers, then two bytes for each token."""
    tokens = pathlib.Path(folder, "tokens.bin")
    count, draw = 2_000_000, random.Random(1)
    with open(tokens, "wb") as out:
        array.array("i", [20240520, 1, count, *[0] * 253]).tofile(out)
        array.array("H", draw.choices(range(50257), k=count)).tofile(out)
    never = 10**6  # evaluations and samples
    command = [record.options.llmc, "-i", tokens, "-j", tokens, "-e", "d12", "-b", micro_batch // cases.GPT2_CONTEXT,
               "-t", cases.GPT2_CONTEXT, "-d", windows * cases.GPT2_CONTEXT, "-x", 30, "-v", never, "-s", never, "-r", 0]
    output = record.run("llm.c gpt2-124m", 60, command)
    if output is not None:
        milliseconds = float(re.search(r"average iteration time: ([0-9.]+) ms", output).group(1))
        record.result["gpu"]["peers"].append({"job": "gpt2-124m", "program": "llm.c", "mean_step_seconds": milliseconds / 1e3,
                                              "tokens_per_second": windows * cases.GPT2_CONTEXT / milliseconds * 1e3})
