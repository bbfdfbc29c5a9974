#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets into the folders beside this script: small files, whole and damaged."""

import base64
import gzip
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


def nested(levels):
    return [nested(levels - 1)] if levels > 1 else []


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
    "deep": text_of({**BODY, "state": nested(200)}),
    "huge": text_of({**INDEX, "tensors": [{**BOX, "shape": [2**40, 2**40], "extent": [2**40, 2**40]}]}),
    "index_leaves": text_of({**BODY, "files": [{**BODY["files"][0], "bytes": 350}]}),
    "later": text_of({**BODY, "version": 3}),
    "slice_leaves": text_of({**BODY, "version": 1, "files": [
        {"name": "rank-00000.h5", "bytes": 100, "slices": [SLICE]}]}),
}

SIDE = {"tokenizer_file": "tokenizer.json", "tokenizer_hash": "0123456789abcdef", "vocabulary": 300, "bos": 256, "eos": 257}
COUNTS = {"tokens": 10, "longest": 6, "unknown": 1, "text_tokens": 7, "entropy": 2.5, "text_bytes": 9}
FILE = {"file": "test-00000.h5", "bytes": 4096, "checksum": "0123456789abcdef", "structure_checksum": "fedcba9876543210",
        "records": 2}
BLOCK = ["0123456789abcdef"]
SHARD = {**FILE, "source": {"count": 10, "offset": 2048, "index": 1024, "checksums": BLOCK},
         "target": {"count": 10, "offset": 2068, "index": 1048, "checksums": BLOCK},
         "references": {"count": 9, "offset": 2088, "index": 1072, "checksums": BLOCK}}
SHARD_OF_VERSION_2 = {**FILE, "source": {"count": 10, "offset": 2048}, "target": {"count": 10, "offset": 2068},
                      "references": {"count": 9, "offset": 2088}}
SPLIT = {"records": 2, "dropped_empty": 0, "dropped_long": 1, "truncated": 0, "references": True, "source": COUNTS,
         "target": COUNTS, "shards": [SHARD]}
DATASET_BODY = {"format": "weft dataset", "version": 3, "kind": "pairs", "token_bytes": 2, "source": SIDE, "target": SIDE,
                "settings": {"data.format": "tsv"}, "splits": {"test": SPLIT},
                "inputs": [{"path": "t.tsv", "bytes": 20, "modified": 1, "checksum": "0123456789abcdef"}]}


def dataset(split=None, shard=None, **body):
    changed = {**SPLIT, **(split or {}), "shards": [{**SHARD, **(shard or {})}]}
    return text_of({**DATASET_BODY, "splits": {"test": changed}, **body})


def without(value, *keys):
    return {key: of for key, of in value.items() if key not in keys}


