#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what preparing text costs on this machine: GPT-2's encoding beside tiktoken's, all of `weft prepare` beside
encoding alone, from JSON lines and, where Python has pyarrow, from Parquet, and merges learnt from 100 MB. With
--gigabytes a large corpus, too: memory, and whether a preparation that is killed ten times gives the bytes of one that
is not. Needs a build with -DWEFT_BENCH=ON; tiktoken is compared with where Python has it, in the first round."""

import argparse
import datetime
import hashlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import many_scripts  # noqa: E402
import result_file  # noqa: E402

TIKTOKEN = """
import json, sys, time, tiktoken
vocabulary, merges, file = sys.argv[1:]
chars = [c for c in range(256) if 33 <= c <= 126 or 161 <= c <= 172 or 174 <= c <= 255]
shown = {chr(c): c for c in chars}
shown.update({chr(256 + i): c for i, c in enumerate(c for c in range(256) if c not in chars)})
ranks = {bytes(shown[c] for c in token): rank for token, rank in json.load(open(vocabulary)).items()
         if token != "<|endoftext|>"}
pattern = r"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
gpt2 = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
texts = [json.loads(line)["text"] for line in open(file, encoding="utf-8")]
began = time.perf_counter()
tokens = sum(len(gpt2.encode_ordinary(text)) for text in texts)
seconds = time.perf_counter() - began
print(json.dumps({"version": tiktoken.__version__, "tokens": tokens, "seconds": round(seconds, 3)}))
"""


# Row groups of 1,000 rows, as FineWeb's files have them.
PARQUET = """
import itertools, json, sys
import pyarrow as pa, pyarrow.parquet as pq
lines, file, compression = sys.argv[1:]
schema = pa.schema([("text", pa.string())])
with open(lines, encoding="utf-8") as rows, pq.ParquetWriter(file, schema, compression=compression) as writer:
    while group := list(itertools.islice(rows, 1000)):
        writer.write_table(pa.table({"text": [json.loads(row)["text"] for row in group]}, schema))
"""


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("gpt2", help="the directory with GPT-2's vocab.json and merges.txt")
    result_file.add_options(p, "preparation")
    p.add_argument("--build", default=os.path.join(compare.ROOT, "build", "cpu"), help="(%(default)s)")
    p.add_argument("--python", default=sys.executable, help="that has tiktoken and pyarrow (%(default)s)")
    p.add_argument("--threads", type=int, default=2, help="(%(default)s)")
    p.add_argument("--megabytes", type=float, default=400, help="of text that is encoded (%(default)s)")
    p.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    p.add_argument("--gigabytes", type=float, default=0, help="of the large corpus; 0: none (%(default)s)")
    p.add_argument("--kills", type=int, default=10, help="of its preparation (%(default)s)")
    p.add_argument("--directory", help="where to write: a folder on the disk that is measured; default: a temporary one")
    return p.parse_args(arguments)


def printed(command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def write_job(options, folder, text, form="jsonl"):
    path = os.path.join(folder, f"{form}.yaml")
    with open(path, "w", encoding="utf-8") as job:
        job.write(f"""data:
  directory: {folder}/data
  format: {form}
  train: {{files: [{text}]}}
  split: hash
  valid_fraction: 0.01
tokenizer:
  kind: gpt2
  vocab_file: {options.gpt2}/vocab.json
  merges_file: {options.gpt2}/merges.txt
  eos: <|endoftext|>
