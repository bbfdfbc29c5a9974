#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the documentation names exists: names.py ROOT WEFT

It reads README.md and the other pages beside it (except CHANGELOG.md, which names what is gone), docs/*.md,
bench/README.md and simulator/README.md. In `code` and in blocks that are not run, or need public files,

  - a path in a folder of the sources must exist, and so must a source file that is named without its folder
  - `section.key` and `key: value` must be keys that `weft keys` prints, with a value that they allow
  - commands of weft and their options, scripts, presets, targets, ctest names and GoogleTest filters must exist
  - words_with_underscores, CamelCase, a::b and call() must occur in the sources; in `X` (`file.h`), and in a row of a
    table headed "file | what goes in", they must occur in a file of that row
  - figures such as 71.3/47.9 must appear elsewhere on the page: it explains them

A block that is not run must name at least one such thing, and what it downloads from a host that tests/public_data.txt names
must be one of that list's addresses, whose content is known. A link must lead to a page, and to a heading on it; a link to a
stored result must stand beside that result's commit and figures. A table needs a header row, or it shows as text. The
comment <!-- rows: FILE PATTERN --> above a table says where the names in its first column are listed: it must have them all.
"""

import fnmatch
import json
import os
import pathlib
import re
import sys

import page
import sources

# Names that are right, though nothing in weft has them, and what each name is.
FOREIGN = {
    "model.shared.weight": "a tensor of Marian models",
    "model.bin": "a file of CTranslate2",
    "model_type: weft": "a line of an exported config.json",
    "key: old -> new": "how changes of a job are printed",
    "bleu_seconds": "a field of metrics.jsonl that is made of a metric's name",
    "NCCL_SOCKET_IFNAME": "a variable that NCCL reads",
    "__CUDA_ARCH__": "a macro of nvcc",
    "--use_fast_math": "an option of nvcc",
    "USE_CUDNN": "a variable of llm.c's Makefile",
    "NO_MULTI_GPU": "another",
    "--hostfile": "an option of mpirun",
    "--constraint": "an option of sbatch",
    "--time-format": "an option of dmesg",
    "device_function": "a name in an example of PTX",
}
# First parts of names that the sources put together from two parts.
JOINED = re.compile(r"^(?:WEFT_CUDA_DEVICE_|lib(?=weft_))")
PLACEHOLDER = re.compile(r"[A-Z]{2}|\b[A-Z]\b|\.\.\.|[<>$~{}]")
PATH = re.compile(r"[\w.*/\[\]+-]+$")
FILE = re.compile(r"\.(?:h|cpp|cu|cuh|inc|py|sh|sbatch|cmake)$")


HINT = "hint: correct the page; a right name that belongs to another program goes into FOREIGN in tests/docs/names.py"


