#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of README.md that says what is proven, from docs/status.tsv: status.py ROOT [--check]

--check changes nothing, and fails if the table differs. In both cases each test that a row names must be one of
ctest's, and each result (bench/results/NAME.json) must exist; a row without either is "not yet", and one whose tests all run
on simulated devices or hosts "simulated only".
"""

import pathlib
import re
import sys

import sources

BEGIN, END = "<!-- status.py begins -->\n", "<!-- status.py ends -->"
STATES = ("proven", "simulated only", "not yet")
SIMULATED = re.compile(r"^(?:cuda\.|launch\.hosts_test\.)")


def rows(root):
    for number, line in enumerate((root / "docs/status.tsv").read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != 4:
                raise SystemExit(f"docs/status.tsv:{number}: {len(cells)} columns, but it takes 4, parted by tabs")
            yield number, *cells


def recorded(tree, name):
    return [name] if name.startswith("bench/results/") and name in tree.files else []


def problems(tree, table):
    for number, what, state, proofs, _ in table:
        place = f"docs/status.tsv:{number}: {what}:"
        selected = [recorded(tree, proof) if proof.endswith(".json") else tree.runs(proof) for proof in proofs.split()]
        if state not in STATES:
            yield f"{place} '{state}' is no state; it is one of {', '.join(STATES)}"
        for proof, tests in zip(proofs.split(), selected):
            if not tests:
                yield f"{place} {proof}: there is no such test or result"
        if state != "not yet" and not proofs:
            yield f"{place} it is called {state}, and no test is named"
        found = [test for tests in selected for test in tests]
        if state == "proven" and found and all(SIMULATED.match(test) for test in found):
            yield f"{place} its tests run on simulated devices or hosts alone: it is not proven"


def text(table):
    lines = ["| what | state | tests (`ctest -R`) | |", "|---|---|---|---|"]
    for _, what, state, proofs, remark in table:
        tests = "<br>".join(f"`{proof}`" for proof in proofs.split())
        lines.append(f"| {what} | **{state}** | {tests} | {remark} |")
    return "\n".join(lines) + "\n"


def main(root, *arguments):
    root = pathlib.Path(root)
    table = list(rows(root))
    found = list(problems(sources.Sources(root), table))
    page = (root / "README.md").read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    wanted = before + begin + text(table) + end + after
    if not end:
        found.append(f"README.md: it has no two lines {BEGIN.strip()} and {END}")
    elif "--check" not in arguments:
        (root / "README.md").write_text(wanted)
    elif page != wanted:
        found.append("README.md: its table is not that of docs/status.tsv; write it with tests/docs/status.py .")
    print("\n".join(found or [f"{len(table)} rows, each with its tests"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
