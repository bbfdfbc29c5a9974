#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what data parallelism costs on this machine: as many replicas of one thread as it has processors beside one
rank with all of them, the same step divided or not, alternating, in one run. Results go where compare.py's go."""

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


class Shape:
    """What compare.run_weft wants to know of a case."""

    weft_rate = RATE

    def __init__(self, options):
        self.weft = ["bench", "--model", options.model, "--steps", str(options.steps), "--warmup", "1",
                     "--set", f"batch.sequences={options.sequences or options.threads}"]


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result_file.add_options(p, "processor, date, replicas")
    p.add_argument("--weft", default=os.path.join(compare.ROOT, "build", "cpu", "weft"), help="the program (%(default)s)")
    p.add_argument("--model", default="gpt2-124m", help="as in weft bench (%(default)s)")
    p.add_argument("--precision", default="fp32", help="(%(default)s)")
    p.add_argument("--sequences", type=int, default=0, help="of a step; 0: one for each replica")
    p.add_argument("--steps", type=int, default=3, help="measured steps of a run (%(default)s)")
    p.add_argument("--repeats", type=int, default=5, help="runs of each layout, in turn (%(default)s)")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="in all (%(default)s)")
    p.add_argument("--timeout", type=int, default=1800, help="seconds that one run may take (%(default)s)")
    options = p.parse_args(arguments)
    if options.threads < 2 or options.repeats < 1:
        p.error("two threads and one repeat are the least")
    if not shutil.which("mpirun"):
        p.error("no mpirun here")
    return options


def exposed_share(run):
    """Of a step's time, what it waited for other ranks' gradients and weights."""
    return run["mean_seconds"]["exposed"] / run["mean_seconds"]["total"]


def measure(options, scratch):
    case, replicas = Shape(options), compare.one_thread_ranks(options.threads)
    divided, whole = [], []
    for turn in range(options.repeats):
        divided.append(compare.run_weft(case, options.precision, replicas, options, scratch))
        whole.append(compare.run_weft(case, options.precision, ["weft"], options, scratch))
        compare.say(f"  run {turn + 1} of {options.repeats}: {options.threads} replicas {divided[-1][RATE]:.0f}, one rank "
                    f"{whole[-1][RATE]:.0f} tokens/s, exposed communication {100 * exposed_share(divided[-1]):.1f} %")
    return figures.summarise({
        "case": f"{options.model}, dp {options.threads}", "precision": options.precision,
        "note": f"{options.threads} replicas of one thread against one rank of {options.threads}, the same step",
        "weft": {"command": compare.shown([*replicas, *case.weft], {scratch: "SCRATCH"}),
                 "exposed_share": [exposed_share(r) for r in divided], **compare.weft_figures(divided, RATE)},
        "peers": [{"name": f"weft, one rank of {options.threads} threads", "tokens_per_second": [r[RATE] for r in whole],
                   "runs": whole}]})


def main(arguments=None):
    options = parse(arguments)
    result, file = compare.begin_result(options, compare.own_versions(options.weft), "-replicas")
    with tempfile.TemporaryDirectory() as scratch:
        result["cases"] = [measure(options, scratch)]
    file.keep(result)
    case = result["cases"][0]
    rate, exposed = (figures.median(case["weft"][key]) for key in ("tokens_per_second", "exposed_share"))
    print(f"{case['case']} {case['precision']}: {rate:.0f} tokens/s, {case['ratio']:.3f} of one rank's, "
          f"{100 * exposed:.1f} % of the step exposed communication\n{file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