""")
    return path


def start(options, job):
    weft = os.path.join(options.build, "weft")
    return subprocess.Popen([weft, "prepare", job, "--threads", str(options.threads)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def prepare(options, job):
    """Seconds, greatest memory in MiB and what was said, of a run that nothing disturbs."""
    began = time.perf_counter()
    process = start(options, job)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"weft prepare ends with {status}: {said}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024, said


def digest(directory):
    sums = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            sums[name] = hashlib.file_digest(file, "blake2b").hexdigest()
    return sums


def text_bytes(folder):
    with open(os.path.join(folder, "data", "dataset.json"), encoding="utf-8") as manifest:
        return sum(split["source"]["text_bytes"] for split in json.load(manifest)["splits"].values())


def tiktoken(options, text):
    """None where Python has no tiktoken."""
    peer = subprocess.run([options.python, "-c", TIKTOKEN, f"{options.gpt2}/vocab.json", f"{options.gpt2}/merges.txt",
                           text], stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(peer.stdout) if peer.returncode == 0 else None


def parquet(options, folder, text):
    """The jobs that read the text from Parquet, by compression; none where Python has no pyarrow, or weft no module."""
    doctor = subprocess.run([os.path.join(options.build, "weft"), "doctor"], stdout=subprocess.PIPE, text=True, check=True)
    if not any(line.startswith("Parquet") and "Arrow" in line for line in doctor.stdout.splitlines()):
        return {}
    jobs = {}
    for compression in ("snappy", "zstd"):
        file, own = os.path.join(folder, f"{compression}.parquet"), os.path.join(folder, compression)
        written = subprocess.run([options.python, "-c", PARQUET, text, file, compression], stderr=subprocess.DEVNULL,
                                 check=False)
        if written.returncode == 0:
            os.makedirs(own)
            jobs[compression] = write_job(options, own, file, "parquet")
    return jobs


def small(options, folder):
    """Everything in turn, some rounds. A share is the median of the rounds' shares: what ran after one another met the
    same machine, which may run a fifth faster an hour later."""
    text, learnt = os.path.join(folder, "text.jsonl"), os.path.join(folder, "learnt.jsonl")
    many_scripts.main([text, "--megabytes", str(options.megabytes)])
    many_scripts.main([learnt, "--megabytes", "100"])
    job, tokenizer = write_job(options, folder, text), os.path.join(folder, "tokenizer.json")
    bench = os.path.join(options.build, "bench", "micro", "tokenizer_bench")
    stored = parquet(options, folder, text)
    runs, rows_of, encoded, peers = [], {name: [] for name in stored}, {1: [], options.threads: []}, []
    for turn in range(options.rounds):
        shutil.rmtree(os.path.join(folder, "data"), ignore_errors=True)
        runs.append(prepare(options, job)[0])
        for name, other in stored.items():
            shutil.rmtree(os.path.join(folder, name, "data"), ignore_errors=True)
            rows_of[name].append(prepare(options, other)[:2])
        shutil.copy(os.path.join(folder, "data", "tokenizer.json"), tokenizer)
        for threads, rows in encoded.items():
            rows.append(printed([bench, "encode", tokenizer, text, str(threads)]))
        if turn == 0:  # it takes longer than all the rest
            peers.append(tiktoken(options, text))
    encode = [all_seconds(rows) for rows in encoded.values()]
    result = {"rounds": options.rounds, "text_bytes": text_bytes(folder), "prepare_seconds": [round(s, 2) for s in runs],
              "encode": encode, "learn": printed([bench, "learn", "32000", learnt, str(options.threads)])}
    if all(peers):
        result["tiktoken"] = all_seconds(peers)
        result["same_tokens"] = result["tiktoken"]["tokens"] == encode[0]["tokens"]
        result["times_tiktoken"] = round(result["tiktoken"]["seconds"][0] / encode[0]["seconds"][0], 2)
    result["prepare_share_of_encoding"] = share(encode[-1]["seconds"], runs)
    for name, rows in rows_of.items():
        seconds = [round(row[0], 2) for row in rows]
        result[f"parquet_{name}"] = {
            "file_bytes": os.path.getsize(os.path.join(folder, f"{name}.parquet")), "prepare_seconds": seconds,
            "greatest_memory_mib": round(max(row[1] for row in rows)),
            "share_of_encoding": share(encode[-1]["seconds"], seconds),
            "same_shards": shards(folder) == shards(os.path.join(folder, name))}
    return result


def share(encoding, preparing):
    return round(statistics.median(alone / all_of_it for alone, all_of_it in zip(encoding, preparing)), 3)


def shards(folder):
    return {name: found for name, found in digest(os.path.join(folder, "data")).items() if name.endswith(".h5")}


def all_seconds(rows):
    """One row for runs of the same: they differ in nothing but their seconds."""
    return {**rows[0], "seconds": [row["seconds"] for row in rows]}


def large(options, folder):
    text = os.path.join(folder, "large.jsonl")
    many_scripts.main([text, "--megabytes", str(1000 * options.gigabytes)])
    job = write_job(options, folder, text)
    data = os.path.join(folder, "data")
    shutil.rmtree(data, ignore_errors=True)
    seconds, mib, said = prepare(options, job)
    undisturbed = digest(data)
    shutil.rmtree(data)
    rng, instants = random.Random(7), []
    for _ in range(options.kills):
        process = start(options, job)
        wait = seconds / (options.kills + 1) * rng.uniform(0.3, 1.7)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            instants.append(round(wait, 1))
    last, _, resumed = prepare(options, job)
    return {"file_bytes": os.path.getsize(text), "text_bytes": text_bytes(folder), "seconds": round(seconds, 1),
            "greatest_memory_mib": round(mib), "said_memory": [s for s in said.splitlines() if "memory" in s],
            "killed_after_seconds": instants, "last_run_seconds": round(last, 1),
            "last_run_said": [s.strip() for s in resumed.splitlines() if "already" in s],
            "same_bytes": digest(data) == undisturbed}


def main(arguments=None):
    options = parse(arguments)
    options.gpt2 = os.path.abspath(options.gpt2)
    name = options.name or "preparation"
    result = {"format": 2, "name": name, "command": compare.own_command(), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%FT%TZ"),
              "machine": compare.machine(), "versions": compare.own_versions(os.path.join(options.build, "weft")),
              "load_before": os.getloadavg()[0], "threads": options.threads}
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        result["preparation"] = small(options, folder)
        if options.gigabytes > 0:
            result["large"] = large(options, folder)
    file = result_file.ResultFile(name, options.out, options.raw)
    file.keep(result)
    print(file)


if __name__ == "__main__":
    main()
