#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a synthetic corpus of any size in many scripts: JSON lines whose field "text" holds a document of some
paragraphs. Words are drawn from a vocabulary of each script as often as Zipf's law says. The same seed and size are the
same bytes."""

import argparse
import itertools
import json
import os
import random

# First letter, last letter and relative frequency of each script.
SCRIPTS = [("a", "z", 60), ("\u00e0", "\u00ff", 6), ("\u0430", "\u044f", 8), ("\u03b1", "\u03c9", 3),
           ("\u05d0", "\u05ea", 2), ("\u0627", "\u064a", 4), ("\u0905", "\u0939", 4), ("\u0e01", "\u0e2e", 2),
           ("\uac00", "\ud7a3", 3), ("\u4e00", "\u9fa5", 6), ("\u3041", "\u3096", 2)]
WORDS = 20_000      # per script
PARAGRAPHS = 60_000  # distinct paragraphs that documents consist of


def vocabulary(rng, first, last):
    letters = [chr(c) for c in range(ord(first), ord(last) + 1)]
    return ["".join(rng.choices(letters, k=1 + min(int(rng.expovariate(0.22)), 14))) for _ in range(WORDS)]


def paragraphs(rng):
    words = {script: vocabulary(rng, *script[:2]) for script in SCRIPTS}
    zipf = list(itertools.accumulate(1 / (rank + 3) for rank in range(WORDS)))
    made = []
    for script in rng.choices(SCRIPTS, weights=[s[2] for s in SCRIPTS], k=PARAGRAPHS):
        drawn = rng.choices(words[script], cum_weights=zipf, k=rng.randint(20, 160))
        for at in range(7, len(drawn), 11):
            drawn[at] = rng.choice([drawn[at] + ",", drawn[at].capitalize() + ".", str(rng.randint(0, 99999)),
                                    drawn[at] + "\n", "\U0001F680", "(" + drawn[at] + ")"])
        made.append(json.dumps(" ".join(drawn) + "\n", ensure_ascii=False)[1:-1])
    return made


def main(arguments=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file")
    p.add_argument("--megabytes", type=float, default=100, help="of the file, about (%(default)s)")
    p.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    options = p.parse_args(arguments)
    rng = random.Random(options.seed)
    pool = paragraphs(rng)
    wanted, written, number = int(options.megabytes * 1e6), 0, 0
    with open(options.file + ".part", "wb", buffering=1 << 20) as file:
        while written < wanted:
            text = "".join(rng.choices(pool, k=rng.randint(1, 12)))
            line = f'{{"id": {number}, "text": "{text}", "score": {rng.random():.3f}}}\n'.encode()
            file.write(line)
            written, number = written + len(line), number + 1
    os.replace(options.file + ".part", options.file)


if __name__ == "__main__":
    main()
