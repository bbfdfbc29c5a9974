#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets into the folders beside this script: small files, whole and damaged."""

import base64
import json
import pathlib
import struct


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


SAFETENSORS = {
    "empty": file_of({}),
    "f32": file_of({"a": tensor("F32", [2], 0, 8)}, b"\0\0\x80?\0\0\0@"),
    "halves": file_of({"a": tensor("BF16", [1, 2], 0, 4), "b": tensor("F16", [2], 4, 8)}, b"\x80?\0@\0<\xff\x83"),
    "metadata": file_of({"__metadata__": {"format": "pt"}, "m": tensor("BOOL", [3], 0, 3)}, b"\0\1\1"),
    "no_elements": file_of({"a": tensor("F32", [0, 7], 0, 0), "b": tensor("I64", [], 0, 8)}, b"12345678"),
    "padded": file_of(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   ', b"x"),
}
DAMAGED_SAFETENSORS = {
    "cut": SAFETENSORS["f32"][:-1],
    "deep": file_of(b"[" * 40),
    "gap": file_of({"a": tensor("F32", [1], 4, 8)}, b"\0" * 8),
    "huge": file_of({"a": tensor("F32", [2**40, 2**40, 2**40], 0, 0)}),
    "length": file_of({}, length=2**63),
    "overlap": file_of({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 4, 8)}, b"\0" * 8),
    "twice": file_of(b'{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{}}', b"\0" * 4),
}

def text_of(value):
    return json.dumps(value, separators=(",", ":")).encode()


BOX = {"name": "w", "shape": [3, 4], "origin": [1, 0], "extent": [2, 4]}
SLICE = {"buffer": "master", **BOX, "dtype": "f32", "offset": 80, "hash": "0123456789abcdef"}
INDEX = {
    "block_bytes": 16,
    "tensors": [BOX, {"name": "s", "shape": [], "origin": [], "extent": []}],
    "arrays": [{"buffer": "master", "dtype": "f32", "offset": 64, "stretches": [[0, 1, 7], [1, 0, 1]],
                "hashes": ["0123456789abcdef", "0000000000000000"]}],
}
BODY = {"version": 2, "step": 4, "sequence": 1, "attempt": 2, "state": {"epoch_end": False}, "job": "name: x\n",
        "fingerprint": {}, "provenance": None, "layout": {"dp": 1, "tp": 1},
        "files": [{"name": "rank-00000.h5", "bytes": 900,
                   "index": {"offset": 100, "bytes": 300, "hash": "0123456789abcdef"}}],
        "attachments": [{"name": "t.json", "bytes": 2, "hash": "fedcba9876543210"}]}
CHECKPOINT = {
    "index": text_of(INDEX),
    "manifest": text_of(BODY),
    "manifest_of_version_1": text_of({**BODY, "version": 1, "files": [
        {"name": "rank-00000.h5", "bytes": 900, "slices": [SLICE]}]}),
}
DAMAGED_CHECKPOINT = {
    "box": text_of({**INDEX, "tensors": [{**BOX, "origin": [2, 0]}]}),
    "climbs": text_of({**BODY, "files": [{**BODY["files"][0], "name": "../rank-00000.h5"}]}),
    "huge": text_of({**INDEX, "tensors": [{**BOX, "shape": [2**40, 2**40], "extent": [2**40, 2**40]}]}),
    "index_leaves": text_of({**BODY, "files": [{**BODY["files"][0], "bytes": 350}]}),
    "later": text_of({**BODY, "version": 3}),
    "slice_leaves": text_of({**BODY, "version": 1, "files": [
        {"name": "rank-00000.h5", "bytes": 100, "slices": [SLICE]}]}),
}

for target, whole, damaged in (("checkpoint", CHECKPOINT, DAMAGED_CHECKPOINT),
                               ("safetensors", SAFETENSORS, DAMAGED_SAFETENSORS)):
    folder = pathlib.Path(__file__).parent / target
    folder.mkdir(exist_ok=True)
    for kind, files in (("whole", whole), ("damaged", damaged)):
        for name, content in files.items():
            (folder / f"{kind}_{name}").write_bytes(content)


# Tokenizers: the small ones that the tests of tokenizers have (make_foreign_tokenizers.py), and those same tokens in
# other files.
HERE = pathlib.Path(__file__).parent
FOREIGN = HERE.parent / "data/tokenizer/foreign"
GPT2 = json.loads((FOREIGN / "gpt2.json").read_text())["model"]
MERGES = "\n".join(" ".join(merge) for merge in GPT2["merges"])
RANKS = [bytes([b]) for b in range(255)] + [b"th", b"he", b"the", b"\xff"]
OWN = {"format": "weft-tokenizer", "version": 1, "specials": [{"name": "<unk>", "id": 0}], "roles": {"unk": "<unk>"}}
TOKENIZERS = {
    "tokenizer_json": {
        "words": text_of({**OWN, "kind": "words", "tokens": [["the", 1], ["hat", 2]]}),
        "bpe": text_of({**OWN, "kind": "bpe", "pattern": "gpt4", "rule": "merges", "bytes": list(range(1, 257)),
                        "merges": [[117, 105, 257], [257, 102, 258]], "whole": True}),
    },
    "rank_file": {"bytes": b"\n".join(base64.b64encode(t) + b" %d" % i for i, t in enumerate(RANKS))},
    "vocab_and_merges": {"gpt2": text_of(GPT2["vocab"]) + b"\0" + MERGES.encode()},
    "hugging_face": {name: (FOREIGN / f"{name}.json").read_bytes() for name in ("gpt2", "llama3")},
    "sentencepiece": {name: (FOREIGN / f"{name}.model").read_bytes() for name in ("unigram", "bpe")},
}
for target, files in TOKENIZERS.items():
    (HERE / target).mkdir(exist_ok=True)
    for name, content in files.items():
        (HERE / target / f"whole_{name}").write_bytes(content)