class Checker:
    def __init__(self, tree, program, name):
        self.tree, self.program, self.name = tree, program, name
        self.page = page.Page(tree.read(name))
        self.problems = []

    def problem(self, line, text):
        self.problems.append(f"{self.name}:{line}: {text}")

    def check(self):
        for line, span in self.page.spans:
            self.span(line, span)
        for line, span, name in self.page.placed_spans:
            self.placed(line, span, [name])
        for table in self.page.tables:
            self.table(table)
        for line, target, label, around in self.page.links:
            self.link(line, target)
            if target.endswith(".json"):
                self.result(line, target, label, around)
        for block in self.page.blocks:
            if block.comment.startswith(("not run:", "needs:")):
                self.block(block)
                self.addresses(block)
        return self.problems

    # Checks one span of `code`.
    def span(self, line, span):
        if span in FOREIGN or "was renamed" in span:  # the message about an old key names it
            return
        words = span.split()
        if re.match(r"[\d.]+(/[\d.]+)+$", span):
            if self.page.text.count(span) < 2:
                self.problem(line, f"'{span}' is explained here, but appears nowhere else on this page")
        elif words and re.match(r"\w+_test$", words[0]) and len(words) == 2:
            if not self.tree.selects(*words):
                self.problem(line, f"{words[0]} has no test '{words[1]}'")
        elif words and (words[0] in ("weft", "mpirun", "ctest", "cmake") or words[0].startswith(("./", "build/"))):
            self.command(line, words)
        elif PATH.match(span) and ("/" in span or FILE.search(span)):
            self.path(line, span)
        elif not self.keys(line, span):
            self.words(line, span)

    def path(self, line, path):
        if path.startswith("/"):
            return
        if path.startswith("../"):
            inside = os.path.normpath(os.path.join(os.path.dirname(self.name), path))
            if inside.split("/")[0] not in self.tree.top:
                return self.problem(line, f"{path} is no part of weft's sources")
            path = inside
        parts = path.split("/")
        whole = [p for i, p in enumerate(parts) if not any(PLACEHOLDER.search(q) for q in parts[: i + 1]) or path == "README.md"]
        shortened = "/".join(whole).rstrip("/")
        if not shortened:
            return
        if parts[0] in self.tree.top:
            found = [n for n in self.tree.files if fnmatch.fnmatch(n, shortened) or n.startswith(shortened + "/")]
        elif FILE.search(path) and whole == parts:
            found = self.tree.named(path) or re.search(r"[\"<' (/]" + re.escape(path) + r"\b", self.tree.text)
        else:
            return
        if not found:
            self.problem(line, f"there is no {shortened}")

    # Checks the keys of a job and their values; returns whether the span is about them.
    def keys(self, line, span):
        sections = {key.split(".")[0] for key in self.program.keys if "." in key}
        about = False
        for key in re.findall(r"(?<![\w./-])[a-z_]+(?:\[\])?(?:\.[a-z_]+(?:\[\])?)+(?![\w/(.])", span):
            if key.split(".")[0] in sections and not self.file_name(key):
                about = True
                if key not in self.program.keys:
                    self.problem(line, f"a job has no key '{key}'")
        if not re.match(r"[a-z_][\w.]*: \S", span) or span.startswith("weft: "):
            return about and not re.search(r"[A-Z( ]", span)
        for key, value in re.findall(r"(?<![\w.])([a-z_][\w.]*): ([^\s,}]+)", span):
            self.value(line, key, value)
        return True

    def value(self, line, key, value):
        allowed = self.program.values_of(key)
        if allowed is None:
            if key != "extends":
                self.problem(line, f"a job has no key '{key}'")
        elif re.match(r"[a-z]\w*$", value) and all(a.startswith(("one of ", "true or false")) for a in allowed):
            known = {v for a in allowed for v in re.split(r", | or ", a.removeprefix("one of "))}
            if value not in known:
                self.problem(line, f"{key} is never '{value}'; it is one of {', '.join(sorted(known))}")

    def file_name(self, name):
        return re.search(r"\.(?:json|jsonl|yaml|txt|tsv|gz|safetensors|model|lock|journal|before|tmp|cpp|h)$", name)

    def words(self, line, span, text=None, where="weft's sources"):
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span):
            if option not in self.program.every_option() and option not in self.tree.text and option not in FOREIGN:
                self.problem(line, f"nothing has an option {option}")
        known = self.tree.words if text is None else set(re.findall(r"\w+", text))
        for word, call in re.findall(r"(?<![\w\\%<|-])([A-Za-z_][\w:]*\w)(\(?)", span):
            names = word.split("::")
            if not (call or len(names) > 1 or "_" in word.strip("_") or re.search(r"[a-z0-9][A-Z]", word)):
                continue
            if re.search(r"\b(?:NAME|ID)\b|NAME_|_ID\b", word):
                continue
            for name in names:
                if not (name in known or JOINED.sub("", name) in known or name in FOREIGN or self.program.values_of(name)):
                    self.problem(line, f"'{name}' does not occur in {where}")

    # What a page places in a file must occur in that file.
    def placed(self, line, span, names):
        files = [f for name in names if not PLACEHOLDER.search(name) for f in self.tree.named(name)]
        exact = [f for f in files if f in names]
        files = exact or files
        if files and not re.search(r"[\s/=-]", span.split("(")[0]) and not FILE.search(span):
            self.words(line, span, "\n".join(self.tree.read(f) for f in files), " or ".join(names))

    def table(self, table):
        if not re.match(r"\|[\s:|-]+\|$", table.rows[1] if len(table.rows) > 1 else ""):
            return self.problem(table.line, "this table has no header row; is there an empty line inside a table?")
        if table.rows[0].startswith("| file | what goes in |"):
            for number, row in enumerate(table.rows[2:], table.line + 2):
                first, rest = (re.findall(r"`([^`]+)`", part) for part in row.strip("|").split("|", 1))
                files = [n for n in first if FILE.search(n)]
                for span in rest if files else []:
                    self.placed(number, span, files + [n for n in rest if FILE.search(n)])
        if table.comment.startswith("rows:"):
            name, pattern = table.comment.removeprefix("rows:").strip().split(" ", 1)
            wanted = {n for listed in re.findall(pattern, self.tree.read(name), re.M) for n in listed.split()}
            have = {n for row in table.rows[2:] for n in re.findall(r"`([^`]+)`", row.strip("|").split("|")[0])}
            for missing in sorted(wanted - have):
                self.problem(table.line, f"this table lacks '{missing}', which {name} lists")
            for extra in sorted(have - wanted):
                self.problem(table.line, f"this table has '{extra}', which {name} does not list")

    def link(self, line, target):
        if "://" in target:
            return
        name, _, heading = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(self.name), name)) if name else self.name
        if not (self.tree.root / path).exists():
            self.problem(line, f"the link to {target} leads nowhere")
        elif heading and path.endswith(".md") and heading not in page.Page(self.tree.read(path)).headings:
            self.problem(line, f"the link to {target}: {path} has no such heading")

    # Checks the text beside a link to a stored result: its commit, and the figures of the link itself.
    def result(self, line, target, label, around):
        path = self.tree.root / os.path.dirname(self.name) / target
        text = path.read_text() if path.exists() else "{}"
        said = json.loads(text).get("said", label)
        stated = re.findall(r"\b([0-9a-f]{7,12})\b", " ".join(re.findall(r"commits?\s+([^(\[;]*)", around)))
        for commit in stated:
            if commit not in text:
                self.problem(line, f"{target} is not of commit {commit}")
        # The parts of a stage may be of several commits.
        for commit in json.loads(text).get("commits", []):
            if stated and not any(commit.startswith(name) for name in stated):
                self.problem(line, f"{target} is also of commit {commit}")
        for figure in re.findall(r"\d+", label):
            if not re.search(rf"\b{figure}\b", said):
                self.problem(line, f"{target} says '{said}', not '{label}'")

    # An address on a host of the list of public files; it may end in variables of the shell.
    def addresses(self, block):
        if "tests/public_data.txt" not in self.tree.files:
            return
        known = re.findall(r"https://\S+", self.tree.read("tests/public_data.txt"))
        hosts = {address.split("/")[2] for address in known}
        for number, text in enumerate(block.text.splitlines(), block.line + 1):
            for address in re.findall(r"https://[^\s'\"|)]+", text):
                begin = address.partition("$")[0]
                if address.split("/")[2] in hosts and not any(k == address or ("$" in address and k.startswith(begin)) for k in known):
                    self.problem(number, f"tests/public_data.txt, which knows this host, has no {address}")

    # Checks a block that no test runs: all it names must exist, and it must name something.
    def block(self, block):
        named = 0
        before = len(self.problems)
        if block.language == "sh":
            named = sum(self.command(line, words) for line, words in block.commands())
        else:
            for number, text in enumerate(block.text.splitlines(), block.line + 1):
                for key, value in re.findall(r"([a-z_][\w.]*): *([^\s,}]*)", text.partition("#")[0]):
                    self.value(number, key, value)
                    named += 1
        if not named and len(self.problems) == before:
            self.problem(block.line, "this block is not run and names nothing that could be checked: no command, script, "
                                     "test or key of weft's")

    # Checks one command; returns how many of its parts were found to exist.
    def command(self, line, words):
        while words and re.match(r"[A-Z_]+=", words[0]):
            words = words[1:]
        for launcher in ("mpirun", "srun"):
            if words and words[0] == launcher:
                words = words[next((i for i, w in enumerate(words) if os.path.basename(w) == "weft"), len(words)):]
        if not words:
            return 0
        name = re.sub(r"^\./", "", words[0])
        named = sum(self.argument(line, word) for word in words[1:])
        if os.path.basename(name) == "weft":
            return named + self.weft(line, words[1:])
        if name in ("cmake", "ctest"):
            return named + self.build_command(line, words[1:])
        if name.startswith("build/"):
            return named + self.built(line, name, words[1:])
        if name.split("/")[0] in self.tree.top:
            if name not in self.tree.files:
                self.problem(line, f"there is no {name}")
                return named
            for option in (w.split("=")[0] for w in words[1:] if w.startswith("--")):
                if option not in self.tree.read(name):
                    self.problem(line, f"{name} has no option {option}")
            return named + 1
        return named

    def argument(self, line, word):
        if PLACEHOLDER.search(word) or not PATH.match(word):
            return 0
        if word.split("/")[0] in self.tree.top and "/" in word:
            self.path(line, word)
            return 1
        return 1 if word.startswith("corpora/") and any(w in self.tree.text for w in (word, os.path.dirname(word) + "/")) else 0

    def weft(self, line, words):
        command = words[0] if words else "--version"
        if command.startswith("--") or PLACEHOLDER.search(command):
            return 0
        if command not in self.program.options:
            self.problem(line, f"weft has no command '{command}'")
            return 0
        for number, word in enumerate(words):
            option = word.split("=")[0]
            if option.startswith("--") and option not in self.program.options[command]:
                self.problem(line, f"weft {command} has no option {option}")
            elif option == "--set" and number + 1 < len(words):
                key = words[number + 1].split("=")[0].strip("'")
                if key not in self.program.keys:
                    self.problem(line, f"a job has no key '{key}'")
        return 1

    def build_command(self, line, words):
        named = 0
        known = {"--preset": ("preset", self.tree.presets), "--target": ("target", self.tree.targets),
                 "-L": ("label of tests", self.tree.labels)}
        for option, value in zip(words, words[1:] + [""]):
            if option in known and value and not PLACEHOLDER.search(value):
                named += 1
                what, there = known[option]
                if value not in there:
                    self.problem(line, f"there is no {what} '{value}'")
            elif option == "-R":
                named += 1
                if not self.tree.runs(value):
                    self.problem(line, f"there is no test of ctest's that '{value}' matches")
            elif match := re.match(r"-D(WEFT_\w+)", option):
                named += 1
                self.words(line, match[1])
        return named

    def built(self, line, path, words):
        preset, *folder = path.split("/")[1:]
        binary = folder.pop() if folder else ""
        if preset not in self.tree.presets and path not in self.tree.text:
            self.problem(line, f"there is no preset {preset}")
        elif binary.endswith("_test") and self.tree.binaries.get(binary, ("",))[0] != "/".join(folder):
            self.problem(line, f"nothing builds {path}")
        for word in words:
            if word.startswith("--gtest_filter=") and not self.tree.selects(binary, word.partition("=")[2].strip("'")):
                self.problem(line, f"{binary} has no test '{word.partition('=')[2]}'")
        return 1


def pages(tree):
    return [n for n in tree.files if re.match(r"(?:[^/]+|docs/[^/]+|(?:bench|simulator)/README)\.md$", n) and n != "CHANGELOG.md"]


def main(root, weft):
    tree, program = sources.Sources(pathlib.Path(root)), sources.Program(weft)
    problems = [problem for name in pages(tree) for problem in Checker(tree, program, name).check()]
    print("\n".join([*problems, HINT] if problems else [f"{len(pages(tree))} pages name what exists"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
