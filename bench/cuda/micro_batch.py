#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a micro-batch of GPT-2 124M queues on a device: kernels, products of the library, copies, the bytes that kernels ask
for, mma. Counted on the simulated device, for one or two programs: those of two commits.

usage: micro_batch.py --simulated FOLDER [--tokens N] [--context N] [--set KEY=VALUE]... [--json FILE] WEFT [OLD]
  --simulated  the libraries of the simulated device, which count: BUILD/simulated, for both programs
  --tokens     tokens of a micro-batch (1024)
  --context    tokens of a window (1024)
  --set        a field of the job, such as model.width=64 where only launches are asked for
  --json       writes every kernel and product

A step of two micro-batches is counted, and one of one; the difference is what a micro-batch adds to a step that has begun.
A node of a graph counts as what is queued one by one does. Bytes of products follow from their m, n and k: operands and
results in bf16, gradients of weights in fp32, read and written."""

import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cpu"))
import result_file  # noqa: E402

# Why there is a kernel, by its name; names of 77ccb76 are among them. The first that is found.
CAUSES = (("attention", r"attention_|::(attend|key_gradients|query_gradients|row_deltas)<"),
          ("norms and residual sums", r"norm|add_and_normalise"),
          ("activations apart from products", r"elementwise_pieces|Activat"),
          ("sums of columns", r"column_sums|sum_chunk<|add_partial_sums"),
          ("loss", r"cross_entropy"),
          ("embedding", r"embed_|combine_rows|join_segments|sum_chunks<"),
          ("products", r"cublasLtMatmul|multiply_tiles"),
          ("copies and fills", r"cudaMem|fill_elements|convert_elements"),
          ("sums of a step", r"sum_parts|sum_blocks_of_parts|optimizer|update_elements"))
VOCABULARY = 50000  # less than GPT-2's, more than the width of any product
PRODUCT = re.compile(r"cublasLtMatmul (\d+) x (\d+) x (\d+)")


def cause_of(name):
    return next((cause for cause, pattern in CAUSES if re.search(pattern, name)), "other")


def step(program, asked, folder, windows):
    """Counts by operation of a step of so many micro-batches, as (launches, bytes, mma)."""
    counts, results = folder / "counts.json", folder / "results"
    results.unlink(missing_ok=True)
    fields = ["device=cuda", "train.precision=bf16", "train.algorithms=first", f"batch.sequences={windows * asked.tokens // asked.context}",
              f"batch.micro_batch_tokens={asked.tokens}", *asked.set]
    command = [program, "bench", "--model", "gpt2-124m", "--steps", "1", "--warmup", "0", "--no-ceiling",
               *(word for field in fields for word in ("--set", field))]
    settings = {"LD_LIBRARY_PATH": asked.simulated, "WEFT_CUDA_DEVICE_COUNTS": counts, "WEFT_CUDA_DEVICE_RESULTS": results}
    subprocess.run([str(word) for word in command], env=os.environ | {key: str(value) for key, value in settings.items()},
                   stdout=subprocess.DEVNULL, check=True)
    found = {one["kernel"]: (one["launches"], one["whole_wanted_bytes"], one["matrix_products"])
             for one in json.loads(counts.read_text(encoding="utf-8"))}
    for line in results.read_text(encoding="utf-8").splitlines():
        _, name, times = line.split("\t")[:3]
        if not name.startswith("launch of "):
            found[name] = (int(times), int(times) * library_bytes(name, asked.tokens), 0)
    return found


def library_bytes(name, tokens):
    """What a call of a library reads and writes. A gradient of a weight sums over tokens; that of the output's weight, whose
    n is the vocabulary, over a part of them."""
    product = PRODUCT.match(name)
    if product:
        m, n, k = (int(word) for word in product.groups())
        return 2 * k * (m + n) + m * n * (8 if k == tokens or n > VOCABULARY else 2)
    copied = re.match(r"cudaMem(cpy|set) of (\d+)", name)
    return (2 if copied[1] == "cpy" else 1) * int(copied[2]) if copied else 0


def micro_batch(program, asked):
    with tempfile.TemporaryDirectory() as scratch:
        one, two = (step(program, asked, pathlib.Path(scratch), windows) for windows in (1, 2))
    added = {name: tuple(a - b for a, b in zip(counts, one.get(name, (0, 0, 0)))) for name, counts in two.items()}
    return {name: counts for name, counts in added.items() if counts[0] > 0}


def by_cause(queue):
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for name, counts in queue.items():
        sums[cause_of(name)] = [a + b for a, b in zip(sums[cause_of(name)], counts)]
    return dict(sums)


def table(queues):
    """A line for each cause, the columns of each program side by side."""
    causes = [by_cause(queue) for queue in queues.values()]
    head = [f"{what} ({name})" for name in queues for what in ("queued", "MB", "thousand mma")]
    text = "| cause | " + " | ".join(head) + " |\n|---" + "|---" * len(head) + "|\n"
    for cause in [cause for cause, _ in CAUSES] + ["other"]:
        cells = [one.get(cause, (0, 0, 0)) for one in causes]
        if any(cell[0] for cell in cells):
            text += f"| {cause} | " + " | ".join(f"{n:,} | {size / 1e6:,.1f} | {mma / 1e3:,.1f}" for n, size, mma in cells) + " |\n"
    totals = [[sum(column) for column in zip(*one.values())] for one in causes]
    return text + "| all | " + " | ".join(f"{n:,} | {size / 1e6:,.1f} | {mma / 1e3:,.1f}" for n, size, mma in totals) + " |\n"


def commit_of(program):
    said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"^git revision +(\S+)", said, re.MULTILINE)[1]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", metavar="WEFT")
    parser.add_argument("old", nargs="?", metavar="OLD")
    parser.add_argument("--simulated", required=True, metavar="FOLDER")
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def main():
    asked = parse()
    programs = {name: program for name, program in (("old", asked.old), ("new", asked.weft)) if program}
    queues = {name: micro_batch(program, asked) for name, program in programs.items()}
    print(table(queues), end="")
    if asked.json:
        rows = [{"program": name, "operation": operation, "cause": cause_of(operation), "queued": n, "bytes": size, "mma": mma}
                for name, queue in queues.items() for operation, (n, size, mma) in sorted(queue.items())]
        result_file.write(asked.json, {"name": pathlib.Path(asked.json).stem, "date": datetime.date.today().isoformat(),
                                       "tokens": asked.tokens, "context": asked.context, "fields": asked.set,
                                       "commits": {name: commit_of(program) for name, program in programs.items()},
                                       "operations": rows})


if __name__ == "__main__":
    main()
