# SPDX-License-Identifier: Apache-2.0
"""Everything a page may name: the files, words, tests and targets of the sources, and the commands and keys of the program."""

import fnmatch
import json
import os
import re
import subprocess

CODE = (".h", ".cpp", ".cu", ".cuh", ".inc", ".py", ".sh", ".cmake", ".sbatch", ".yaml")
TEXT = CODE + (".txt", ".json", ".conf")
# Files that prove no name: this check's own examples, patches, and files with the former names of keys.
NO_PROOF = re.compile(r"^(?:docs|tests/docs)/|\.patch$|renamed_keys|/golden")
# How weft prints a key with its allowed values, and how it prints a section.
FIELD = re.compile(r"^  ([a-z][\w.\[\]]*) = .*  \((.*)\)$", re.M)
SECTION = re.compile(r"^([a-z][\w.\[\]]*): ", re.M)
LARGEST = 1 << 20  # bytes; a larger file is data


class Sources:
    """The tree under a root, without build folders and everything else that git ignores."""

    def __init__(self, root):
        self.root = root
        self.ignored = (root / ".gitignore").read_text().split()
        self.files = sorted(self._walk())
        self.top = {name.split("/")[0] for name in self.files if "/" in name}
        self._texts = {}
        proof = [n for n in self.files if n.endswith(TEXT) and not NO_PROOF.search(n) and (root / n).stat().st_size < LARGEST]
        self.text = "\n".join(self.read(name) for name in proof)
        self.words = set(re.findall(r"\w+", self.text))
        cmake = "\n".join(self.read(n) for n in self.files if n.endswith(("CMakeLists.txt", ".cmake")))
        self.targets = set(re.findall(r"(?:add_executable|add_library|add_custom_target|weft_\w*test|weft_room)\((\S+)", cmake))
        self.labels = {label for text in re.findall(r"LABELS? \"?([\w;]+)", cmake) for label in text.split(";")}
        presets = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
        self.presets = {p["name"] for p in presets if not p.get("hidden")}
        self._find_tests(cmake)

    def _walk(self):
        for folder, inside, names in os.walk(self.root):
            here = "/" + os.path.relpath(folder, self.root) + "/" if folder != str(self.root) else "/"
            inside[:] = [i for i in inside if i != ".git" and not any(
                fnmatch.fnmatch(f"{here}{i}/", p if p.startswith("/") else f"*/{p}") for p in self.ignored)]
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), self.root)

    def _find_tests(self, cmake):
        # Loops over given names are unrolled; any remaining ${...} matches everything.
        cmake = re.sub(r"^foreach\((\w+)([^)$]*)\)\n(.*?)^endforeach\(\)", lambda loop: "".join(
            loop[3].replace("${%s}" % loop[1], value) for value in loop[2].split()), cmake, flags=re.M | re.S)
        self.ctests = {re.sub(r"\$\{[^}]*\}", "*", name) for name in re.findall(r"add_test\(NAME (\S+)", cmake)} - {"*.*"}
        self.binaries = {}  # by binary: its folder, and the cases of the sources that its CMakeLists.txt lists
        for name in self.files:
            if name.startswith("tests/") and name.endswith("CMakeLists.txt"):
                for binary, rest in re.findall(r"weft_test\((\w+)([^)]*)\)", self.read(name)):
                    self._add_binary(os.path.dirname(name), binary, rest)
                for binary in re.findall(r"weft_cuda_test\((\w+)", self.read(name)):
                    self.ctests |= {f"cuda.{case}" for case in self.binaries.get(binary, ("", []))[1]}

    def _add_binary(self, folder, binary, arguments):
        cases = [case for source in re.findall(r"[\w./]+\.cpp", arguments)
                 for case in self._cases(os.path.normpath(f"{folder}/{source}"))]
        self.binaries[binary] = (folder, cases)
        prefix = "cuda." if " CUDA" in arguments else ""
        ranks = re.search(r"MPI_RANKS ([\d ]+)", arguments)
        self.ctests |= {f"{binary}.{r}" for r in ranks[1].split()} if ranks else {prefix + case for case in cases}

    def _cases(self, name):
        if name not in self.files:
            return []
        text = self.read(name)
        found = [f"{suite}.{case}" for suite, case in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", text, re.M)]
        instances = re.findall(r"INSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*(\w+)", text)
        return found + [f"{i}/{case}" for case in found for i, suite in instances if case.startswith(suite + ".")]

    def read(self, name):
        if name not in self._texts:
            self._texts[name] = (self.root / name).read_text(encoding="utf-8", errors="replace")
        return self._texts[name]

    def named(self, path):
        """The files that a path stands for, which may contain * or be only the last part of a path."""
        path = os.path.normpath(path)
        return [n for n in self.files if fnmatch.fnmatch(n, path) or n.startswith(path + "/") or fnmatch.fnmatch(n, "*/" + path)]

    def selects(self, binary, pattern):
        """Whether every part of a GoogleTest filter selects a case of the binary."""
        cases = self.binaries.get(binary, ("", []))[1]
        parts = [re.sub(r"(\.[^/]*)/.*", r"\1", part) for part in pattern.split("-")[0].split(":")]
        return all(any(fnmatch.fnmatchcase(case, part) for case in cases) for part in parts)

    def runs(self, expression):
        """The ctest tests whose names a regular expression selects."""
        wanted = re.compile(expression)
        loose = re.sub(r"[\\^$()]", "", expression).split("|")
        return [n for n in self.ctests if wanted.search(n) or "*" in n and any(fnmatch.fnmatch(part, n) for part in loose)]


class Program:
    """The commands, options and keys that weft prints."""

    def __init__(self, weft):
        self._weft = weft
        self.options, self.fields = {}, {}  # options: by command; fields: of options like --search
        for command in re.findall(r"^  ([a-z][\w-]*)  ", self._says("--help"), re.M):
            help_text = self._says(command, "--help")
            self.options[command] = set(re.findall(r"--[a-z][\w-]*", help_text)) | {"--help"}
            self.fields.update(FIELD.findall(help_text))
        keys = self._says("keys")
        self.keys = {**dict(FIELD.findall(keys)), **{key: "" for key in SECTION.findall(keys)}}

    def _says(self, *arguments):
        return subprocess.run([self._weft, *arguments], capture_output=True, text=True, check=True).stdout

    def every_option(self):
        return set().union(*self.options.values()) | {"--version"}

    def values_of(self, name):
        """The values allowed for the keys and fields of that name (its last part, or all of it); None if nothing has the name."""
        found = [allowed for key, allowed in [*self.keys.items(), *self.fields.items()]
                 if f".{key}".replace("[]", "").endswith(f".{name}")]
        return found or None