DATASET = {
    "answers": dataset(kind="answers"),
    "pairs": dataset(),
    "pairs_of_version_1": text_of({**DATASET_BODY, "version": 1, "splits": {"test": {
        **without(SPLIT, "references"), "shards": [without(SHARD_OF_VERSION_2, "references")]}}}),
    "pairs_of_version_2": text_of({**DATASET_BODY, "version": 2, "splits": {"test": {
        **SPLIT, "shards": [SHARD_OF_VERSION_2]}}}),
    "stream": dataset({"references": False}, kind="stream", splits={"test": {
        **without(SPLIT, "target"), "references": False, "shards": [without(SHARD, "target", "references")]}}),
}
DAMAGED_DATASET = {
    "climbs": dataset(shard={"file": "../test-00000.h5"}),
    "deep": dataset(deep=nested(40)),
    "flag": dataset({"references": 1}),
    "checksums": dataset(shard={"source": {**SHARD["source"], "checksums": 2 * BLOCK}}),
    "huge": dataset(shard={"source": {"count": 2**62, "offset": 0}}),
    "index_leaves": dataset(shard={"source": {**SHARD["source"], "index": 4080}}),
    "later": dataset(version=4),
    "leaves": dataset(shard={"references": {"count": 9, "offset": 4090}}),
    "unchecked": dataset(shard={"source": {**SHARD["source"], "checksums": []}}),
    "records": dataset({"records": 2**50}, {"records": 2**50}),
    "special": dataset(source={**SIDE, "eos": 300}),
    "sums": dataset({"records": 3}),
}
JSONL = {
    "byte_order_mark": b'\xef\xbb\xbf{"text": "one"}\n{"text": "two"}\n',
    "escapes": rb'{"text": "one\ntwo \u00fc \ud83d\ude00 \" \\ \/"}' + b"\n",
    "others": b'{"id": 1, "a": [1, {"text": "no"}, []], "text": "yes", "n": -1.5e3, "z": null, "t": true}\n',
    "python": rb'{"score": NaN, "text": "half \ud83d a pair", "b": -Infinity}' + b"\n",
    "several": b'{"text": "one"}\n\n{"text": "two"}\r\n{"text": ""}\n{"text": "three"}',
}
DAMAGED_JSONL = {
    "array": b'[{"text": "no"}]\n',
    "byte_order_marks": b'\xef\xbb\xbf{"text": "one"}\n\xef\xbb\xbf{"text": "two"}\n',
    "comma": b'{"text": "one",}\n',
    "deep": b'{"a": ' + b"[" * 60,
    "nul": b'{"text": "a\\u0000"}\n',
    "number": b'{"text": 3}\n',
    "open": b'{"text": "one\n',
}
MESSAGES = {
    "others": b'{"id": 1, "messages": [{"role": "assistant", "content": "b", "weight": 0, "tool_calls": null}], "n": 3}\n',
    "share": b'{"messages": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}\n',
    "turns": rb'{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "\u00e5\n"}]}' + b"\n",
}
DAMAGED_MESSAGES = {
    "content": b'{"messages": [{"role": "user", "content": ["a"]}]}\n',
    "deep": b'{"messages": ' + b"[" * 70 + b"\n",
    "empty": b'{"messages": []}\n',
    "list": b'[{"role": "user", "content": "a"}]\n',
    "nul": rb'{"messages": [{"role": "user", "content": "\u0000"}]}' + b"\n",
    "role": b'{"messages": [{"role": "' + b"tool" * 100 + b'", "content": "a"}]}\n',
    "tools": b'{"messages": [{"role": "assistant", "content": "a", "tool_calls": [{}]}]}\n',
    "twice": b'{"messages": [{"role": "user", "role": "user", "content": "a"}]}\n',
}
CSV = {
    "columns": b'id,text,"score, of ten"\r\n1,one,2\r\n\r\n2,two words,3',
    "plain": b"text\none\ntwo\n",
    "quoted": b'text,id\n"one, ""two""\nthree",1\n"",2\n"four",3\n',
}
DAMAGED_CSV = {
    "behind": b'text\n"one" two\n',
    "column": b"body,id\none,1\n",
    "few": b"id,text\n1,one\n2\n",
    "inside": b'text\none "two"\n',
    "many": b"text,id\none, two,1\n",
    "open": b'text\n"one\ntwo\n',
}
TSV = {"columns": "go\tva !\tCC-BY\r\nrun\tcours\n".encode(), "empty": b"a\tb\n\n\t\nc\td"}
DAMAGED_TSV = {"column": b"a\tb\nc\nd\te\n", "nul": b"a\tb\nc\0\td\n"}
TEXT = "one\ntwo\nthree äöü\n".encode()
MEMBER = gzip.compress(TEXT, mtime=0)
GZIP = {"member": MEMBER, "members": MEMBER + gzip.compress(b"four", 0, mtime=0)}
DAMAGED_GZIP = {"checksum": MEMBER[:-6] + b"\0" + MEMBER[-5:], "cut": MEMBER[:-1], "garbage": MEMBER + b"more",
                "second": MEMBER + b"\x1f" + b"\x8a" + MEMBER[2:]}
# "one\ntwo\n" as `zstd` compresses it.
FRAME = bytes.fromhex("28b52ffd0458410000") + b"one\ntwo\n" + bytes.fromhex("e6a60e40")
ZSTD = {"frame": FRAME, "frames": FRAME + bytes.fromhex("502a4d1803000000") + b"xyz" + FRAME}
DAMAGED_ZSTD = {"checksum": FRAME[:-1] + b"\0", "cut": FRAME[:-1], "garbage": FRAME + b"more"}
YAML = {
    "anchor": b"model: {layers: &n 2, heads: *n, width: 64}\n",
    "lists": b"data:\n  train: {files: [a.txt, 'b c.txt', \"d\\n.txt\"]}\n  directory: out\nallow_changes: [optimizer]\n",
    "numbers": b"seed: 7\nmodel: {width: 0x40, dropout: {attention: 1e-1}}\ntrain: {max_steps: 10, max_time: 3h45m}\n",
    "text": "name: \"2024\"\ndata: {separator: \"ä\\t\\u20ac\"}\ntarget_tokenizer: null\n".encode(),
}
DAMAGED_YAML = {
    "deep": b"a: " + b"[" * 60,
    "escape": b'name: "a\\Nb"\n',
    "key": b"modle: {width: 64}\n",
    "merge": b"model: &m {width: 64}\nlora: {<<: *m}\n",
    "tag": b"name: !!binary aGk=\n",
    "twice": b"seed: 1\nseed: 2\n",
    "type": b"model: {width: wide}\n",
}
RUN_STATE = {"run": "3f2a", "step": 40, "updates": 38, "epoch": 1, "step_in_epoch": 4, "target_tokens": 900, "skips": 2,
             "skips_in_row": 0, "best_loss": 3.25, "best_score": None, "best_step": 30, "without_gain": 1, "epoch_end": False,
             "evaluation_left": True, "rollbacks": 0, "next_learning_rate": 1e-3}
