# SPDX-License-Identifier: Apache-2.0
"""What weft writes, as numpy arrays: datasets, checkpoints and the metrics of runs. Needs numpy alone.

    import weft
    split = weft.Dataset("prepared/own")["train"]
    split.read(0, 1024)                          # ids of a stream of documents; split[7] is its eighth document
    source, target = weft.Dataset("prepared/en-no")["valid"][0]

    saved = weft.Checkpoint("runs/own")          # the latest of a run, or the directory of a checkpoint
    saved.step, saved.names()
    saved.tensor("decoder.0.attention.qkv.weight")             # float32 masters; buffer="moment1" for Adam's

    steps, losses = weft.series("runs/own", "train", "loss")   # without what a resumed run has superseded

Sizes, places and ids are checked against what the files say of themselves before they are used; checksums are not (`weft
inspect --verify` compares them). Every error is a weft.FormatError that names the file. docs/formats.md describes the files.
"""

import json
import math
import os
import pathlib
import re

import numpy

__all__ = ["Chats", "Checkpoint", "Dataset", "FormatError", "Pairs", "Stream", "metrics", "series"]


class FormatError(ValueError):
    """A file is not what it says, or not what this module can read."""


def _no_twins(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice in an object")
    return members


def _parse(text, path):
    try:
        return json.loads(text, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise FormatError(f"{path}: no JSON: {error}") from error


class _Members:
    """What a file says in JSON. A member that is missing, or of another type, is a FormatError."""

    def __init__(self, values, path):
        if not isinstance(values, dict):
            raise FormatError(f"{path}: expected an object, found {type(values).__name__}")
        self.values, self.path = values, path

    def get(self, name, kind, otherwise=None):
        value = self.values.get(name, otherwise)
        if isinstance(value, bool) or not isinstance(value, kind):
            raise FormatError(f"{self.path}: {name} is {value!r}")
        return value

    def count(self, name, otherwise=None):
        value = self.get(name, int, otherwise)
        if not 0 <= value < 1 << 63:
            raise FormatError(f"{self.path}: {name} is {value}")
        return value

    def counts(self, name):
        values = self.get(name, list)
        if not all(type(value) is int and 0 <= value < 1 << 63 for value in values):
            raise FormatError(f"{self.path}: {name} are no counts: {values!r:.80}")
        return values

    def member(self, name):
        return _Members(self.get(name, dict), self.path)

    def members(self, name):
        return [_Members(value, self.path) for value in self.get(name, list)]


class _File:
    """A file beside a manifest, which states its name and size."""

    def __init__(self, directory, name, size):
        if os.path.basename(name) != name or name in ("", ".", ".."):
            raise FormatError(f"{directory}: {name!r} is no name of a file in it")
        self.path, self.size, self._bytes = directory / name, size, None
        try:
            found = self.path.stat().st_size
        except OSError as error:
            raise FormatError(f"{self.path}: {error.strerror}") from error
        if found != size:
            raise FormatError(f"{self.path}: has {found} bytes, its manifest says {size}")

    def array(self, dtype, offset, count):
        """`count` values from byte `offset` on, as they lie in the file; read when they are used."""
        end = offset + numpy.dtype(dtype).itemsize * count
        if end > self.size:
            raise FormatError(f"{self.path}: an array ends at byte {end} of {self.size}")
        if count == 0:
            return numpy.empty(0, dtype)
        if self._bytes is None:
            self._bytes = numpy.memmap(self.path, "u1", "r", shape=(self.size,))
        return self._bytes[offset:end].view(dtype)


def _open_manifest(path):
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    return _Members(_parse(text, path), path)


class _Joined:
    """Arrays of several shards as one, of which a range is read at a time."""

    def __init__(self, parts):
        self.parts = parts
        self.begins = numpy.cumsum([0] + [len(part) for part in parts])

    def __len__(self):
        return int(self.begins[-1])

    def read(self, begin, end):
        if not 0 <= begin <= end <= len(self):
            raise IndexError(f"{begin} to {end} of {len(self)}")
        first = int(numpy.searchsorted(self.begins, begin, "right")) - 1
        pieces = []
        while first < len(self.parts) and self.begins[first] < end:
            at = int(self.begins[first])
            pieces.append(self.parts[first][max(begin - at, 0):end - at])
            first += 1
        return numpy.concatenate(pieces) if pieces else numpy.empty(0, self.parts[0].dtype if self.parts else "<u2")


class _Split:
    def __init__(self, dataset, name, members):
        self.dataset, self.name, self.path = dataset, name, dataset.path
        self.shards = []
        for shard in members.members("shards"):
            self.shards.append((_File(dataset.directory, shard.get("file", str), shard.count("bytes")), shard))
        self.records = sum(shard.count("records") for _, shard in self.shards)

    def __len__(self):
        return self.records

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def _place(self, index):
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"record {index} of {len(self)} in {self.name} of {self.path}")
        return place

    def _ids(self, side):
        arrays = [(file, shard.member(side)) for file, shard in self.shards]
        dtype = {2: "<u2", 4: "<u4"}[self.dataset.token_bytes]
        return _Joined([file.array(dtype, array.count("offset"), array.count("count")) for file, array in arrays])

    def _bounds(self, side):
        """Where each sequence of a side begins and ends, in all shards together."""
        bounds, base = [numpy.zeros(1, "u8")], 0
        for file, shard in self.shards:
            array = shard.member(side)
            offsets = numpy.asarray(file.array("<u8", array.count("index"), shard.count("records") + 1))
            if offsets[0] != 0 or offsets[-1] != array.count("count") or (offsets[1:] < offsets[:-1]).any():
                raise FormatError(f"{file.path}: the offsets of {side} do not divide its {array.count('count')} values")
            bounds.append(offsets[1:] + numpy.uint64(base))
            base += array.count("count")
        return numpy.concatenate(bounds)

    def _checked(self, ids, side):
        vocabulary = self.dataset.vocabulary(side)
        if len(ids) and int(ids.max()) >= vocabulary:
            raise FormatError(f"{self.path}: {self.name} has the id {int(ids.max())}, of a vocabulary of {vocabulary}")
        return ids


class Stream(_Split):
    """A split of documents: one stream of ids, in which split[i] is document i with the specials around it."""

    def __init__(self, dataset, name, members):
        super().__init__(dataset, name, members)
        self._tokens = self._ids("source")
        begins, base = [], 0
        for file, shard in self.shards:
            array = shard.member("source")
            starts = numpy.asarray(file.array("<u8", array.count("index"), shard.count("records")))
            if (starts[1:] < starts[:-1]).any() or (len(starts) and starts[-1] > array.count("count")):
                raise FormatError(f"{file.path}: documents do not begin one after the other")
            begins.append(starts + numpy.uint64(base))
            base += array.count("count")
        self._begins = numpy.concatenate([*begins, numpy.array([base], "u8")])

    @property
    def tokens(self):
        """The number of ids."""
        return len(self._tokens)

    def read(self, begin, end):
        """The ids from `begin` up to `end`, whatever documents they belong to."""
        return self._checked(self._tokens.read(begin, end), "source")

    def __getitem__(self, index):
        place = self._place(index)
        return self.read(int(self._begins[place]), int(self._begins[place + 1]))


class Pairs(_Split):
    """A split of pairs, or of prompts and answers: split[i] has the ids of both sides."""

    def __init__(self, dataset, name, members):
        super().__init__(dataset, name, members)
        self._sides = {side: (self._ids(side), self._bounds(side)) for side in ("source", "target")}
        self._references = None

    def __getitem__(self, index):
        place = self._place(index)
        return tuple(self._checked(ids.read(int(bounds[place]), int(bounds[place + 1])), side)
                     for side, (ids, bounds) in self._sides.items())

    def reference(self, index):
        """The target text of a pair, byte for byte as in its file: held-out pairs of sentences have one. Of a conversation,
        the lengths of its turns as a text."""
        place = self._place(index)
        if self._references is None:
            if not all("references" in shard.values for _, shard in self.shards):
                raise FormatError(f"{self.path}: {self.name} has no references")
            arrays = [(file, shard.member("references")) for file, shard in self.shards]
            texts = _Joined([file.array("u1", a.count("offset"), a.count("count")) for file, a in arrays])
            self._references = texts, self._bounds("references")
        texts, bounds = self._references
        return texts.read(int(bounds[place]), int(bounds[place + 1])).tobytes()


class Chats(Pairs):
    """A split of conversations: split[i] has the ids that are context, and those that are learned."""

    def conversation(self, index):
        """All ids of a conversation in order, and which of them are learned."""
        sides = self[index]
        turns = self._turns(index, [len(side) for side in sides])
        learned = numpy.repeat(numpy.arange(len(turns)) % 2 == 1, turns)
        ids = numpy.empty(len(learned), sides[0].dtype)
        ids[~learned], ids[learned] = sides
        return ids, learned

    def _turns(self, index, lengths):
        turns = [int(count) for count in re.findall(rb"\d+", self.reference(index))]
        if [sum(turns[0::2]), sum(turns[1::2])] != lengths:
            raise FormatError(f"{self.path}: the turns of conversation {index} in {self.name} do not fit its ids")
        return turns


class Dataset:
    """What `weft prepare` made: a split by its name, and of each side its vocabulary and the ids of its specials."""

    VERSION = 3

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.path = self.directory / "dataset.json"
        manifest = _open_manifest(self.path)
        if manifest.get("format", str) != "weft dataset":
            raise FormatError(f"{self.path}: no manifest of a dataset")
        if manifest.count("version") != self.VERSION:
            raise FormatError(f"{self.path}: has version {manifest.count('version')}, this module reads {self.VERSION}: "
                              "prepare it again (weft prepare JOB --force)")
        self.kind = manifest.get("kind", str)
        kinds = {"stream": Stream, "pairs": Pairs, "answers": Pairs, "chats": Chats}
        self.token_bytes = manifest.count("token_bytes")
        if self.kind not in kinds or self.token_bytes not in (2, 4):
            raise FormatError(f"{self.path}: kind {self.kind!r} with ids of {self.token_bytes} bytes is unknown")
        self._sides = {side: manifest.member(side) for side in ("source", "target") if side in manifest.values}
        self._splits = manifest.member("splits")
        self.splits = tuple(self._splits.values)
        self._kind = kinds[self.kind]

    def __getitem__(self, split):
        if split not in self._splits.values:
            raise KeyError(f"{self.path} has {', '.join(self.splits)}")
        return self._kind(self, split, self._splits.member(split))

    def vocabulary(self, side="source"):
        return self._side(side).count("vocabulary")

    def special(self, role, side="source"):
        """The id of "bos", "eos", "pad" or "unk", or None if the tokenizer has none."""
        return self._side(side).values.get(role)

    def tokenizer(self, side="source"):
        """The file of the side's tokenizer (docs/formats.md)."""
        name = self._side(side).get("tokenizer_file", str)
        if os.path.basename(name) != name:
            raise FormatError(f"{self.path}: {name!r} is no name of a file in it")
        return self.directory / name

    def _side(self, side):
        if side not in self._sides:
            raise KeyError(f"{self.path} has the sides {', '.join(self._sides)}")
        return self._sides[side]


class Checkpoint:
    """What a run saved, whatever its layout: whole tensors by their logical names. `path` is a checkpoint, or a run's
    directory, of which it takes the latest."""

    VERSION = 2

    def __init__(self, path):
        directory = pathlib.Path(path)
        self.directory = _latest(directory / "checkpoints") if (directory / "checkpoints").is_dir() else directory
        path = self.directory / "manifest.json"
        saved = _open_manifest(path).member("weft_checkpoint")
        if saved.count("version") != self.VERSION:
            raise FormatError(f"{path}: has version {saved.count('version')}, this module reads {self.VERSION}")
        self.step = saved.count("step")
        self.job = saved.get("job", str)  # the resolved job, YAML
        self.state = saved.get("state", dict)
        self.provenance = saved.get("provenance", dict, {})
        self._pieces = {}  # by buffer and name: where its pieces lie
        self._shapes = {}
        for file in saved.members("files"):
            stored = _File(self.directory, file.get("name", str), file.count("bytes"))
            place = file.member("index")
            text = bytes(stored.array("u1", place.count("offset"), place.count("bytes")))
            self._read_index(stored, _Members(_parse(text, stored.path), stored.path))

    def _read_index(self, file, index):
        boxes = []
        for box in index.members("tensors"):
            name, box = box.get("name", str), tuple(tuple(box.counts(key)) for key in ("shape", "origin", "extent"))
            shape, origin, extent = box
            fits = len(shape) == len(origin) == len(extent) and all(
                o + e <= s for s, o, e in zip(shape, origin, extent))
            if not fits or self._shapes.setdefault(name, shape) != shape:
                raise FormatError(f"{file.path}: a box of {name} does not lie in it")
            boxes.append((name, origin, extent))
        for array in index.members("arrays"):
            if array.get("dtype", str) != "f32":
                raise FormatError(f"{file.path}: has an array of {array.get('dtype', str)}")
            at = array.count("offset")
            for stretch in array.get("stretches", list):
                name, origin, extent, begin, end = self._stretch(file, boxes, stretch)
                pieces = self._pieces.setdefault((array.get("buffer", str), name), [])
                pieces.append((origin, extent, begin, file.array("<f4", at, end - begin)))
                at += 4 * (end - begin)

    @staticmethod
    def _stretch(file, boxes, stretch):
        if isinstance(stretch, list) and len(stretch) == 3 and all(type(value) is int for value in stretch):
            number, begin, end = stretch
            if 0 <= number < len(boxes) and 0 <= begin <= end <= math.prod(boxes[number][2]):
                return *boxes[number], begin, end
        raise FormatError(f"{file.path}: the stretch {stretch!r:.60} lies in no box")

    def buffers(self):
        """master, and the optimizer's: moment1, moment2."""
        return sorted({buffer for buffer, _ in self._pieces})

    def names(self, buffer="master"):
        return sorted(name for other, name in self._pieces if other == buffer)

    def shape(self, name):
        return self._shapes[name]

    def tensor(self, name, buffer="master"):
        """The whole tensor, float32."""
        if (buffer, name) not in self._pieces:
            raise KeyError(f"{self.directory} has no {name} in {buffer}")
        pieces, shape = self._pieces[buffer, name], self.shape(name)
        filled = sum(len(values) for _, _, _, values in pieces)
        if filled != math.prod(shape):
            raise FormatError(f"{self.directory}: {name} has {filled} of {math.prod(shape)} values in {buffer}")
        boxes, tensor = {}, numpy.empty(shape, "<f4")
        for origin, extent, begin, values in pieces:
            if (origin, extent) not in boxes:
                boxes[origin, extent] = numpy.empty(math.prod(extent), "<f4")
            boxes[origin, extent][begin:begin + len(values)] = values
        for (origin, extent), box in boxes.items():
            tensor[tuple(slice(o, o + e) for o, e in zip(origin, extent))] = box.reshape(extent)
        return tensor

    def tensors(self, buffer="master"):
        return {name: self.tensor(name, buffer) for name in self.names(buffer)}


def _latest(directory):
    """The checkpoint that was committed last: by sequence; those without one came first, by step."""
    found = [path for path in directory.iterdir() if re.fullmatch(r"step-\d+", path.name)]
    saved = {path: _open_manifest(path / "manifest.json").member("weft_checkpoint") for path in found
             if (path / "manifest.json").is_file()}
    if not saved:
        raise FormatError(f"{directory}: has no checkpoint")
    return max(saved, key=lambda path: (saved[path].count("sequence", 0), saved[path].count("step")))


def metrics(run):
    """The lines of a run's metrics.jsonl, each a dict, without those that a resumed attempt or a rollback superseded."""
    path = pathlib.Path(run) / "metrics.jsonl"
    lines = []
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    for number, line in enumerate(text.split(b"\n")[:-1], 1):  # a killed run leaves a last line without its end
        event = _Members(_parse(line, f"{path}:{number}"), f"{path}:{number}")
        if event.get("event", str) in ("start", "roll_back"):
            lines = [earlier for earlier in lines if earlier["step"] <= event.count("step")]
        event.count("step")
        lines.append(event.values)
    return lines


def series(run, event, field):
    """The steps of an event ("train", "eval", "save") and the values of one of its fields; null becomes NaN. A field of
    [min, median, max] gives three columns."""
    chosen = [line for line in metrics(run) if line["event"] == event and field in line]
    return (numpy.array([line["step"] for line in chosen], "i8"),
            numpy.array([line[field] for line in chosen], "f8"))
