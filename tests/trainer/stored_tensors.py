# SPDX-License-Identifier: Apache-2.0
"""Reads the weights of a checkpoint of one rank, for comparisons with other programs."""

import json

import numpy
import torch


def stored_tensors(checkpoint):
    """The weights of a checkpoint of one rank: the index of each file gives the places of their bytes."""
    manifest = json.loads((checkpoint / "manifest.json").read_text())["weft_checkpoint"]
    found = {}
    for file in manifest["files"]:
        place, path = file["index"], checkpoint / file["name"]
        with open(path, "rb") as stored:
            stored.seek(place["offset"])
            index = json.loads(stored.read(place["bytes"]))
        for array in index["arrays"]:
            at = array["offset"]
            for tensor, begin, end in array["stretches"]:
                box = index["tensors"][tensor]
                if array["buffer"] == "master":
                    flat = numpy.fromfile(path, numpy.float32, end - begin, offset=at)
                    found.setdefault(box["name"], (box["shape"], []))[1].append((begin, flat))
                at += 4 * (end - begin)
    return {name: torch.from_numpy(numpy.concatenate([part for _, part in sorted(parts, key=lambda p: p[0])]).reshape(shape))
            for name, (shape, parts) in found.items()}
