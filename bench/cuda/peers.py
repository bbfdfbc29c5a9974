# SPDX-License-Identifier: Apache-2.0
"""The steps of other programs on the same device, of the same models on random tokens, in the same micro-batches."""

import array
import os
import pathlib
import random
import re

import cases  # of bench/cpu, to which record.py leads


def measure_pytorch(record, model, micro_batch):
    options = record.options
    shape = (*cases.GPT2[model], cases.GPT2_CONTEXT, micro_batch // cases.GPT2_CONTEXT)
    script, *words = cases.peer_language_model(shape, cases.GPT2_VOCABULARY, options.steps, os.cpu_count())
    record.run_pytorch(model, 200, [pathlib.Path(cases.PEERS, script), *words, "--device", "cuda", "--compile", "--precision",
                                    options.precision])


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
        record.keep_peer("gpt2-124m", {"program": "llm.c", "mean_step_seconds": milliseconds / 1e3,
                                       "tokens_per_second": windows * cases.GPT2_CONTEXT / milliseconds * 1e3})
