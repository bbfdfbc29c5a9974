# SPDX-License-Identifier: Apache-2.0
"""Models of bytes, which read any text, a token for each byte: what pages about models are made of in tests."""

import subprocess


def train(weft, folder, name, task, text, model=""):
    """Trains a model for a moment, in the folder: its run is runs/NAME there. model: more fields of the job's section."""
    (folder / f"{name}.txt").write_text(text)
    form = "tsv" if task == "translation" else "text"
    (folder / f"{name}.yaml").write_text(f"""name: {name}
task: {task}
data: {{directory: {name}-data, format: {form}, train: {{files: [{name}.txt]}}}}
tokenizer: {{kind: bytes, specials: [<s>, </s>], bos: <s>, eos: </s>}}
model: {{{model}layers: 2, width: 16, heads: 2, ffn: 32, max_length: 160}}
batch: {{sequences: 2}}
train: {{max_steps: 5}}
checkpoint: {{every_steps: 5}}
""")
    for command in ("prepare", "train"):
        subprocess.run([weft, command, f"{name}.yaml"], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
