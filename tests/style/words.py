#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words that weft does not use, in comments, messages, help texts, pages and names of tests.

usage: words.py [--list] [PATH...]     all tracked files if none is named; --list counts the findings of each folder

A finding is a line FILE:LINE: with the words and what to write instead; the exit status is then 1. A line may keep a
word for a reason, which it states: a comment "allow-words: REASON" on that line. An exemption of nothing is a finding too.
"""
import collections
import os
import re
import subprocess
import sys

# Words that are not written, and what to write instead. A blank is any break between words, also at the end of a comment's line.
WORDS = [
    ("anew", "again, from scratch, or a verb that begins with re-"),
    ("whoever", "a noun: the rank that, the process that"),
    ("go on|goes on|went on|going on|gone on", "resume (a run), continue, keep (doing)"),
    ("it is none|they are none|it was none", "it is no ..., or say what is missing"),
    ("to be had", "unavailable, cannot load, not installed"),
    ("otherwise than", "different from, differently than"),
    ("says otherwise|say otherwise", "name the setting and its other value"),
    ("be it", "whether ... or ..."),
    ("likewise", "repeat the words, or delete the comment"),
    ("as good as", "nearly, or a number"),
    ("let go of|lets go of", "release"),
    ("sets out", "starts, is sent"),
    ("in place of it", "instead"),
    ("hereof|thereof|whereof|wherein|whereby|henceforth|hitherto", "plain words: of this, in which, by which, from now on"),
]
# The names of suites and tests are read alone, in a log.
SUBJECTS = {"It", "They", "Them", "Of", "That", "Those", "This", "Who", "Its", "By"}

# The list, and the file that tests it.
SELF = {"tests/style/words.py", "tests/style/words_test.py"}
PATTERNS = ["*.h", "*.cpp", "*.cu", "*.cuh", "*.inc", "*.in", "*.py", "*.sh", "*.sbatch", "*.cmake", "*CMakeLists.txt", "*.yaml",
            "*.yml", "*.md", "*.patch", ".ci/*", ".clang*", ".github/*", "docs/*.tsv", "launch/packages.txt", "tests/*.txt",
            "tests/*.supp"]
EXCEPT = [":!tests/**/golden/*", ":!LICENSES/*"]

EXEMPT = re.compile(r"(?:#|//|<!--|--) allow-words: \S.{9,}")
# The characters between two words of one sentence: blanks; at the end of a line also the marks of a string or a comment.
BREAK = str.maketrans("\n\t\"'/#*>|", " " * 9)
GAP = r"[ \t]+|[ \t]*[\"']?[ \t]*\n[ \t]*(?://+|#+|\*|[\"'>|])?[ \t]*"
PHRASES = {phrase: advice for phrases, advice in WORDS for phrase in phrases.split("|")}
# Python's "is None" is no finding.
EXACT = {phrase: re.compile(rf"(?<![\w-]){phrase.replace(' ', f'(?:{GAP})').replace('none', '(?-i:none)')}(?![\w-])", re.I)
         for phrase in PHRASES}
# A comment of at most four words that begins like this lacks its subject.
FRAGMENT = re.compile(r"(?:^|[;,{}(]) *//+ ((?:of|likewise|the same)(?: [^ ;:.\n]+){0,3})$", re.M)
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def phrases_in(text):
    """(where, phrase) of each finding. Searching flat text first is fast, and few texts have a finding."""
    flat = " ".join(text.lower().translate(BREAK).split())
    for phrase in PHRASES:
        if phrase in flat:
            for match in EXACT[phrase].finditer(text):
                yield match.start(), phrase


def test_findings(text):
    """(where, words, what to write instead) in the names of googletest's suites and tests."""
    for match in TEST.finditer(text):
        suite, name = match.groups()
        if suite.endswith("Test") and not suite.endswith("DeathTest"):
            yield match.start(), f"suite {suite}", "the name without Test"
        first, *_ = words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).split()
        if first in SUBJECTS:
            yield match.start(), f"test {suite}.{name}", "a name that begins with its subject"
        for _, phrase in phrases_in(" ".join(words)):
            yield match.start(), f'"{phrase}" in test {suite}.{name}', PHRASES[phrase]


def findings(path, text):
    """(line, words, what to write instead) of each finding in a file."""
    if path.endswith(".patch"):  # the sources that it changes are looked at where they are
        text = re.split(r"^(?:diff --git|---) ", text, maxsplit=1, flags=re.M)[0]
    found = [(at, f'"{phrase}"', PHRASES[phrase]) for at, phrase in phrases_in(text)]
    if path.endswith((".cpp", ".cu", ".h", ".cuh")):
        found += test_findings(text)
        found += [(match.start(1), f'the comment "{match[1]}"', "a sentence with a subject, or a unit; or delete it")
                  for match in FRAGMENT.finditer(text)
                  if match[0].lstrip()[0] != "/" or "//" not in text[:match.start()].rstrip("\n").rpartition("\n")[2]]
    found = {(line_of(text, at), words, advice) for at, words, advice in found}
    exempt = {}
    if "allow-words: " in text:
        exempt = {number: False for number, line in enumerate(text.split("\n"), 1) if EXEMPT.search(line)}
    for line, words, advice in sorted(found):
        if line in exempt:
            exempt[line] = True
        else:
            yield line, words, advice
    for line, used in exempt.items():
        if not used:
            yield line, "an exemption of nothing", "no exemption"


def tracked(paths):
    names = subprocess.run(["git", "ls-files", "-z", "--", *(paths or PATTERNS), *EXCEPT], check=True,
                           capture_output=True).stdout
    return [name for name in names.decode().split("\0") if name and name not in SELF and os.path.isfile(name)]


def room(path):
    parts = path.split("/")
    return "/".join(parts[:2 if parts[0] in ("tests", "data") else 1]) if len(parts) > 1 else "."


def main(arguments):
    root = subprocess.run(["git", "rev-parse", "--show-toplevel"], capture_output=True, text=True)
    if root.returncode:
        print(f"{os.getcwd()} is not in a git repository")
        return 77
    os.chdir(root.stdout.strip())
    counts = collections.Counter()
    for path in tracked([argument for argument in arguments if argument != "--list"]):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for line, words, advice in findings(path, text):
            counts[room(path)] += 1
            if "--list" not in arguments:
                print(f"{path}:{line}: {words}: {advice}")
    if "--list" in arguments:
        for name, count in sorted(counts.items()):
            print(f"{count:6} {name}")
    if not counts:
        print("words: nothing found")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
