#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disturbs training runs on two ranks, and checks that nothing is lost.

    chaos.py WEFT FAULT_LIBRARY RECORD_LIBRARY SCRATCH [--faults N | --mishaps N] [--seed S] [--json FILE]

A small job runs once undisturbed. Then, for each fault, the same command runs with the library preloaded (fault.cpp)
and is disturbed in one of ten phases; a fault that its run did not reach is not counted. What must hold then:

- the command ends in time, with an exit code that is right for the fault, and names the rank that was hit
- it leaves no process, and every checkpoint that a run of so many saves keeps is there and whole
- the same command again begins at the newest checkpoint that was committed: no step is trained again that was saved
- it ends with the tensors, losses and norms of the undisturbed run, bit for bit, and leaves no temporary file

Without --faults: each phase once. Then bytes of checkpoints that change, files that are cut, power that fails (power.py),
rollbacks, and other mishaps: a full disk, files that may not grow, a second job on the same directory, a branch that is
killed, other numbers of ranks after each kill. With --mishaps only these, N times each. Exit status 1 if anything was
lost.
"""

import argparse
import collections
import json
import pathlib
import random
import sys

from faults import PHASES, once_each, random_faults
from mishaps import damage, each_mishap, rollbacks
from power import after_commands, while_preparing, while_training
from runs import Lost, Runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("faults_library", type=pathlib.Path)
    parser.add_argument("record_library", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--mishaps", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    random_ = random.Random(arguments.seed)
    found = collections.Counter()
    runs = Runs(arguments.weft.resolve(), arguments.faults_library.resolve(), arguments.record_library.resolve(),
                arguments.scratch.resolve())
    try:
        disturb(runs, random_, arguments, found)
    except Lost as lost:
        print(f"LOST: {lost}")
        return 1
    finally:
        if arguments.json:
            arguments.json.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
    if arguments.mishaps:
        print(f"{found.total()} mishaps; nothing lost")
        return 0
    faults = sum(count for kind, count in found.items() if kind.startswith("phase-"))
    print(f"{faults} faults in {len(PHASES)} phases, {found['missed']} more missed theirs; nothing lost")
    return 0


def disturb(runs, random_, arguments, found):
    if arguments.mishaps:
        for _ in range(arguments.mishaps):
            each_mishap(runs, random_, found)
        return
    if arguments.faults:
        random_faults(runs, random_, arguments.faults, found)
        damage(runs, random_, found)
    else:
        once_each(runs, random_, found)
        damage(runs, random_, found, {("rank-00001.h5", "flip")})
    while_training(runs, random_, found, 60 if arguments.faults else 5)
    while_preparing(runs, random_, found, 60 if arguments.faults else 3)
    after_commands(runs, found)
    each_mishap(runs, random_, found)
    rollbacks(runs, found, range(13, 45) if arguments.faults else (14, 27))


if __name__ == "__main__":
    sys.exit(main())
