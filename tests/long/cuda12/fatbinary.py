#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clang calls to pack code for several devices into one object: fatbinary --create FILE --image=profile=sm_80,file=F ...

With --list FILE it prints what an object holds instead: a line "machine code of sm_80" or "PTX of compute_80" for each image.
CUDA's own program of this name is part of no wheel of CUDA 12. The layout is the one that the CUDA runtime and the
simulated device (simulator/runtime/programs.cpp) read. Nothing is compressed; other options change nothing here."""
import struct
import sys

MAGIC, HEADER_BYTES, ENTRY_BYTES = 0xBA55ED50, 16, 64
PTX, MACHINE_CODE = 1, 2


def entry(profile, path):
    """One image: "compute_80" is PTX, which ends with a zero byte; "sm_80" is machine code."""
    kind, architecture = profile.split("_")
    with open(path, "rb") as file:
        payload = file.read()
    if kind == "compute":
        payload += b"\0"
    payload += b"\0" * (-len(payload) % 8)
    head = struct.pack("<HHIQIIHHIIIQ", PTX if kind == "compute" else MACHINE_CODE, 0x101, ENTRY_BYTES, len(payload), 0, 0,
                       0, 0, int(architecture.rstrip("af")), 0, 0, 0)
    return head.ljust(ENTRY_BYTES, b"\0") + payload


def contents(data):
    """The images of every fat binary in an object, with their sizes."""
    start = data.find(struct.pack("<IHH", MAGIC, 1, HEADER_BYTES))
    while start >= 0:
        at = start + HEADER_BYTES
        end = at + struct.unpack_from("<Q", data, start + 8)[0]
        while at < end:
            kind, _, head, size = struct.unpack_from("<HHIQ", data, at)
            architecture = struct.unpack_from("<I", data, at + 28)[0]
            if size:
                yield f"PTX of compute_{architecture}" if kind == PTX else f"machine code of sm_{architecture}"
            at += head + size
        start = data.find(struct.pack("<IHH", MAGIC, 1, HEADER_BYTES), end)


def main(arguments):
    if arguments[0] == "--list":
        with open(arguments[1], "rb") as file:
            print("\n".join(contents(file.read())))
        return
    target, images = None, []
    for i, argument in enumerate(arguments):
        if argument == "--create":
            target = arguments[i + 1]
        elif argument.startswith("--image="):
            image = dict(part.split("=", 1) for part in argument.removeprefix("--image=").split(","))
            images.append(entry(image["profile"], image["file"]))
    body = b"".join(images)
    with open(target, "wb") as file:
        file.write(struct.pack("<IHHQ", MAGIC, 1, HEADER_BYTES, len(body)) + body)


if __name__ == "__main__":
    main(sys.argv[1:])
