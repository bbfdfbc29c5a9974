#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks a scratch copy of weft in many places that it draws from the code itself, and counts what tests notice.

    breakages.py SCRATCH [--count N] [--seed S] [--tests NAME...] [--folders FOLDER...] [--seconds S] [--jobs N]
    breakages.py SCRATCH --survivors REGEX [--targets NAME...]
    breakages.py SCRATCH --again
    breakages.py SCRATCH --record FILE
    breakages.py SCRATCH --list

A breakage leaves a statement out, negates a condition, drops a throw, ends a loop one too early, or swaps two
neighbouring calls; in scripts of shell, the first two. All of them are in one copy, each behind a switch that the
environment variable WEFT_BREAK sets when a test begins: one build serves them all. Those that do not compile are taken
back. Each test runs once unbroken; then, for each breakage, that of its own room and the others after it, until one
fails, or takes longer than S times as long as it may. A test is a program, such as base_test, or one of CTest, such as
slurm.train_test (with --jobs 1). Where folders have code for CUDA devices, the copy is built for the simulated device,
and a program runs those of its cases that run there. SCRATCH keeps the copy of the last commit and breakages.json, which
is written after every breakage: the same command resumes. --list prints the breakages that would be made. --survivors
runs the tests of CTest that REGEX names, such as those on ranks, for each breakage that no test has noticed; it builds
all programs before, or those of --targets. --again moves the copy to the commit that is the last one now, whose tests
may be new, and judges again what survived. --record writes how many were noticed in each file, and what survived;
reasons for that, once written there by hand, stay.