RUN_STATES = {
    "first_builds": text_of({key: of for key, of in RUN_STATE.items() if key not in (
        "evaluation_left", "rollbacks", "best_score", "next_learning_rate")}),
    "now": text_of(RUN_STATE),
}
DAMAGED_RUN_STATES = {
    "backwards": text_of({**RUN_STATE, "step": -1}),
    "deep": text_of({**RUN_STATE, "step": nested(500)}),
    "text": text_of({**RUN_STATE, "epoch_end": "no"}),
    "updates": text_of({**RUN_STATE, "updates": 41}),
}
EXTENDS = {
    "one": b"extends: 1.yaml\nmodel: {width: 96}\n%%\nname: base\nmodel: {width: 64, heads: 4}\n",
    "two": b"extends: [1.yaml, 2.yaml]\nseed: 7\n%%\nextends: 2.yaml\nseed: 5\n%%\nmodel: {layers: 3}\n",
}
DAMAGED_EXTENDS = {
    "in_a_ring": b"extends: 1.yaml\n%%\nextends: 0.yaml\n",
    "itself": b"extends: 0.yaml\n",
    "key_of_a_base": b"extends: 1.yaml\n%%\nmodle: {width: 64}\n",
    "nothing": b"extends: 9.yaml\nseed: 7\n",
    "number": b"extends: [1]\n",
}
OVERRIDES = {
    "lists": b"data.train.files=[a.txt, 'b c.txt']\nallow_changes=[optimizer]\n\nseed: 7\n",
    "new": b"model.width=64\nmodel.dropout.attention=1e-1\n\n",
    "of_job": b"model.width=96\nname=\"2024\"\n\nmodel: {width: 64, heads: 4}\n",
}
DAMAGED_OVERRIDES = {
    "deep": b"model=" + b"[" * 60 + b"\n\n",
    "key": b"modle.width=64\n\n",
    "no_value": b"model.width\n\n",
    "path": b"model..width=64\n\n",
}
STORED_JOBS = {
    "of_bleu": b"evaluation: {bleu: {tokenizer: 13a, lowercase: false}}\n",
    "of_recompute": b"train: {recompute: true}\n",
    "renamed": b"schedule: {warmup: 10}\ncheckpoint: {keep: 3}\noverride: [checkpoint.keep]\nbatch: {last: drop}\n",
}
DAMAGED_STORED_JOBS = {
    "key": b"schedule: {warming: 10}\n",
    "type": b"train: {recompute: [true]}\n",
    "value": b"batch: {last: away}\n",
}
# The pattern, a line feed, a text.
PATTERNS = {
    "classes": "\\p{L}+|\\p{N}{1,3}|\\s+\nthe hat's 12345 \u65e5\u672c".encode(),
    "empty": b"\nabc",
    "looks": b" ?[a-z]+(?= )|(?<!a)b\naab ab b ",
    "repeat": b"a*a*b|.\naaaaaaaaaaaaaaaab",
}
DAMAGED_PATTERNS = {
    "class": b"[a-\nabc",
    "group": b"(a\nabc",
    "lookbehind": b"(?<=a+)b\nab",
    "repeat": b"a{3,2}\naaa",
}


def numbers(*values):
    return struct.pack(f"<{len(values)}q", *values)


def journal(file="train-00000.h5", counts=(), identity=7, flag=b"\0"):
    """A journal of one full shard of documents and a pending one, as data/prepare/journal.h and what it holds list them."""
    entries = numbers(*[0] * 15)
    stats = (numbers(len(counts), *counts) + numbers(0, 0, 0, 0)) + 5 * numbers(0, 0, 0, 0, 0)
    pending = numbers(4) + b"\1\0\2\0" + numbers(0, 1, 0) + numbers(0, 0, 0)
    shard = numbers(len(file)) + file.encode() + numbers(4096, 11, 12, 3)
    shard += numbers(8, 2048, 1024, 1, 13) + 2 * numbers(0, 0, 0, 0)
    writers = (pending + numbers(1) + shard) + 2 * numbers(0, 0, 0, 0, 0, 0, 0)
    writer = entries + stats + writers + numbers(0) + numbers(0) + flag
    return numbers(identity, 21, 22, 5) + numbers(len(writer)) + writer


