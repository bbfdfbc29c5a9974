#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The structure of the sources in figures, and the rules for rooms.

    structure.py [DIR]            rooms with files and lines, includes between them, circles, concepts and their rooms
    structure.py [DIR] --check    prints only what is wrong: exit status 1 if anything is

A room is a folder with C++ sources whose CMakeLists.txt calls weft_room(); older trees, whose top-level folders are the
rooms, are read too, so that two commits can be compared. Tests are left out. The rules that --check applies to every room:

  - it lists in ROOMS exactly the rooms whose headers its sources reach, directly or through other headers
  - those rooms are listed before it in the root's CMakeLists.txt, so that no include goes up and there is no cycle
  - each of its folders, at every depth (kernels/cuda/attention), has at most 30 C++ files and 5,000 lines;
    those of simulator/ and tests/ have at most 30 files too
  - no type name is defined by two headers in one namespace
  - each concept of CONCEPTS is in exactly one room; no command of launch/ is longer than 100 lines
  - only device code touches a tensor's memory, and on the host only code whose tensors are there by design
  - no header of kernels/ that others see names the CPU's maths (cpu::)
  - only parse_json of base/json.h parses JSON: it bounds the depth
"""

import argparse
import collections
import pathlib
import re
import sys

MAX_FILES, MAX_LINES, MAX_COMMAND = 30, 5000, 100
LICENCE = "// SPDX-License-Identifier:"

# Concepts that must be in one room, with a pattern of what defines each of them (not of what uses it).
CONCEPTS = {
    "evaluation: loss over a split": r"\bevaluate_loss\(Transformer& model",
    "evaluation: translating a split": r"^std::vector<\w[\w:]*> translate_(?:split|sentences|on_ranks)\(",
    "evaluation: loading a model": r"^LoadedModel load_model\(",
    "evaluation: text of a split": r"^ScoredText scored_text\(",
    "data: special tokens around a source": r"> (?:source_row|encode_source)\(const std::string& |^RowEncoder::Fit RowEncoder::encode_side\(",
    "benchmark: steps, synthetic data, peaks": r"^(?:BenchReport bench_steps|SyntheticData make_synthetic_data|\w+ measure_(?:ceiling|peak_gflops))\(",
    "planner's step": r"^\w+ plan_(?:layout|step)\(",
    "job: schema": r"^struct JobConfig \{",
    "job: checks across fields": r"^void check_job\(",
    "job: migration of stored jobs": r"^JobConfig parse_stored_job\(",
    "job: context length left to the model": r"\bcontext(?:_length)?\b[^;\n]*(?:== 0|> 0)[^;]*\bmax_length",
    "job: a tokenizer's stated vocabulary": r"\bstated_vocabulary\(const \w+& \w+(?:, [^)]*)?\) \{",
    "job: precision": r"^enum class (?:Compute)?Precision\b",
    "job: phase timeouts": r"\bdouble (?:save|save_seconds) = 600",
    "job: a sequence longer than the model's positions": r"has a (?:row|sequence) of \{\} tokens, but",
    "is a dataset prepared": r"exists\([^;]*(?:\"dataset\.json\"|kManifestName)",
    "base: UTF-8 decoding": r"^(?:inline )?[\w:<>]+ (?:utf8_at|decode_utf8|code_points|decode_utf8_at|next_code_point)\([^;]*\{$",
    "data: Unicode tables": r"include \"[\w/]*unicode_\w+\.inc\"|^constexpr Range k\w+\[\] = \{",
    "dropout key of a step": r"\"dropout \{\} \{\}\"",
    "retention": r"^\w[\w:<>]* (?:retire_checkpoints|choose_retired|apply_retention)\(",
}

# The code that may read a tensor's memory: the maths of backends and transfers between ranks; and on the host, code that
# works on tensors of the CPU by design: averages of checkpoints, and the copies that are written to and read from them.
DEVICE_MEMORY = re.compile(r"\bdevice_(?:raw|data)\b")
DEVICE_CODE = ("kernels/", "parallel/local/single_communicator.cpp", "parallel/local/dry_communicator.cpp",
               "parallel/mpi/chain.cpp", "parallel/mpi/communicator.cpp", "parallel/local/in_process.cpp",
               "parallel/nccl/communicator.cpp")
HOST_MEMORY = re.compile(r"(?:\.|->)(?:raw\(\)|(?:data|span)<)")
HOST_CODE = ("kernels/tensor.h", "checkpoint/average.cpp", "checkpoint/reader.cpp", "checkpoint/writer.cpp")

JSON_PARSER = re.compile(r"[Jj]son(?:<[^>]*>)?::(?:parse|accept|sax_parse)\(")
JSON_CODE = "base/json.cpp"
# Ways to print that may cut a line in two.
STDIO = re.compile(r"\b(?:f?printf|f?puts|f?putc|putchar|perror|fwrite|fmt::print)\(|\bstd::(?:cout|cerr|clog)\b")


# Headers of kernels/ that other rooms may see.
PUBLIC_KERNELS = re.compile(r"kernels/(?:device/|ops/)?[^/]+\.h$")

# Separate programs inside a room, which link what they measure.
PROGRAMS = ("bench/micro",)
# Folders that are not rooms of weft.
OTHERS = ("simulator", "tests")


class Room:
    def __init__(self, name):
        self.name, self.files, self.folders = name, [], collections.Counter()
        self.lines, self.declared, self.reached, self.direct = 0, None, set(), collections.Counter()


def cpp(folder):
    return sorted(p for p in folder.iterdir() if p.suffix in (".h", ".cpp", ".cu", ".cuh"))


def find_rooms(root):
    """The rooms in the order in which they are built, by name."""
    top = (root / "CMakeLists.txt").read_text()
    order = re.search(r"foreach\(room\s+(.*?)\)", top, re.S).group(1).split()
    rooms = {}
    for name in order:
        room = rooms[name] = Room(name)
        text = (root / name / "CMakeLists.txt").read_text()
        call = re.search(r"weft_room\((.*?)\n?\)", text, re.S).group(1)
        call = re.sub(r"\$\{.*?\}", "", call)
        words, key, lists = call.split()[1:], None, collections.defaultdict(list)
        for word in words:
            if word in ("ROOMS", "FOLDERS", "INSIDE", "PUBLIC", "HIDDEN", "EXCEPT", "LINK"):
                key = word
            else:
                lists[key].append(word)
        room.declared = set(lists["ROOMS"])
        for folder in own_folders(root, name, order):
            for path in cpp(root / folder):
                room.files.append(f"{folder}/{path.name}")
                room.folders[folder] += 1
    return rooms


def own_folders(root, name, order):
    """A room's folders at every depth, without those of other rooms and of separate programs inside it."""
    found = [name]
    for folder in found:
        for path in sorted(p for p in (root / folder).iterdir() if p.is_dir()):
            inner = f"{folder}/{path.name}"
            if inner not in order and inner not in PROGRAMS:
                found.append(inner)
    return found


