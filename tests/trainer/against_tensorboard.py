#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what log.tensorboard writes with TensorBoard's own reader, and compares it with metrics.jsonl.

    against_tensorboard.py BUILD

A small run is killed and resumed, so that two attempts have lines of the same steps. Needs the package tensorboard.
"""

import json
import math
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import small_text_run  # noqa: E402

JOB = """name: seen
model: {layers: 1, width: 32, heads: 2, max_length: 16}
batch: {sequences: 4}
train: {max_steps: 400}
evaluation: {every_steps: 50, max_sequences: 20}
checkpoint: {every_steps: 40}
log: {every_steps: 1, tensorboard: true, generations: {every_steps: 100, prompts: ["the boat", "<b># one"], max_tokens: 5}}
"""


def killed_and_resumed(weft, folder):
    run = small_text_run.prepared(weft, folder, JOB)
    first = subprocess.Popen([weft, "train", "job.yaml"], **run)
    metrics = folder / "run" / "metrics.jsonl"
    while not metrics.exists() or metrics.read_bytes().count(b'"event":"train"') < 110:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    subprocess.run([weft, "train", "job.yaml"], check=True, **run)
    return metrics


def series_of(metrics):
    """The scalars that metrics.jsonl has, by tag: a later attempt supersedes what came after the step it begins at."""
    series = {}
    for line in map(json.loads, metrics.read_text().splitlines()):
        if line["event"] == "start":
            for values in series.values():
                for step in [step for step in values if step > line["step"]]:
                    del values[step]
        for key, value in line.items():
            if key in ("attempt", "step") or type(value) not in (int, float, type(None)):
                continue
            single = struct.unpack("f", struct.pack("f", math.nan if value is None else value))[0]
            series.setdefault(f"{line['event']}/{key}", {})[line["step"]] = single
    return series


def main():
    weft = pathlib.Path(sys.argv[1]).resolve() / "weft"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        expected = series_of(killed_and_resumed(weft, folder))
        reader = EventAccumulator(str(folder / "run" / "tensorboard"), size_guidance={"scalars": 0, "tensors": 0})
        reader.Reload()
        assert set(reader.Tags()["scalars"]) == set(expected), (reader.Tags()["scalars"], sorted(expected))
        values = 0
        for tag, by_step in expected.items():
            found = {event.step: event.value for event in reader.Scalars(tag)}
            assert found.keys() == by_step.keys(), (tag, found, by_step)
            for step, value in by_step.items():
                assert found[step] == value or (math.isnan(found[step]) and math.isnan(value)), (tag, step)
                values += 1
        texts = {tag: reader.Tensors(tag) for tag in reader.Tags()["tensors"]}
        assert set(texts) == {f"generation/{prompt} (temperature {t:g})" for prompt in ("the boat", "<b># one")
                              for t in (0, 0.7, 1)}, set(texts)
        # TensorBoard purges what a restart supersedes from scalars alone: a text may be there of both attempts.
        steps = {tag: sorted({event.step for event in events}) for tag, events in texts.items()}
        assert all(found == [100, 200, 300, 400] for found in steps.values()), steps
        print(f"TensorBoard reads {values} values of {len(expected)} scalars as metrics.jsonl has them, and {len(texts)} texts")


if __name__ == "__main__":
    main()
