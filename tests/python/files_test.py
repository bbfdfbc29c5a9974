# SPDX-License-Identifier: Apache-2.0
"""Compares python/weft.py with what weft says of the same files: files_test.py REPOSITORY, in the folder of files_test.sh."""

import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
import weft
import xxhash

ROOT = pathlib.Path(sys.argv[1])
GOLDEN_DATASETS = ROOT / "tests" / "data" / "dataset" / "golden"
GOLDEN_CHECKPOINTS = ROOT / "tests" / "checkpoint" / "golden"


def safetensors(path):
    """The float32 tensors of a file, read by its published layout: a length, a header in JSON, the values."""
    stored = path.read_bytes()
    length = struct.unpack("<Q", stored[:8])[0]
    header = json.loads(stored[8:8 + length])
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(stored[8 + length:], "<f4", (end - begin) // 4, begin).reshape(place["shape"])
            for name, place in header.items() for begin, end in [place["data_offsets"]]}


class Datasets(unittest.TestCase):
    def test_documents_are_those_that_weft_encodes(self):
        data = weft.Dataset("prepared/own")
        train, valid = data["train"], data["valid"]
        self.assertEqual((data.kind, data.splits, type(train)), ("stream", ("train", "valid"), weft.Stream))
        self.assertGreater(len(train.shards), 2)  # documents that lie in two shards
        lines = [[int(word) for word in line.split()] for line in pathlib.Path("ids").read_text().splitlines()]
        eos = data.special("eos")
        self.assertEqual([list(document) for document in train], [line + [eos] for line in lines[:180]])
        self.assertEqual([list(document) for document in valid], [line + [eos] for line in lines[180:]])
        everything = sum((line + [eos] for line in lines[:180]), [])
        self.assertEqual((train.tokens, list(train.read(0, train.tokens))), (len(everything), everything))
        for begin, end in ((0, 0), (499, 501), (500, 1000), (450, 1300), (train.tokens, train.tokens)):
            self.assertEqual(list(train.read(begin, end)), everything[begin:end], (begin, end))
        self.assertEqual(list(train[-1]), list(train[179]))
        self.assertEqual(data.vocabulary(), 270)
        self.assertIsNone(data.special("unk"))
        self.assertEqual(json.loads(data.tokenizer().read_text())["format"], "weft-tokenizer")
        for outside in (lambda: train[180], lambda: train[-181], lambda: train.read(0, train.tokens + 1)):
            self.assertRaises(IndexError, outside)
        self.assertRaises(KeyError, lambda: data["test"])
        self.assertRaises(KeyError, lambda: data.vocabulary("target"))

    def test_pairs_have_both_sides_and_references(self):
        data = weft.Dataset("prepared/en-no")
        self.assertEqual([len(data[name]) for name in data.splits], [40, 2])
        bos, eos = data.special("bos", "target"), data.special("eos", "target")
        for source, target in [*data["train"], *data["valid"]]:
            self.assertEqual((target[0], target[-1], source[-1]), (bos, eos, eos))
        self.assertEqual(data["valid"].reference(0).decode(), "to båter")
        self.assertEqual(data["valid"].reference(-1).decode(), "ingen")
        self.assertRaisesRegex(weft.FormatError, "train has no references", data["train"].reference, 0)

    def test_conversations_come_back_in_their_order(self):
        data = weft.Dataset("prepared/chats")
        self.assertEqual((data.kind, len(data["train"])), ("chats", 2))
        for place, (user, assistant) in enumerate([("a", "bc"), ("de", "f")]):
            ids, learned = data["train"].conversation(place)
            answer = [*assistant.encode(), data.special("eos")]
            self.assertEqual(list(ids), [*f"u{user}a".encode(), *answer, 10])
            self.assertEqual(list(learned), [False] * (len(user) + 2) + [True] * len(answer) + [False])
            self.assertEqual(list(data["train"][place][1]), answer)

    def test_golden_files_hold_what_was_written(self):
        stream = weft.Dataset(GOLDEN_DATASETS / "dataset-v3" / "stream")
        texts = [bytes(int(i) for i in ids[:-1]).decode() for ids in stream["train"]]  # its tokens are bytes
        self.assertEqual(texts, ["The warp runs along the loom,\nthe weft across it.", "Thread over thread.", "Grün, blå — 布."])
        pairs = weft.Dataset(GOLDEN_DATASETS / "dataset-v3" / "pairs")
        self.assertEqual([list(side) for side in pairs["test"][2]], [[0, 5, 2, 3, 1], [0, 5, 2, 2, 2, 3, 1]])
        self.assertEqual(pairs["test"].reference(2).decode(), "tre fire fem seks tråder")
        for earlier in ("dataset-v1", "dataset-v2"):
            self.assertRaisesRegex(weft.FormatError, "prepare it again", weft.Dataset, GOLDEN_DATASETS / earlier / "pairs")


