# SPDX-License-Identifier: Apache-2.0
"""A machine that loses its power: what a run had not synced is gone, or part of it.

record.cpp has recorded, in their order, what a run changed in a directory and what it synced. Any beginning of that
record is a moment at which the power may fail. A disk then has what was synced, and of the rest what chance will have:
POSIX promises the content of a file only after fsync of the file, and its name only after fsync of its directory.
"""

import collections
import struct

HEAD = struct.Struct("<16sQQQQ")
Change = collections.namedtuple("Change", "call path other offset size bytes")


def read_record(path):
    """Returns the changes of a record, in their order."""
    data, at, changes = path.read_bytes(), 0, []
    while at < len(data):
        call, offset, size, path_bytes, other_bytes = HEAD.unpack_from(data, at)
        at += HEAD.size
        call = call.rstrip(b"\0").decode()
        name = data[at:at + path_bytes].decode()
        other = data[at + path_bytes:at + path_bytes + other_bytes].decode()
        at += path_bytes + other_bytes
        content = b""
        if call == "write":
            content = data[at:at + size]
            at += size
        changes.append(Change(call, name, other, offset, size, content))
    return changes


class File:
    def __init__(self):
        self.now, self.synced = bytearray(), b""

    def write(self, offset, content):
        if offset > len(self.now):
            self.now.extend(bytes(offset - len(self.now)))
        self.now[offset:offset + len(content)] = content

    def truncate(self, size):
        del self.now[size:]
        self.now.extend(bytes(size - len(self.now)))


class Folder:
    def __init__(self):
        self.now, self.synced = {}, {}


class Disk:
    """A directory as programs see it now, and as it was synced. Its own name was synced before."""

    def __init__(self):
        self.root = Folder()

    def find(self, path):
        found = self.root
        for name in path.split("/"):
            found = found if name == "." else found.now[name]
        return found

    def place(self, path):
        """Returns the folder that holds a path, and its name there."""
        folder, _, name = path.rpartition("/")
        return self.find(folder or "."), name

    def apply(self, change):
        folder, name = self.place(change.path)
        if change.call == "open":
            if name not in folder.now:
                folder.now[name] = File()
        elif change.call == "mkdir":
            folder.now[name] = Folder()
        elif change.call == "write":
            folder.now[name].write(change.offset, change.bytes)
        elif change.call == "truncate":
            folder.now[name].truncate(change.size)
        elif change.call in ("rename", "link"):
            target, as_name = self.place(change.other)
            target.now[as_name] = folder.now.pop(name) if change.call == "rename" else folder.now[name]
        elif change.call == "remove":
            del folder.now[name]
        elif change.call == "sync":
            synced = self.find(change.path)
            synced.synced = bytes(synced.now) if isinstance(synced, File) else dict(synced.now)


# How much survives of what was not synced: choices of a file's content and of a folder's names.

def synced_alone(file_or_folder, _):
    """Nothing."""
    return file_or_folder.synced


def names_alone(file_or_folder, _):
    """All names, as on most file systems, which write their journal first: a new file is empty."""
    return file_or_folder.synced if isinstance(file_or_folder, File) else file_or_folder.now


def by_chance(file_or_folder, random_):
    """Each name or not; content up to some byte, or none."""
    if isinstance(file_or_folder, File):
        if bytes(file_or_folder.now) == file_or_folder.synced or random_.random() < 0.5:
            return file_or_folder.synced
        return bytes(file_or_folder.now[:random_.randint(0, len(file_or_folder.now))])
    before, now = file_or_folder.synced, file_or_folder.now
    kept = {}
    for name in {**before, **now}:
        chosen = random_.choice((before, now))
        if name in chosen:
            kept[name] = chosen[name]
    return kept


def everything(file_or_folder, _):
    return bytes(file_or_folder.now) if isinstance(file_or_folder, File) else file_or_folder.now


SURVIVES = {"nothing": synced_alone, "names": names_alone, "chance": by_chance, "everything": everything}


def write_out(folder, path, survives, random_):
    """Makes the directory that a disk has after the power failed."""
    path.mkdir()
    for name, child in sorted(survives(folder, random_).items()):
        if isinstance(child, Folder):
            write_out(child, path / name, survives, random_)
        else:
            (path / name).write_bytes(survives(child, random_))


def content_of(path):
    """Returns the files below a directory with their content, and its folders."""
    return {str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in path.rglob("*")}
