# SPDX-License-Identifier: Apache-2.0
"""Programs of tests that judge breakages: whole, or with the cases that CTest runs on the simulated device."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile


def broken(number):
    """What a test's environment says of the breakage that is active, on the host and in device code."""
    return {"WEFT_BREAK": str(number), "WEFT_CUDA_DEVICE_ENVREG0": str(number)}


@dataclasses.dataclass
class Program:
    """A program of googletest. Without cases all of its tests are meant."""
    name: str
    binary: pathlib.Path
    cases: tuple[str, ...] = ()
    environment: dict[str, str] = dataclasses.field(default_factory=dict)

    def near(self, file):
        """The cases that are named after a source, or else after its folder; none where no case or every case is."""
        path = pathlib.PurePath(file)
        for words in (path.stem.split("_"), path.parent.name.split("_")):
            while words:
                found = tuple(case for case in self.cases if "".join(words) in case.lower())
                if found:
                    return found if len(found) < len(self.cases) else ()
                words.pop()
        return ()

    def passes(self, folder, number, seconds, cases=()):
        """Whether the cases, or else all of the program's, pass while the breakage is active, within `seconds`. What the
        program leaves is removed; `folder` keeps its words. Kernels are loaded at the start: CTest runs each case by itself,
        but in a whole program the first use of a kernel could meet a communicator that waits, and loading waits for that."""
        with tempfile.TemporaryDirectory(dir=folder) as scratch, \
                open(folder / f"test-{number}.log", "w", encoding="utf-8") as log:
            environment = os.environ | self.environment | broken(number) | {
                "OMP_NUM_THREADS": "1", "CUDA_MODULE_LOADING": "EAGER",
                "TMPDIR": scratch, "TEST_TMPDIR": scratch, "GTEST_FILTER": ":".join(cases or self.cases or ("*",))}
            program = subprocess.Popen([self.binary, "--gtest_brief=1", "--gtest_fail_fast"], cwd=self.binary.parent,
                                       env=environment, stdout=log, stderr=log, start_new_session=True)
            try:
                return program.wait(timeout=seconds) == 0
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, 9)
                program.wait()
                return False


def whole(build, name):
    return Program(name, next(path for path in (build / "tests").rglob(name) if path.is_file()))


def environment_of(test):
    """What CTest sets for a test; of modifications those that put a folder before others."""
    properties = {one["name"]: one["value"] for one in test["properties"]}
    environment = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", ()))
    for entry in properties.get("ENVIRONMENT_MODIFICATION", ()):
        name, folder = re.fullmatch(r"(\w+)=path_list_prepend:(.*)", entry).groups()
        environment[name] = ":".join(filter(None, (folder, os.environ.get(name))))
    return environment


def on_the_device(build, name):
    """The program with its cases on the simulated device, which CTest labels cuda and runs one by one."""
    told = subprocess.run(["ctest", "--show-only=json-v1", "-L", "cuda"], cwd=build, stdout=subprocess.PIPE, check=True)
    cases, environment, binary = [], {}, None
    for test in json.loads(told.stdout)["tests"]:
        command = test.get("command", [""])
        if pathlib.Path(command[0]).name != name or not test["name"].startswith("cuda."):
            continue
        asked = [option.removeprefix("--gtest_filter=") for option in command if option.startswith("--gtest_filter=")]
        if asked and not re.search(r"[*:]", asked[0]):
            cases += asked
            environment, binary = environment_of(test), pathlib.Path(command[0])
    if not cases:
        raise SystemExit(f"{name} has no cases on the simulated device: see ctest -N -L cuda")
    return Program(name, binary, tuple(cases), environment)
