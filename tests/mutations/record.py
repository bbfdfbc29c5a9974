# SPDX-License-Identifier: Apache-2.0
"""What a scratch copy's breakages have shown, as text and as a file that is kept."""

import collections
import json

from drawn import numbered


def judged(breakages):
    """Those that are in the code, with their verdicts."""
    return [one for one in breakages if one["verdict"] not in ("not compiled", "gone")]


def survivors(breakages):
    return [one for one in judged(breakages) if one["verdict"] == "survived"]


def code_of(one):
    """What the breakage makes of its first line, without the number."""
    return next(iter(one["edits"].values())).strip()


def by_file(breakages):
    """How many were judged, and how many were noticed when they were judged first, and are now."""
    files = collections.defaultdict(collections.Counter)
    for one in judged(breakages):
        counts = files[one["file"]]
        counts["judged"] += 1
        counts["before"] += one.get("before", one["verdict"]).startswith("caught")
        counts["now"] += one["verdict"].startswith("caught")
    return dict(sorted(files.items()))


def report(breakages):
    for name, counts in by_file(breakages).items():
        print(f"{counts['now']:4} of {counts['judged']:4} caught  {name}")
    for one in survivors(breakages):
        code = next(iter(numbered(one).values())).strip()
        print(f"survived: {one['file']}:{one['line']}: {one['kind']}: {code}")


def keep_record(path, breakages, commit):
    """Writes the record. A survivor that an earlier record has keeps the reason that somebody wrote there."""
    earlier = json.loads(path.read_text())["survived"] if path.exists() else []
    reasons = {(one["file"], one["kind"], one["code"]): one["why"] for one in earlier}
    found = judged(breakages)
    first = [one.get("before", one["verdict"]) for one in found]
    record = {
        "commit": commit,
        "drawn": len(breakages),
        "not_compiled": sum(one["verdict"] == "not compiled" for one in breakages),
        "gone_from_the_code": sum(one["verdict"] == "gone" for one in breakages),
        "judged": len(found),
        "noticed_before": sum(verdict.startswith("caught") for verdict in first),
        "noticed": sum(one["verdict"].startswith("caught") for one in found),
        "files": {name: dict(counts) for name, counts in by_file(breakages).items()},
        "survived": [{"file": one["file"], "line": one["line"], "kind": one["kind"], "code": code_of(one),
                      "why": reasons.get((one["file"], one["kind"], code_of(one)), "")} for one in survivors(breakages)],
    }
    path.write_text(json.dumps(record, indent=1) + "\n")
