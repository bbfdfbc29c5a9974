#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a token of attention costs in a window of 256 at T 4,096, beside one that sees all keys before it at T 1,024:
12 heads of 64, forward and backward, in alternating runs of rows_bench. Results go where compare.py's go."""

import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import figures  # noqa: E402
import result_file  # noqa: E402

SIDES = {"new": ("1x4096/12x64/causal/window256", 4096), "old": ("1x1024/12x64/causal", 1024)}


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result_file.add_options(p, "processor, date, window")
    p.add_argument("--weft", default=os.path.join(compare.ROOT, "build", "cpu", "weft"), help="the program (%(default)s)")
    p.add_argument("--bench", default=os.path.join(compare.ROOT, "build", "cpu", "bench", "micro", "rows_bench"),
                   help="of a build with -DWEFT_BENCH=ON (%(default)s)")
    p.add_argument("--dtypes", default="f32,bf16", help="comma-separated (%(default)s)")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="(%(default)s)")
    p.add_argument("--repeats", type=int, default=9, help="pairs of runs (%(default)s)")
    options = p.parse_args(arguments)
    if not os.path.exists(options.bench):
        p.error(f"no {options.bench} here: build it with -DWEFT_BENCH=ON")
    return options


def words_of(dtype, shape):
    return [f"--benchmark_filter=^attention_(forward|backward)/{dtype}/{shape}/real_time$", "--benchmark_format=json"]


def tokens_per_second(options, dtype, which):
    shape, tokens = SIDES[which]
    said = subprocess.run([os.path.abspath(options.bench), *words_of(dtype, shape)], check=True, capture_output=True,
                          text=True, env={**os.environ, "OMP_NUM_THREADS": str(options.threads)}).stdout
    runs = json.loads(said)["benchmarks"] if said else []
    if len(runs) != 2:
        raise SystemExit(f"{options.bench} has {len(runs)} benchmarks of {dtype}/{shape}, not 2")
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return tokens / sum(run["real_time"] * unit[run["time_unit"]] for run in runs)


def measure(options, dtype):
    rates = compare.alternating(options.repeats, lambda which: tokens_per_second(options, dtype, which),
                                {"new": "window", "old": "all keys"})
    commands = {which: " ".join(["rows_bench", *words_of(dtype, shape)]) for which, (shape, _) in SIDES.items()}
    return figures.compare_pairs({"case": "attention, 12 heads of 64", "precision": {"f32": "fp32"}.get(dtype, dtype),
                                  "note": "forward and backward", "commands": commands, **rates})


def main(arguments=None):
    options = parse(arguments)
    result, file = compare.begin_result(options, compare.own_versions(options.weft), "-window")
    result.update(sides={"new": "a window of 256 at T 4,096", "old": "all keys at T 1,024"}, pairs=[])
    for dtype in options.dtypes.split(","):
        result["pairs"].append(measure(options, dtype))
        file.keep(result)
    for case in result["pairs"]:
        cost = 1 / figures.summary(case["ratios"])["median"]
        print(f"{case['precision']}: a token in the window costs {cost:.2f} of one that sees all keys at T 1,024")
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
