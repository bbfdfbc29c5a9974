#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft's ids of random conversations with those of transformers' apply_chat_template().

    pip install transformers==5.23.0 tokenizers==0.23.3 trl==1.16.0 numpy
    python3 tests/data/chat/against_transformers.py build/cpu/weft [CONVERSATIONS] [FOLDER]

The published templates are those of trl's wheel, and NAME.jinja of the folder (make_chat_golden.py names them and their
sums). For each, `weft prepare` encodes the conversations with weft's template of the same kind; transformers encodes them with
the published one, and with the one that weft writes when it exports a model (its texts must be the same).
"""
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import make_chat_golden as golden

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
import weft  # noqa: E402

program = os.path.abspath(sys.argv[1])
count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
package = importlib.util.find_spec("trl")
folders = [pathlib.Path(path) for path in sys.argv[3:]]
folders += [pathlib.Path(package.origin).parent / "chat_templates"] if package else []


def published(name, sum_):
    for folder in folders:
        if (folder / f"{name}.jinja").is_file():
            text = (folder / f"{name}.jinja").read_text()
            assert hashlib.sha256(text.encode()).hexdigest() == sum_, f"{name} is not the published one"
            return text
    return None


def run(*words):
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def prepared(folder, tokenizer, name, system, chats):
    """The ids of the conversations as `weft prepare` writes them; and the template that an export of such a model has."""
    base, specials, in_text, bos, eos = golden.TOKENIZERS[tokenizer]
    (folder / "chats.jsonl").write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats))
    job = {
        "name": "chats", "run_dir": str(folder / "run"),
        "data": {"directory": str(folder / "data"), "format": "messages", "train": {"files": [str(folder / "chats.jsonl")]},
                 "chat": {"template": name, "system": system, "loss": "all"}},
        "tokenizer": {"kind": "huggingface", "model_file": str(golden.HERE / "tokenizers" / f"{tokenizer}.json"),
                      "bos": bos or "", "eos": eos or ""},
        "model": {"layers": 1, "width": 16, "heads": 2, "ffn": 16, "max_length": 4096, "norm_kind": "rms", "norm_bias": False,
                  "bias": False, "positions": "rotary", "activation": "silu", "gated": True, "tying": "output"},
        "batch": {"sequences": 1}, "train": {"max_steps": 1}}
    (folder / "job.yaml").write_text(json.dumps(job))
    run("prepare", str(folder / "job.yaml"))
    run("train", str(folder / "job.yaml"))
    run("export-hf", str(folder / "run"), str(folder / "exported"))
    split = weft.Dataset(folder / "data")["train"]
    config = json.loads((folder / "exported" / "tokenizer_config.json").read_text())
    return [split.conversation(i)[0].tolist() for i in range(len(split))], config["chat_template"]


def main():
    compared = 0
    for file, sum_, name, system, tokenizer in golden.TEMPLATES:
        template = published(file, sum_)
        if template is None:
            print(f"{file}: not here")
            continue
        knows = golden.tokenizer_of(tokenizer)[1]
        # One message of nothing gives a conversation of one id or none in some templates, of which nothing can be learned.
        chats = [chat for chat in golden.conversations(3 * count, 29) if golden.fits(file, chat) and len(chat) > 1][:count]
        assert len(chats) == count, (file, len(chats))
        with tempfile.TemporaryDirectory() as scratch:
            ours, exported = prepared(pathlib.Path(scratch), tokenizer, name, system, chats)
        differences = 0
        for chat, ids in zip(chats, ours, strict=True):
            for prompt in (False, True):
                theirs = golden.apply(knows, template, chat, prompt)
                differences += theirs != golden.apply(knows, exported, chat, prompt)
                differences += not prompt and theirs != ids
        print(f"{file}: {len(chats)} conversations, {differences} differences")
        if differences:
            sys.exit(f"{file}: the ids are not those of apply_chat_template")
        compared += len(chats)
    print(f"{compared} conversations have the ids of apply_chat_template")


main()