JOURNAL = {"stream": journal()}
DAMAGED_JOURNAL = {
    "another": journal(identity=8),
    "climbs": journal(file="../../thesis"),
    "flag": journal(flag=b"\2"),
    "huge": numbers(7, 21, 22, 5, 2**62),
    "vocabulary": journal(counts=(1, 2, 3)),
}


def ids(*values):
    return struct.pack(f"<{len(values)}H", *values)


def shard(content, pairs, records, *places, references=b"\0", token_bytes=b"\2"):
    """As tests/fuzz/shard_fuzz.h lays it out."""
    return pairs + token_bytes + references + numbers(records, *places, *[0] * (9 - len(places))) + content


# Two documents; two pairs with their references.
STREAM_FILE = ids(5, 6, 7, 8, 9, 0, 0, 0) + numbers(0, 3)
PAIRS_FILE = ids(1, 2, 3, 0) + ids(4, 5, 0, 0) + numbers(0, 1, 3) + numbers(0, 0, 2) + b"one two." + numbers(0, 3, 8)
PLACES = (3, 0, 16, 2, 8, 40, 8, 64, 72)
SHARDS = {
    "pairs": shard(PAIRS_FILE, b"\1", 2, *PLACES, references=b"\1"),
    "stream": shard(STREAM_FILE, b"\0", 2, 5, 0, 16),
}
DAMAGED_SHARDS = {
    "backwards": shard(PAIRS_FILE.replace(numbers(0, 1, 3), numbers(0, 3, 1)), b"\1", 2, *PLACES, references=b"\1"),
    "begins_outside": shard(STREAM_FILE[:16] + numbers(0, 6), b"\0", 2, 5, 0, 16),
    "id": shard(ids(1000) + STREAM_FILE[2:], b"\0", 2, 5, 0, 16),
    "index_leaves": shard(STREAM_FILE, b"\0", 2, 5, 0, 24),
    "overlap": shard(PAIRS_FILE, b"\1", 2, *(3, 0, 16, 2, 4, 40, 8, 64, 72), references=b"\1"),
}


def run_directory(*lines, job=b"", provenance=b""):
    log = b"".join(text_of({"run": "a", "attempt": 0, "event": event, "step": step, **fields}) + b"\n"
                   for event, step, fields in lines)
    return b"\n%%\n".join((log, job, provenance)) if job or provenance else log


REPORTS = {
    "events": run_directory(
        ("train", 2, {"loss": 2.5}), ("save_failed", 2, {"why": "</script>"}), ("eval", 2, {"loss": 3.0, "bleu": 1.5}),
        ("generations", 2, {"generations": [{"prompt": "<!--", "text": "a"}, 7]})),
    "rolled_back": run_directory(
        ("start", 0, {"time": "2026-03-01T00:00:00Z"}), ("train", 1, {"loss": None, "busy_ms": [1, 2, 3], "tokens": 8}),
        ("train", 2, {"loss": 2}), ("roll_back", 1, {}), ("start", 1, {}),
        job=b"name: a\n", provenance=b'{"weft": "1"}'),
}
DAMAGED_REPORTS = {
    "cut": run_directory(("train", 1, {"loss": 2.5}))[:-9],
    "no_steps": run_directory(("train", "1", {"loss": 2.5}), ("train", 1e300, {})),
    "of_lists": b"[1]\n" + b"[" * 200 + b"\n",
}

AXES = 3


def datagram(ranks=1, order=0x0102030405060708, sender=3, step=7, phase=2, host=b"node-7", rank=3):
    """As parallel/watch/world_messages.cpp lays it out, for meshes of three axes; the target signs it."""
    words = b""
    for i in range(ranks):
        words += numbers(5_000_000, 0) + struct.pack("<Q", 99) + numbers(step, 12)
        words += AXES * 3 * numbers(1) + AXES * 2 * struct.pack("<i", 1)
        words += struct.pack("<iii", rank + i, 4711, -1) + bytes([phase, 1, 0, 0]) + b"S" + host.ljust(47, b"\0")
    head = b"weftwd02" + numbers(0, order, 1) + struct.pack("<iI", sender, ranks)
    return head + words


DATAGRAM = {"no_ranks": datagram(ranks=0), "ranks": datagram(ranks=3)}
DAMAGED_DATAGRAM = {
    "escape": datagram(host=b"a\x1b[2J"),
    "host": datagram(host=b"a" * 47),
    "order": datagram(order=0x0807060504030201),
    "phase": datagram(phase=200),
    "rank": datagram(rank=8),
    "sender": datagram(sender=8),
}

