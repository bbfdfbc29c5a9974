#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the numbers of a run's metrics.jsonl to Weights & Biases or to trackio, while it trains or afterwards.

    follow_metrics.py RUN [--to wandb|trackio] [--project NAME] [--once]

RUN is the run directory. The module that --to names must be installed, and knows where it sends what it gets. --once:
ends after the last line that is there; otherwise waits for more until it is interrupted.
"""

import argparse
import importlib
import json
import pathlib
import time


def lines(path, once):
    with open(path, encoding="utf-8", errors="replace") as file:
        while True:
            begin = file.tell()
            text = file.readline()
            if text.endswith("\n"):
                yield json.loads(text)
            elif once:
                return
            else:  # the next attempt removes a partial line
                file.seek(begin)
                time.sleep(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--to", default="wandb", choices=("wandb", "trackio"))
    parser.add_argument("--project", default="weft")
    parser.add_argument("--once", action="store_true")
    arguments = parser.parse_args()
    tracker = importlib.import_module(arguments.to)
    run = tracker.init(project=arguments.project, name=arguments.run.resolve().name)
    sent, last = {}, -1  # steps only rise there: what a later attempt repeats was sent already
    for line in lines(arguments.run / "metrics.jsonl", arguments.once):
        numbers = {f"{line['event']}/{key}": value for key, value in line.items()
                   if type(value) in (int, float) and key not in ("attempt", "step")}
        if numbers and line["step"] >= last and line["step"] > sent.get(line["event"], -1):
            sent[line["event"]] = last = line["step"]
            tracker.log(numbers, step=last)
    run.finish()


if __name__ == "__main__":
    main()
