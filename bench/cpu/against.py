# SPDX-License-Identifier: Apache-2.0
"""compare.py --against OLD: this build's training steps beside those of another weft, in alternating pairs."""

import copy
import os
import tempfile

import compare
import figures


def old_case(case, folder):
    """The case for the other program: as it is, or by the job file FOLDER/CASE.yaml, where that program's keys differ.
    The file holds what the case sets; vocabulary, lengths and numbers of steps stay."""
    if not folder:
        return case
    path = os.path.join(folder, case.name + ".yaml")
    if not os.path.exists(path):
        raise SystemExit(f"{folder} has no {case.name}.yaml for the other program")
    old, words = copy.copy(case), list(case.weft)
    at = words.index("--model")
    words[at:at + 2] = [path]
    while "--set" in words:
        at = words.index("--set")
        del words[at:at + 2]
    old.weft = words
    return old


def without_peak(case):
    """Each pair runs within a minute or two of itself, so the machine's peak need not be measured with it."""
    quick = copy.copy(case)
    quick.weft = [*case.weft, "--no-ceiling"]  # the former name of --no-peak
    return quick


def measure(name, precision, options, scratch):
    case = without_peak(compare.cases.make_case(name, options, scratch))
    programs = {"new": (options.weft, case), "old": (options.against, old_case(case, options.against_jobs))}
    launcher = compare.layouts(case, options).get(options.layout)
    if not launcher:
        raise SystemExit(f"{name} does not run by {options.layout} here: leave it out of --cases")
    compare.say(f"{name}, {precision}: {case.note}")

    def rate_of(which):
        weft, its_case = programs[which]
        return compare.run_weft(its_case, precision, launcher, options, scratch, weft)[case.weft_rate]

    rates = compare.alternating(options.repeats, rate_of, {"new": "new", "old": "old"})
    folders = {scratch: "SCRATCH", options.data: "DATA"}
    commands = {which: compare.shown([*launcher, *its_case.weft], folders) for which, (_, its_case) in programs.items()}
    if options.against_jobs:
        commands["old"] = commands["old"].replace(options.against_jobs, "JOBS")
    return figures.compare_pairs({"case": name, "precision": precision, "note": case.note, "commands": commands, **rates})


def main(options):
    versions = {**compare.own_versions(options.weft), "old": compare.program_version(options.against)}
    result, file = compare.begin_result(options, versions, "-against")
    result["pairs"] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.cases:
            for precision in options.precisions:
                result["pairs"].append(measure(name, precision, options, scratch))
                file.keep(result)  # keeps the figures so far, whatever happens later
    for case in result["pairs"]:
        new, old, ratio = (figures.summary(case[key]) for key in ("new", "old", "ratios"))
        print(f"{case['case']} {case['precision']}: new {new['median']:.0f}, old {old['median']:.0f} tokens/s; "
              f"new / old {ratio['median']:.3f} ({ratio['min']:.3f} to {ratio['max']:.3f})"
              f"{': slower' if case['slower'] else ''}")
    print(file)
    return int(any(case["slower"] for case in result["pairs"]))