The patches beside this program break promises that somebody has written down; these breakages ask what nobody has
thought of, so most of those that no test notices are to be read, and some change nothing that matters.
"""

import argparse
import collections
import concurrent.futures
import filecmp
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from drawn import OF_DEVICES, draw, moved, numbered
from programs import broken, on_the_device, whole
from record import keep_record, report

FOLDERS = ("base/files.cpp", "base/files", "base/direct_file.cpp", "checkpoint", "parallel", "trainer")
TESTS = ("base_test", "checkpoint_test", "parallel_test", "parity_test", "trainer_test")
REACH = 4  # lines below a breakage in which the compiler may report it
BUILDS = 8  # builds, each without the breakages that did not compile in the one before

# A function-local static: no program has a global of this. Kernels read the number from a register that PTX leaves to the
# driver, and that the simulated device has by its setting WEFT_CUDA_DEVICE_ENVREG0.
SWITCH = """#pragma once
#include <cstdlib>
#ifdef __CUDACC__
__host__ __device__
#endif
inline bool weft_break(int number) {
#ifdef __CUDA_ARCH__
  int active;
  asm("mov.u32 %0, %%envreg0;" : "=r"(active));
#else
  static const int active = [] {
    const char* text = std::getenv("WEFT_BREAK");
    return text ? std::atoi(text) : 0;
  }();
#endif
  return active == number;
}
"""


def on_devices(breakages):
    """Whether some are in code for devices, whose copy is built for the simulated one alone, and tested there."""
    return any(OF_DEVICES.search(one["file"]) for one in breakages)


def configure(tree, breakages):
    """Configures the copy, with the switch in front of every source if one is in C++."""
    (tree.parent / "weft_break.h").write_text(SWITCH)
    settings = ["-DWEFT_CUDA=OFF"]
    flags = f"-include {tree.parent}/weft_break.h" if any(re.search(r"\.(cpp|cuh?)$", one["file"]) for one in breakages) else ""
    if on_devices(breakages):
        wheels = pathlib.Path(__file__).resolve().parents[2] / "build/wheels"  # cuDNN's headers, if weft's tests have them
        settings = [f"-DWEFT_CUDNN_FRONTEND={wheels}/include"] if wheels.exists() else []
        settings += ["-DWEFT_CUDA=ON", "-DWEFT_CUDA_ARCHITECTURES=80-virtual", f"-DCMAKE_CUDA_FLAGS={flags}"]
    subprocess.run(["cmake", "--preset", "cpu", *settings, f"-DCMAKE_CXX_FLAGS={flags}"],
                   cwd=tree, stdout=subprocess.DEVNULL, check=True)


def write(root, tree, breakages):
    """Writes the broken sources, where they differ from those of the last build."""
    by_file = {one["file"]: {} for one in breakages if (root / one["file"]).exists()}
    for one in breakages:
        if one.get("verdict") not in ("not compiled", "gone"):
            by_file[one["file"]].update(numbered(one))
    for name, edits in by_file.items():
        lines = (root / name).read_text().split("\n")
        for at, text in edits.items():
            lines[at] = text
        broken = "\n".join(lines)
        if (tree / name).read_text() != broken:
            (tree / name).write_text(broken)


def build(original, tree, breakages, tests):
    """Builds the tests; breakages in lines that the compiler refuses are taken back."""
    for _ in range(BUILDS):
        write(original, tree, breakages)
        targets = [test for test in tests if not ctest(test)] or ["weft"]
        done = subprocess.run(["cmake", "--build", "build/cpu", "--target", *targets, "--", "-k", "0"], cwd=tree, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode == 0:
            return
        (tree.parent / "build.log").write_text(done.stdout)
        refused = collections.defaultdict(list)
        for path, line in re.findall(r"^(\S+?)[:(](\d+)(?::\d+|\)): (?:fatal )?error:", done.stdout, re.MULTILINE):
            refused[os.path.relpath((tree / "build/cpu" / path).resolve(), tree)].append(int(line))
        # A function that ends without a value is reported where it ends.
        bad = [one for one in breakages if "verdict" not in one and
               any(0 <= line - int(at) - 1 <= REACH for at in one["edits"] for line in refused[one["file"]])]
        if not bad:
            break
        for one in bad:
            one["verdict"] = "not compiled"
    sys.exit(f"the broken copy does not build: {tree.parent / 'build.log'}")


def first_failure(tree, regex, number):
    """The name of the first test of CTest that fails while the breakage is active, None if all pass."""
    done = subprocess.run(["ctest", "-R", regex, "--stop-on-failure", "--timeout", "120", "--no-tests=error"],
                          cwd=tree / "build/cpu", env=os.environ | broken(number), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    failed = re.search(r"^\s*\d+ - (\S+) .*\(", done.stdout.partition("tests FAILED:")[2], re.MULTILINE)
    if (done.returncode == 0) == bool(failed):
        sys.exit(f"ctest -R '{regex}' ended with {done.returncode}:\n{done.stdout}")
    return failed[1] if failed else None


def ctest(name):
    return "." in name


def passes(tree, test, number, seconds):
    """Whether the test passes while the breakage is active: a test of CTest, or a program, which gets `seconds`."""
    if isinstance(test, str):
        return first_failure(tree, f"^{re.escape(test)}$", number) is None
    return test.passes(tree.parent, number, seconds)


def judge(tree, tests, one):
    """Sets the verdict of a breakage. Cases that are named after its file come before all others, then the program of its
    room, then those that take the least time."""
    for test, seconds in tests:
        near = () if isinstance(test, str) else test.near(one["file"])
        if near and not test.passes(tree.parent, one["number"], seconds, near):
            one["verdict"] = f"caught by {test.name}"
            return
    def order(entry):
        test, seconds = entry
        of_a_room = isinstance(test, str) or not test.cases
        return not (of_a_room and one["file"].startswith(name_of(test).removesuffix("_test"))), seconds

    caught = next((name_of(test) for test, seconds in sorted(tests, key=order)
                   if not passes(tree, test, one["number"], seconds)), None)
    one["verdict"] = f"caught by {caught}" if caught else "survived"


def name_of(test):
    return test if isinstance(test, str) else test.name


def with_limits(tree, names, device, times):
    """The tests, each with the seconds that it may take: so many times what it takes unbroken."""
    build, tests = tree / "build/cpu", []
    for name in names:
        test = name if ctest(name) else on_the_device(build, name) if device else whole(build, name)
        began = time.monotonic()
        if not passes(tree, test, 0, 3600):
            sys.exit(f"{name} does not pass unbroken: {tree.parent}/test-0.log")
        tests.append((test, 10 + times * (time.monotonic() - began)))
    return tests


def tell_and_keep(one, breakages, kept):
    print(f"{one['verdict']}: {one['file']}:{one['line']}: {one['kind']}", flush=True)
    kept.write_text(json.dumps(breakages, indent=1))


def judge_all(tree, tests, breakages, jobs, kept):
    """Judges the breakages that have no verdict, `jobs` at a time, and keeps the verdicts in a file."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        under_way = {pool.submit(judge, tree, tests, one): one for one in breakages if "verdict" not in one}
        for done in concurrent.futures.as_completed(under_way):
            done.result()
            tell_and_keep(under_way[done], breakages, kept)


