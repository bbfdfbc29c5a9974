# SPDX-License-Identifier: Apache-2.0
"""Transformer-Base on random tokens in sentences of drawn lengths, beside PyTorch's model of the same shape. Both learn
their positions and norm last, and drop out after branches and inside the feed-forward layer."""

import os
import pathlib
import random

import cases  # of bench/cpu, to which record.py leads

MODEL = "transformer-base"
LONGEST = 64
VOCABULARY, BUDGET, DROPOUT = 37120, 25_000, 0.1


def write_lengths(path, pairs):
    """Lengths of pairs, about 25 tokens each, the end included."""
    draw = random.Random(7)
    with open(path, "w", encoding="ascii") as out:
        for _ in range(pairs):
            target = min(LONGEST, max(4, int(draw.lognormvariate(3.2, 0.5))))
            source = min(LONGEST, max(4, int(target * draw.uniform(0.8, 1.25))))
            out.write(f"{source} {target}\n")


def measure_translation(record, weft, folder):
    lengths = pathlib.Path(folder, "lengths.txt")
    amounts, precision = record.amounts, record.options.precision
    write_lengths(lengths, amounts.translation_pairs)
    job = ["device=cuda", f"train.precision={precision}", "batch.token_count=padded", f"batch.tokens={BUDGET}",
           "batch.micro_batch_tokens=0", "model.positions=learned", "model.final_norm=true", "model.dropout.embedding=0",
           f"model.dropout.ffn={DROPOUT}", *amounts.translation, *record.options.set]
    command = [weft, "bench", "--model", MODEL, "--vocabulary", VOCABULARY, "--lengths", lengths, "--steps",
               amounts.translation_steps, "--warmup", amounts.translation_warmup, "--operations", "--no-peak"]
    record.run_bench(MODEL, 60, folder, command, job)
    peer = [pathlib.Path(cases.PEERS, "translation_model.py"), lengths, "--layers", 6, "--width", 512,
            "--ffn", 2048, "--heads", 8, "--vocabulary", VOCABULARY, "--budget", BUDGET, "--dropout", DROPOUT, "--steps",
            amounts.translation_steps, "--warmup", amounts.translation_warmup, "--threads", os.cpu_count(), "--device", "cuda", "--precision", precision]
    record.run_pytorch(MODEL, 90, peer)
