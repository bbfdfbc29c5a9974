#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Made tensors.json: the hash of every tensor of a golden checkpoint, read by nothing of weft: tensors.py checkpoint-v2
Reads versions 1 and 2. Needs xxhash of PyPI."""

import itertools
import json
import pathlib
import sys

import numpy
import xxhash


def pieces(folder):
    """Buffer, name, shape, origin, extent, first element in that box, values: of each piece that a file holds."""
    for file in json.loads((folder / "manifest.json").read_text())["weft_checkpoint"]["files"]:
        stored = (folder / file["name"]).read_bytes()
        for s in file.get("slices", []):
            yield s["buffer"], s, 0, values(stored, s["offset"], int(numpy.prod(s["extent"])))
        if "index" not in file:
            continue
        at = file["index"]["offset"]
        index = json.loads(stored[at:at + file["index"]["bytes"]])
        for array in index["arrays"]:
            at = array["offset"]
            for box, begin, end in array["stretches"]:
                yield array["buffer"], index["tensors"][box], begin, values(stored, at, end - begin)
                at += 4 * (end - begin)


def values(stored, offset, count):
    return numpy.frombuffer(stored, "<f4", count, offset)


tensors = {}
for buffer, box, first, data in pieces(pathlib.Path(sys.argv[1])):
    tensor = tensors.setdefault(buffer, {}).setdefault(box["name"], numpy.full(box["shape"], numpy.nan, "<f4"))
    places = itertools.islice(numpy.ndindex(*box["extent"]), first, first + len(data))
    for place, value in zip(places, data):
        tensor[tuple(i + o for i, o in zip(place, box["origin"]))] = value
hashes = {buffer: {name: f"{xxhash.xxh3_64_intdigest(t.tobytes()):016x}" for name, t in sorted(named.items())}
          for buffer, named in tensors.items()}
(pathlib.Path(__file__).parent / "tensors.json").write_text(json.dumps(hashes, indent=1) + "\n")
