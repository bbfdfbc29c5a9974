#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what does not grow with the model but with the ranks: sums over MPI on 2, 4 and 8 ranks of this machine, beside
MPI's own calls and with the bytes that each rank sends; and the processor seconds that a rank of 64, 1,024 and 8,192
replicas takes to describe its plan and to cut its share of a step. Needs a build with -DWEFT_BENCH=ON."""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import result_file  # noqa: E402


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default=os.path.join(compare.ROOT, "bench", "results", "scale.json"), help="(%(default)s)")
    p.add_argument("--build", default=os.path.join(compare.ROOT, "build", "cpu"), help="(%(default)s)")
    p.add_argument("--mib", type=int, nargs="+", default=[1, 8, 64], help="of the sums (%(default)s)")
    p.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8], help="(%(default)s)")
    return p.parse_args(arguments)


def printed(command, threads=1):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout


def mpirun(ranks, words):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), *words]


def sent_mib(program, ranks, mib, way):
    """What each rank sends to others in one call, as Open MPI's monitoring counts it."""
    with tempfile.TemporaryDirectory() as folder:
        monitor = ["--mca", "pml_monitoring_enable", "1", "--mca", "pml_monitoring_enable_output", "3", "--mca",
                   "pml_monitoring_filename", os.path.join(folder, "sent")]
        printed(mpirun(ranks, [*monitor, program, str(mib), way]))
        sent = [0] * ranks
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as lines:
                for found in re.finditer(r"^[EI]\t(\d+)\t\d+\t(\d+) bytes", lines.read(), re.M):
                    sent[int(found[1])] += int(found[2])
    return [round(count / 2**20, 1) for count in sent]


def collectives(options, ranks, mib):
    program = os.path.join(options.build, "bench", "micro", "collectives_bench")
    rows = [json.loads(line) for line in printed(mpirun(ranks, [program, str(mib)])).splitlines()]
    for row in rows if mib == options.mib[-1] else ():
        if "Gloo" in row["way"]:
            continue  # Gloo's bytes do not go through MPI
        row["sent_mib"] = sent_mib(program, ranks, mib, row["way"])
    return rows


def main(arguments=None):
    options = parse(arguments)
    result = {"format": 2, "what": "scale", "command": compare.own_command(), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%FT%TZ"),
              "machine": compare.machine(), "versions": compare.own_versions(os.path.join(options.build, "weft")),
              "mpi": compare.output(["mpirun", "--version"]).splitlines()[:1], "load_before": os.getloadavg()[0]}
    result["collectives"] = [row for ranks in options.ranks for mib in options.mib
                             for row in collectives(options, ranks, mib)]
    result["replicas"] = json.loads(printed([os.path.join(options.build, "bench", "micro", "scale_bench")]))
    result_file.write(options.out, result)
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