def room_of(path, rooms):
    folder = str(pathlib.PurePosixPath(path).parent)
    while folder not in rooms and "/" in folder:
        folder = folder.rsplit("/", 1)[0]
    return folder


def read_includes(root, rooms):
    texts, includes = {}, {}
    for room in rooms.values():
        for path in room.files:
            texts[path] = (root / path).read_text()
            includes[path] = re.findall(r'^\s*#\s*include\s*"([^"]+)"', texts[path], re.M)
            room.lines += texts[path].count("\n")

    def reach(path, seen):
        for other in includes.get(path, []):
            if other not in seen and other in includes:
                seen.add(other)
                reach(other, seen)
        return seen

    for room in rooms.values():
        for path in room.files:
            for other in includes[path]:
                if room_of(other, rooms) != room.name:
                    room.direct[room_of(other, rooms)] += 1
            room.reached |= {room_of(other, rooms) for other in reach(path, set())} - {room.name}
    return texts


def circles(rooms):
    """Rooms that reach themselves through direct includes."""
    found = []
    for start in rooms:
        seen, waiting = set(), list(rooms[start].direct)
        while waiting:
            name = waiting.pop()
            if name in rooms and name not in seen:
                seen.add(name)
                waiting += rooms[name].direct
        if start in seen:
            found.append(start)
    return found


def strip(text):
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def type_definitions(texts):
    """(namespace, type) -> the headers that define it outside any other type."""
    found = collections.defaultdict(set)
    token = re.compile(r"\bnamespace\s+([\w:]*)\s*\{|\b(?:enum\s+(?:class\s+|struct\s+)?|struct\s+|class\s+)(\w+)"
                       r"(?:\s+final)?\s*(?::[^;{()]*)?\{|\busing\s+(\w+)\s*=|[{}]")
    for path, text in texts.items():
        if not path.endswith(".h"):
            continue
        scopes = []
        for match in token.finditer(strip(text)):
            whole = match.group(0)
            space = "::".join(s for kind, s in scopes if kind == "namespace")
            outside = all(kind == "namespace" for kind, _ in scopes)
            if whole == "}":
                if scopes:
                    scopes.pop()
                continue
            if match.group(3):
                if outside:
                    found[space, match.group(3)].add(path)
                continue
            if match.group(2) and outside:
                found[space, match.group(2)].add(path)
            scopes.append(("namespace", match.group(1)) if whole.startswith("namespace") else ("other", ""))
    return found