class Checkpoints(unittest.TestCase):
    def test_tensors_are_those_that_were_saved(self):
        saved = weft.Checkpoint(GOLDEN_CHECKPOINTS / "checkpoint-v2")
        expected = json.loads((GOLDEN_CHECKPOINTS / "tensors.json").read_text())
        found = {buffer: {name: f"{xxhash.xxh3_64_intdigest(tensor.tobytes()):016x}"
                          for name, tensor in saved.tensors(buffer).items()} for buffer in saved.buffers()}
        self.assertEqual(found, expected)
        self.assertEqual((saved.step, saved.state["updates"]), (4, 4))
        self.assertIn("name: golden", saved.job)
        self.assertRaisesRegex(weft.FormatError, "version 1", weft.Checkpoint, GOLDEN_CHECKPOINTS / "checkpoint-v1")

    def test_the_latest_of_a_run_has_the_weights_that_weft_exports(self):
        saved = weft.Checkpoint("runs/own")
        self.assertEqual((saved.step, saved.directory.name), (9, "step-00000009"))
        self.assertEqual(saved.buffers(), ["master", "moment1", "moment2"])
        exported = safetensors(pathlib.Path("exported") / "model.safetensors")
        ours = saved.tensors()
        tokens = exported["transformer.wte.weight"]
        self.assertTrue(numpy.array_equal(ours["decoder.embedding.tokens"][:len(tokens)], tokens))
        for layer in range(2):  # GPT-2's files have matrices the other way round
            down = exported[f"transformer.h.{layer}.mlp.c_proj.weight"]
            self.assertTrue(numpy.array_equal(ours[f"decoder.{layer}.ffn.down.weight"], down.T))
        self.assertRaises(KeyError, saved.tensor, "decoder.7.ffn.down.weight")
        self.assertRaises(KeyError, saved.tensor, "decoder.embedding.tokens", "moment3")


class Metrics(unittest.TestCase):
    def test_what_a_resumed_run_repeats_stands_there_once(self):
        self.assertGreater((pathlib.Path("runs/own") / "metrics.jsonl").read_text().count('"event":"train"'), 9)
        steps, losses = weft.series("runs/own", "train", "loss")
        self.assertEqual(list(steps), list(range(1, 10)))
        printed = re.findall(r"step (\d+)/9 .*? loss ([\d.]+)", pathlib.Path("log").read_text())
        self.assertGreater(len(printed), 0)
        for step, loss in printed:
            self.assertAlmostEqual(losses[int(step) - 1], float(loss), 3)
        self.assertEqual(list(weft.series("runs/own", "eval", "loss")[0]), [3, 6, 9])
        self.assertEqual(weft.series("runs/own", "train", "busy_ms")[1].shape, (9, 3))

    def test_a_partial_last_line_and_null_are_read(self):
        with tempfile.TemporaryDirectory() as run:
            lines = [{"event": "train", "step": 1, "loss": 2.5}, {"event": "train", "step": 2, "loss": None}]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (pathlib.Path(run) / "metrics.jsonl").write_text(text + '{"event":"tra')
            steps, losses = weft.series(run, "train", "loss")
            self.assertEqual((list(steps), losses[0], numpy.isnan(losses[1])), ([1, 2], 2.5, True))
            (pathlib.Path(run) / "metrics.jsonl").write_text(text + "{]\n")
            self.assertRaisesRegex(weft.FormatError, "metrics.jsonl:3: no JSON", weft.metrics, run)
        self.assertRaisesRegex(weft.FormatError, "No such file", weft.metrics, run)