for target, whole, damaged in (("checkpoint", CHECKPOINT, DAMAGED_CHECKPOINT), ("csv", CSV, DAMAGED_CSV),
                               ("datagram", DATAGRAM, DAMAGED_DATAGRAM), ("journal", JOURNAL, DAMAGED_JOURNAL),
                               ("extends", EXTENDS, DAMAGED_EXTENDS), ("overrides", OVERRIDES, DAMAGED_OVERRIDES), ("pattern", PATTERNS, DAMAGED_PATTERNS),
                               ("report", REPORTS, DAMAGED_REPORTS), ("run_state", RUN_STATES, DAMAGED_RUN_STATES), ("stored_job", STORED_JOBS, DAMAGED_STORED_JOBS), ("dataset", DATASET, DAMAGED_DATASET),
                               ("shard", SHARDS, DAMAGED_SHARDS),
                               ("gzip", GZIP, DAMAGED_GZIP), ("jsonl", JSONL, DAMAGED_JSONL),
                               ("messages", MESSAGES, DAMAGED_MESSAGES), ("safetensors", SAFETENSORS, DAMAGED_SAFETENSORS),
                               ("tsv", TSV, DAMAGED_TSV), ("yaml", YAML, DAMAGED_YAML), ("zstd", ZSTD, DAMAGED_ZSTD)):
    folder = pathlib.Path(__file__).parent / target
    folder.mkdir(exist_ok=True)
    for kind, files in (("whole", whole), ("damaged", damaged)):
        for name, content in files.items():
            (folder / f"{kind}_{name}").write_bytes(content)


# Tokenizers: the small ones of the tokenizer tests (make_foreign_tokenizers.py), and the same tokens in
# other files.
HERE = pathlib.Path(__file__).parent
FOREIGN = HERE.parent / "data/tokenizer/foreign"
GPT2 = json.loads((FOREIGN / "gpt2.json").read_text())["model"]
MERGES = "\n".join(" ".join(merge) for merge in GPT2["merges"])
RANKS = [bytes([b]) for b in range(255)] + [b"th", b"he", b"the", b"\xff"]
# The table of normalisation of T5's file: the size of the trie, the trie, the texts.
CHARSMAP = {"hex": base64.b64decode(json.loads((FOREIGN / "t5.json").read_text())["normalizer"]["normalizers"][0][
    "precompiled_charsmap"]).hex()}
OWN = {"format": "weft-tokenizer", "version": 1, "specials": [{"name": "<unk>", "id": 0}], "roles": {"unk": "<unk>"}}
TOKENIZERS = {
    "tokenizer_json": {
        "words": text_of({**OWN, "kind": "words", "tokens": [["the", 1], ["hat", 2]]}),
        "bpe": text_of({**OWN, "kind": "bpe", "pattern": "gpt4", "rule": "merges", "bytes": list(range(1, 257)),
                        "merges": [[117, 105, 257], [257, 102, 258]], "whole": True}),
        "repeats": text_of({**OWN, "kind": "bpe", "pattern": " *\\s*x|\\S+|\\s+", "rule": "merges",
                            "bytes": list(range(1, 257)), "merges": [], "whole": True}),
        "unigram": text_of({**OWN, "kind": "unigram", "byte_fallback": True, "words": True,
                            "blanks": {"prefix": "if-missing", "cut": True},
                            "steps": [{"normal_form": "NFKC"}, {"replace": "hat", "by": "cat"}, {"blank_runs": " "},
                                      {"strip": "right"}, {"before": "\u2581"}, {"lowercase": True}, {"drop_marks": True}, {"charsmap": CHARSMAP}],
                            "pieces": [["<unk>", 0], ["\u2581the", -2.5], ["t", -3], ["\u2581", -2], ["<0x61>", 0]]}),
    },
    "rank_file": {"bytes": b"\n".join(base64.b64encode(t) + b" %d" % i for i, t in enumerate(RANKS))},
    "vocab_and_merges": {"gpt2": text_of(GPT2["vocab"]) + b"\0" + MERGES.encode()},
    "hugging_face": {name: (FOREIGN / f"{name}.json").read_bytes() for name in ("gpt2", "llama3", "t5", "unigram_bytes")},
    "sentencepiece": {name: (FOREIGN / f"{name}.model").read_bytes() for name in ("unigram", "bpe")},
}
for target, files in TOKENIZERS.items():
    (HERE / target).mkdir(exist_ok=True)
    for name, content in files.items():
        (HERE / target / f"whole_{name}").write_bytes(content)
