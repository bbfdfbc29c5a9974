#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds the findings of a stage of the longer proof, or of one part of it, to the file in which they are kept.

    keep.py FILE STAGE PART VERDICT SECONDS COMMIT SCRATCH

PART is K/N, 1/1 for a whole stage; SCRATCH holds `log`, whose last line is kept, and `found`, "name value" a line. A part
replaces an earlier result of itself. The other parts stay, with the commits that they are of, as long as the stage is
divided into as many. The file's verdict is "passed" once all parts have passed; a number that several parts found is
summed up.
"""

import datetime
import json
import os
import pathlib
import platform
import sys


def found_in(path):
    lines = (line.split(None, 1) for line in path.read_text(errors="replace").splitlines() if line.strip())
    pairs = ((name, rest[0] if rest else "") for name, *rest in lines)
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def last_line(path):
    lines = path.read_text(errors="replace").splitlines()
    return lines[-1] if lines else ""


def machine():
    names = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} processors"


def parts_kept(path, of):
    """The parts of an earlier result that is divided in the same way, by their number."""
    try:
        parts = json.loads(path.read_text())["parts"]
    except (FileNotFoundError, KeyError):
        return {}
    return {part["part"]: part for part in parts if part["part"].endswith(f"/{of}")}


def sums(parts):
    found = {}
    for part in parts:
        for name, value in part["found"].items():
            both = isinstance(value, int) and isinstance(found.get(name), int)
            found[name] = found[name] + value if both else value
    return found


def verdict_of(parts, of):
    verdicts = {part["verdict"] for part in parts}
    for verdict in ("failed", "not run"):
        if verdict in verdicts:
            return verdict
    return "passed" if len(parts) == of else f"{len(parts)} of {of} parts passed"


def main():
    file, stage, number, verdict, seconds, commit, scratch = sys.argv[1:]
    path, scratch, of = pathlib.Path(file), pathlib.Path(scratch), int(number.partition("/")[2])
    kept = parts_kept(path, of)
    kept[number] = {
        "part": number, "verdict": verdict, "said": last_line(scratch / "log"),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "commit": commit,
        "machine": machine(), "seconds": int(seconds), "found": found_in(scratch / "found"),
    }
    parts = sorted(kept.values(), key=lambda part: int(part["part"].partition("/")[0]))
    result = {
        "stage": stage, "verdict": verdict_of(parts, of), "said": " | ".join(dict.fromkeys(p["said"] for p in parts)),
        "commits": sorted({part["commit"] for part in parts}), "seconds": sum(part["seconds"] for part in parts),
        "found": sums(parts), "parts": parts,
    }
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