class Hostile(unittest.TestCase):
    """A manifest that says anything else ends with an error that names a file, or changes nothing that is read."""

    STRANGE = (None, True, -1, 0, 7, 1 << 40, 1 << 70, 0.5, "", "../text.txt", "/etc/passwd", [], [1], [[0, 0, 9]], {}, {"a": 1})

    def places(self, value, path=()):
        yield path
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in children:
            yield from self.places(child, (*path, key))

    def changed(self, value, path, strange):
        if not path:
            return strange
        copy = value.copy()
        copy[path[0]] = self.changed(value[path[0]], path[1:], strange)
        return copy

    def spoil(self, directory, name, read):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(shutil.copytree(directory, pathlib.Path(scratch) / "copy"))
            manifest = json.loads((folder / name).read_text())
            draw = random.Random(7)
            refused = 0
            for path in self.places(manifest):
                for strange in draw.sample(self.STRANGE, 3):
                    (folder / name).write_text(json.dumps(self.changed(manifest, path, strange)))
                    try:
                        read(folder)
                    except (weft.FormatError, KeyError) as error:
                        refused += isinstance(error, weft.FormatError)
            self.assertGreater(refused, 60)
            (folder / name).write_text(json.dumps(manifest))
            read(folder)
            for file in sorted(folder.glob("*.h5")):
                stored = file.read_bytes()
                file.write_bytes(stored[:-1])
                self.assertRaisesRegex(weft.FormatError, file.name, read, folder)
                file.write_bytes(stored)

    def test_datasets(self):
        def read(folder):
            data = weft.Dataset(folder)
            return [list(data[name]) for name in data.splits]

        for kind in ("stream", "pairs"):
            self.spoil(GOLDEN_DATASETS / "dataset-v3" / kind, "dataset.json", read)

    def test_checkpoints(self):
        self.spoil(GOLDEN_CHECKPOINTS / "checkpoint-v2", "manifest.json", lambda folder: weft.Checkpoint(folder).tensors())

    def test_the_index_of_a_part(self):
        golden = GOLDEN_CHECKPOINTS / "checkpoint-v2"
        file = json.loads((golden / "manifest.json").read_text())["weft_checkpoint"]["files"][0]
        begin, end = file["index"]["offset"], file["index"]["offset"] + file["index"]["bytes"]
        index = json.loads((golden / file["name"]).read_bytes()[begin:end])
        draw = random.Random(7)
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(shutil.copytree(golden, pathlib.Path(scratch) / "copy"))
            stored, refused = (golden / file["name"]).read_bytes(), 0
            for path in self.places(index):
                for strange in draw.sample(self.STRANGE, 2):
                    text = json.dumps(self.changed(index, path, strange), separators=(",", ":")).encode()
                    if len(text) > end - begin:
                        continue
                    (folder / file["name"]).write_bytes(stored[:begin] + text.ljust(end - begin) + stored[end:])
                    try:
                        weft.Checkpoint(folder).tensors()
                    except weft.FormatError:
                        refused += 1
            self.assertGreater(refused, 60)

    def test_an_object_that_says_something_twice_is_refused(self):
        with tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "dataset.json").write_text('{"format": "weft dataset", "version": 3, "version": 2}')
            self.assertRaisesRegex(weft.FormatError, "twice", weft.Dataset, scratch)


class Documentation(unittest.TestCase):
    def test_the_page_runs(self):
        page = (ROOT / "docs" / "formats.md").read_text()
        code = re.search(r"## In Python\n.*?```\n(.*?)```", page, re.S)[1]
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
