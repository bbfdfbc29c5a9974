# SPDX-License-Identifier: Apache-2.0
"""A small language model of bytes, for tests that read what a run of it leaves."""

import os
import subprocess

HEAD = """run_dir: run
data: {directory: data, document_delimiter: line, train: {files: [text.txt]}, valid: {files: [text.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
schedule: {kind: constant}
"""


def prepared(weft, folder, job, **environment):
    """Writes a text and job.yaml into the folder, and prepares them. job: the lines of the job besides HEAD. Returns how
    commands on it are run: arguments of subprocess."""
    (folder / "text.txt").write_text("".join(f"the boat {i * 37 % 101} went by\n" for i in range(1, 201)))
    (folder / "job.yaml").write_text(HEAD + job)
    run = dict(cwd=folder, env=dict(os.environ, OMP_NUM_THREADS="1", **environment), stderr=subprocess.DEVNULL)
    subprocess.run([weft, "prepare", "job.yaml"], check=True, **run)
    return run
