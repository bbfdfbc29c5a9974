#!/usr/bin/env python3
"""Writes the seeds of safetensors_fuzz into safetensors/ beside this script: small files, whole and damaged."""

import json
import pathlib
import struct


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


WHOLE = {
    "empty": file_of({}),
    "f32": file_of({"a": tensor("F32", [2], 0, 8)}, b"\0\0\x80?\0\0\0@"),
    "halves": file_of({"a": tensor("BF16", [1, 2], 0, 4), "b": tensor("F16", [2], 4, 8)}, b"\x80?\0@\0<\xff\x83"),
    "metadata": file_of({"__metadata__": {"format": "pt"}, "m": tensor("BOOL", [3], 0, 3)}, b"\0\1\1"),
    "no_elements": file_of({"a": tensor("F32", [0, 7], 0, 0), "b": tensor("I64", [], 0, 8)}, b"12345678"),
    "padded": file_of(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   ', b"x"),
}
DAMAGED = {
    "cut": WHOLE["f32"][:-1],
    "deep": file_of(b"[" * 40),
    "gap": file_of({"a": tensor("F32", [1], 4, 8)}, b"\0" * 8),
    "huge": file_of({"a": tensor("F32", [2**40, 2**40, 2**40], 0, 0)}),
    "length": file_of({}, length=2**63),
    "overlap": file_of({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 4, 8)}, b"\0" * 8),
    "twice": file_of(b'{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{}}', b"\0" * 4),
}

folder = pathlib.Path(__file__).parent / "safetensors"
folder.mkdir(exist_ok=True)
for kind, files in (("whole", WHOLE), ("damaged", DAMAGED)):
    for name, content in files.items():
        (folder / f"{kind}_{name}").write_bytes(content)