def concept_rooms(texts, rooms, concepts=CONCEPTS):
    result = {}
    for concept, pattern in concepts.items():
        lines = re.compile(pattern, re.M)
        result[concept] = sorted({room_of(p, rooms) for p, t in texts.items() if lines.search(t)})
    return result


def problems(root, rooms, texts, concepts=CONCEPTS):
    names = list(rooms)
    for room in rooms.values():
        for other in sorted(room.reached - room.declared):
            yield f"{room.name} reaches {other}, which its ROOMS do not list"
        for other in sorted(room.declared - room.reached):
            yield f"{room.name} lists {other}, which none of its sources reaches"
        for other in room.reached | room.declared:
            if other in names and names.index(other) > names.index(room.name):
                yield f"{room.name} stands below {other} and includes it"
        for folder, count in room.folders.items():
            lines = sum(texts[p].count("\n") for p in room.files if str(pathlib.PurePosixPath(p).parent) == folder)
            if count > MAX_FILES or lines > MAX_LINES:
                yield f"{folder} has {count} files and {lines} lines; at most {MAX_FILES} and {MAX_LINES}"
    for folder in sorted(p for top in OTHERS for p in (root / top).rglob("*") if p.is_dir()):
        if len(cpp(folder)) > MAX_FILES:
            yield f"{folder.relative_to(root)} has {len(cpp(folder))} files; at most {MAX_FILES}"
    for room in circles(rooms):
        yield f"{room} includes rooms that include it"
    for (space, name), paths in sorted(type_definitions(texts).items()):
        if len(paths) > 1:
            yield f"{space}::{name} is defined in {', '.join(sorted(paths))}"
    for concept, where in concept_rooms(texts, rooms, concepts).items():
        if not where:
            yield f"nothing is {concept}: mend its pattern in CONCEPTS"
        if len(where) > 1:
            yield f"{concept} lives in {', '.join(where)}"
    for path, text in texts.items():
        if DEVICE_MEMORY.search(text) and not path.startswith(DEVICE_CODE):
            yield f"{path} touches a device's memory: use an operation, upload or download"
        if HOST_MEMORY.search(text) and path not in HOST_CODE:
            yield f"{path} touches a tensor's memory on the host: use an operation, upload or download"
        if JSON_PARSER.search(strip(text)) and path != JSON_CODE:
            yield f"{path} parses JSON by itself: use parse_json, which bounds how deep it goes"
        if STDIO.search(strip(text)):
            yield f"{path} prints through stdio: use base/output.h, which never cuts a line"
        if PUBLIC_KERNELS.match(path) and "cpu::" in text:
            yield f"{path} names cpu::, which is private to kernels/"
        lines = text.count("\n") - text.startswith(LICENCE)
        if path.startswith("launch/commands/") and lines > MAX_COMMAND:
            yield f"{path} has {lines} lines; a command has at most {MAX_COMMAND}"


def show(root, rooms, texts):
    print(f"{'room':18} {'files':>5} {'lines':>6}  includes from")
    for room in rooms.values():
        arrows = ", ".join(f"{n} {c}" for n, c in sorted(room.direct.items(), key=lambda x: list(rooms).index(x[0])
                                                         if x[0] in rooms else -1))
        print(f"{room.name:18} {len(room.files):5} {room.lines:6}  {arrows}")
    print(f"{'all':18} {sum(len(r.files) for r in rooms.values()):5} {sum(r.lines for r in rooms.values()):6}")
    largest = max(rooms.values(), key=lambda r: r.lines)
    print(f"\nlargest room: {largest.name}, {100 * largest.lines // sum(r.lines for r in rooms.values())} % of the lines")
    print(f"circles: {', '.join(circles(rooms)) or 'none'}")
    twice = [f"{s}::{n}" for (s, n), p in sorted(type_definitions(texts).items()) if len(p) > 1]
    print(f"types that two headers define: {', '.join(twice) or 'none'}")
    print("\nconcept, and the rooms that it lives in")
    for concept, where in concept_rooms(texts, rooms).items():
        print(f"  {concept:46} {', '.join(where) or '-'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    rooms = find_rooms(arguments.root)
    texts = read_includes(arguments.root, rooms)
    if not arguments.check:
        show(arguments.root, rooms, texts)
        return 0
    found = list(problems(arguments.root, rooms, texts))
    print("\n".join(found) or "the structure is as it should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
