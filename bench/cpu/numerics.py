#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what `numerics: same_bits` costs on this machine: steps of replicas of one thread each, with it and with ordinary
numerics, in alternating pairs of runs. Results go where compare.py's go."""

import argparse
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import figures  # noqa: E402
import result_file  # noqa: E402

RATE = "median_tokens_per_second"
# By model: what each rank takes at once, measured steps, and the step.
CASES = {"gpt2-124m": (1024, 3, ["batch.sequences=LEAVES"]), "transformer-tiny": (4096, 8, []), "char": (384, 40, [])}


class Shape:
    """What compare.run_weft wants to know of a case."""

    weft_rate = RATE

    def __init__(self, model, options, same_bits):
        tokens, steps, settings = CASES[model]
        numerics = ["numerics=same_bits", "threads=1", f"batch.leaf_tokens={tokens}"]
        leaves = str(options.threads * options.leaves)
        settings = [s.replace("LEAVES", leaves) for s in settings] + ["device=cpu"]
        settings += numerics if same_bits else [f"batch.micro_batch_tokens={tokens}"]
        self.weft = ["bench", "--model", model, "--steps", str(steps), "--warmup", "1", "--no-peak"]
        for setting in settings:
            self.weft += ["--set", setting]


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result_file.add_options(p, "processor, date, numerics")
    p.add_argument("--weft", default=os.path.join(compare.ROOT, "build", "cpu", "weft"), help="the program (%(default)s)")
    p.add_argument("--models", default="gpt2-124m,transformer-tiny", help=f"of {', '.join(CASES)} (%(default)s)")
    p.add_argument("--precision", default="fp32", help="(%(default)s)")
    p.add_argument("--threads", type=int, default=2, help="replicas, of one thread each (%(default)s)")
    p.add_argument("--leaves", type=int, default=1, help="windows of a replica in a step of gpt2-124m (%(default)s)")
    p.add_argument("--repeats", type=int, default=9, help="pairs of runs (%(default)s)")
    p.add_argument("--timeout", type=int, default=1800, help="seconds that one run may take (%(default)s)")
    options = p.parse_args(arguments)
    options.models = compare.choose(p, "--models", options.models, CASES)
    if not shutil.which("mpirun"):
        p.error("no mpirun here")
    return options


def measure(model, options, scratch):
    launcher = compare.one_thread_ranks(options.threads)
    shapes = {"new": Shape(model, options, True), "old": Shape(model, options, False)}

    def rate_of(which):
        return compare.run_weft(shapes[which], options.precision, launcher, options, scratch)[RATE]

    rates = compare.alternating(options.repeats, rate_of, {"new": "same_bits", "old": "ordinary"})
    commands = {which: compare.shown([*launcher, *shape.weft], {scratch: "SCRATCH"}) for which, shape in shapes.items()}
    leaves = f", {options.leaves} windows each" if model == "gpt2-124m" and options.leaves > 1 else ""
    return figures.compare_pairs({"case": f"{model}, dp {options.threads}{leaves}", "precision": options.precision,
                                  "note": f"{options.threads} replicas of one thread", "commands": commands, **rates})


def main(arguments=None):
    options = parse(arguments)
    result, file = compare.begin_result(options, compare.own_versions(options.weft), "-numerics")
    result.update(sides={"new": "numerics: same_bits", "old": "ordinary ones"}, pairs=[])
    with tempfile.TemporaryDirectory() as scratch:
        for model in options.models:
            result["pairs"].append(measure(model, options, scratch))
            file.keep(result)
    for case in result["pairs"]:
        ratio = figures.summary(case["ratios"])
        print(f"{case['case']} {case['precision']}: same_bits has {ratio['median']:.3f} of the speed of ordinary numerics "
              f"({ratio['min']:.3f} to {ratio['max']:.3f})")
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