def judge_survivors(tree, breakages, regex, targets, kept):
    """Runs tests of CTest for each breakage that survived and has not met them yet."""
    if any("verdict" not in one for one in breakages):
        sys.exit("some breakages are not judged yet: the command without --survivors comes first")
    subprocess.run(["cmake", "--build", "build/cpu", "--target", *targets], cwd=tree, stdout=subprocess.DEVNULL, check=True)
    if failed := first_failure(tree, regex, 0):
        sys.exit(f"{failed} does not pass unbroken")
    for one in breakages:
        if one["verdict"] != "survived" or one.get("survived") == regex:
            continue
        one["survived"] = regex
        if failed := first_failure(tree, regex, one["number"]):
            one["verdict"] = f"caught by {failed}"
        tell_and_keep(one, breakages, kept)


def copy_commit(root, folder):
    """Copies the last commit, and notes which it is beside the copy."""
    folder.mkdir()
    commit = subprocess.run(["git", "-C", root, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE, check=True)
    (folder.parent / "commit").write_bytes(commit.stdout)
    archive = subprocess.run(["git", "-C", root, "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def move_on(root, scratch, breakages):
    """Moves the copy to the last commit, whose tests may be new. What survived before has no verdict then."""
    original, tree, new = scratch / "original", scratch / "tree", scratch / "new"
    copy_commit(root, new)
    for one in breakages:
        texts = [(folder / one["file"]).read_text() if (folder / one["file"]).exists() else "" for folder in (original, new)]
        verdict = one.get("verdict", "not judged")
        if verdict in ("not compiled", "gone"):
            continue
        one.setdefault("before", verdict)
        if not moved(one, *texts):
            one["verdict"] = "gone"
        elif verdict == "survived":
            del one["verdict"]
            one.pop("survived", None)
    follow(tree, new, {one["file"] for one in breakages})
    shutil.rmtree(original)
    new.rename(original)


def follow(tree, new, broken):
    """Makes the files of the tree those of the new commit, except the broken ones, which write() writes."""
    names = {str(path.relative_to(new)) for path in new.rglob("*") if path.is_file()}
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        name = path.relative_to(tree)
        if name.parts[0] != "build" and str(name) not in names:
            path.unlink()
    for name in names - broken:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if not (tree / name).exists() or not filecmp.cmp(new / name, tree / name, shallow=False):
            shutil.copy2(new / name, tree / name)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=pathlib.Path, metavar="SCRATCH")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="NAME")
    parser.add_argument("--folders", nargs="+", default=FOLDERS, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=5, help="times that a test may take what it takes unbroken; 5")
    parser.add_argument("--again", action="store_true", help="judge the survivors again, with the last commit's tests")
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE", help="write what was found to this file, and end")
    parser.add_argument("--survivors", metavar="REGEX")
    parser.add_argument("--targets", nargs="+", default=["all"], metavar="NAME", help="what --survivors builds; all")
    parser.add_argument("--jobs", type=int, default=1, help="breakages at a time; 1")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    asked = parse()
    for number in (signal.SIGINT, signal.SIGHUP):  # ignored in the background, where tests would inherit that
        signal.signal(number, signal.SIG_DFL)
    root = pathlib.Path(__file__).resolve().parents[2]
    if asked.list:
        for one in draw(root, asked.folders, asked.count, asked.seed):
            for at, text in numbered(one).items():
                print(f"{one['file']}:{at + 1}: {one['kind']}: {text.strip()}")
        return
    asked.scratch.mkdir(parents=True, exist_ok=True)
    scratch = asked.scratch.resolve()
    original, tree, kept = scratch / "original", scratch / "tree", scratch / "breakages.json"
    if kept.exists():
        breakages = json.loads(kept.read_text())
    else:
        for copy in (original, tree):
            copy_commit(root, copy)
        breakages = draw(original, asked.folders, asked.count, asked.seed)
        configure(tree, breakages)
    if asked.again:
        move_on(root, scratch, breakages)
    if asked.record:
        return keep_record(asked.record, breakages, (scratch / "commit").read_text().strip())
    if asked.survivors:
        judge_survivors(tree, breakages, asked.survivors, asked.targets, kept)
        return report(breakages)
    build(original, tree, breakages, asked.tests)
    kept.write_text(json.dumps(breakages, indent=1))
    tests = with_limits(tree, asked.tests, on_devices(breakages), asked.seconds)
    judge_all(tree, tests, breakages, asked.jobs, kept)
    report(breakages)


if __name__ == "__main__":
    main()
