#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes parquet/: Parquet files and JSON lines of the same rows; and the seeds of the fuzz target for Parquet.

    pip install pyarrow==26.0.1
    python3 tests/data/prepare/make_parquet.py
"""

import io
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent / "parquet"
SEEDS = pathlib.Path(__file__).parents[2] / "fuzz/parquet"
WORDS = "the sea, a ship; \"wind\"\nMünchen 東京 \\ salt 42\ttab 🙂".split(" ")


def texts():
    rows = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(i % 12)) for i in range(90)]
    rows[7] = "long " + "and longer " * 150
    return rows


def write(name, columns, **options):
    pq.write_table(pa.table(columns), FOLDER / f"{name}.parquet", **{"write_statistics": False, **options})


def lines(name, rows):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")


def seed(rows, **options):
    """As few bytes as possible, since tests damage each."""
    bare = {"write_statistics": False, "store_schema": False, "use_dictionary": False, "compression": "none"}
    file = io.BytesIO()
    pq.write_table(pa.table({"text": pa.array(rows, pa.string())}), file, **{**bare, **options})
    return file.getvalue()


def with_huge_page(file):
    """Says that the first page has 2 GiB when it is unpacked: the number is four bytes longer, and so is the column."""
    assert file[4:7] == b"\x15\x00\x15" and file[7] < 0x80, "the first page begins otherwise"
    bytes_in_file = pq.ParquetFile(io.BytesIO(file)).metadata.row_group(0).column(0).total_compressed_size
    old, new = (bytes([0x16, 2 * n]) for n in (bytes_in_file, bytes_in_file + 4))
    assert bytes_in_file + 4 < 64 and old in file, "the size of the column is written otherwise"
    return file[:7] + b"\xfe\xff\xff\xff\x0f" + file[8:].replace(old, new)


def seeds():
    rows = ["one", "", "two words"]
    zstd = seed(rows, compression="zstd")
    return {
        "whole_dictionary": seed(["a", "b"] * 9, use_dictionary=True, row_group_size=9),
        "whole_rows": seed(rows, data_page_version="2.0"),
        "whole_zstd": zstd,
        "damaged_cut": zstd[:-1],
        "damaged_magic": b"PAR2" + zstd[4:-4] + b"PAR2",
        "damaged_null": seed(["one", None]),
        "damaged_page_of_2_GiB": with_huge_page(zstd),
    }


def main():
    FOLDER.mkdir(exist_ok=True)
    SEEDS.mkdir(exist_ok=True)
    for name, content in seeds().items():
        (SEEDS / name).write_bytes(content)
    rows = texts()
    lines("documents", [{"text": text} for text in rows])
    documents = {"id": list(range(len(rows))), "text": rows}
    groups = {"row_group_size": 40, "data_page_size": 300, "write_batch_size": 8}  # three row groups of several pages
    for compression in ("none", "snappy", "gzip", "zstd"):
        write(f"documents-{compression}", documents, compression=compression, **groups)
    write("documents-dictionary", {"text": pa.array(rows).dictionary_encode()}, compression="snappy", **groups)
    write("documents-large", {"text": pa.array(rows, pa.large_string())}, compression="snappy", use_dictionary=False, **groups)
    write("documents-delta", {"text": rows}, compression="zstd", use_dictionary=False, data_page_version="2.0",
          column_encoding={"text": "DELTA_BYTE_ARRAY"}, **groups)
    required = pa.schema([pa.field("text", pa.string(), nullable=False)])
    pq.write_table(pa.table({"text": rows}, required), FOLDER / "documents-required.parquet", compression="zstd", **groups)

    lines("nulls", [{"text": None if i % 3 == 1 else f"row {i}"} for i in range(30)])
    write("nulls", {"text": [None if i % 3 == 1 else f"row {i}" for i in range(30)]}, row_group_size=10)

    # A page holds fewer answers than prompts.
    pairs = [{"prompt": f"Twice {i}?", "answer": f"{2 * i}, which is {i} and {i}.", "source": i} for i in range(50)]
    lines("answers", pairs)
    write("answers", {key: [pair[key] for pair in pairs] for key in ("answer", "source", "prompt")}, data_page_size=64,
          write_batch_size=4, row_group_size=30, compression="zstd", use_dictionary=False)

    # Texts of 100 KB, which are read in several pieces.
    write("long", {"text": [f"{i} " + "abcdefghi " * 10000 for i in range(40)]}, compression="zstd", row_group_size=25,
          use_dictionary=False)
    write("types", {
        "id": [1, 2], "text": ["a", "b"], "list": [["a"], ["b", "c"]], "pair": [{"en": "a", "de": "b"}] * 2,
        "bytes": [b"a", b"b"], "day": pa.array([1, 2], pa.date32()),
        "map": pa.array([[("a", "b")]] * 2, pa.map_(pa.string(), pa.string()))})
    write("empty", {"text": pa.array([], pa.string())})
    write("nul", {"text": ["fine", "a\0b"]})


if __name__ == "__main__":
    main()
