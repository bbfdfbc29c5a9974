# SPDX-License-Identifier: Apache-2.0
"""The small job that chaos disturbs, its commands, and what must hold of a run after them."""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

STEPS, SAVES, EVALUATES, KEEPS = 24, 4, 6, 2
# The watchdogs' budgets in seconds.
BUDGETS = {"init": 20, "step": 6, "save": 8, "evaluate": 8, "storage": 8}
PATIENCE = 180  # seconds after which a command is ended
JOB = f"""name: chaos
data: {{directory: data, document_delimiter: line, train: {{files: [text.txt]}}, valid: {{files: [text.txt]}}}}
tokenizer: {{kind: bytes, specials: [<e>], eos: <e>}}
model: {{layers: 1, width: 32, heads: 2, max_length: 16}}
batch: {{sequences: 8}}
schedule: {{kind: constant}}
train: {{max_steps: {STEPS}}}
evaluation: {{every_steps: {EVALUATES}, max_sequences: 50}}
checkpoint: {{every_steps: {SAVES}, keep_last: {KEEPS}}}
log: {{every_steps: 1}}
timeouts: {{{", ".join(f"{phase}_seconds: {seconds}" for phase, seconds in BUDGETS.items())}}}
"""
Fault = collections.namedtuple("Fault", "phase nth rank action victim delay")


def kill_after(steps, victim=1):
    """Kills a rank once rank 0 has reported so many steps."""
    return Fault("step", steps, 0, int(signal.SIGKILL), victim, 0)


class Lost(Exception):
    """Something was lost: the run did not end as it must."""


class Runs:
    def __init__(self, weft, faults, recorder, scratch):
        self.weft, self.faults, self.recorder, self.scratch = weft, faults, recorder, scratch
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        (scratch / "text.txt").write_text("".join(f"the boat {i * 37 % 101} went by\n" for i in range(1, 201)))
        (scratch / "job.yaml").write_text(JOB)
        subprocess.run([weft, "prepare", "job.yaml"], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
        self.expected = None
        began = time.monotonic()
        code, log = self.train("straight")
        self.seconds = time.monotonic() - began
        if code != 0:
            raise SystemExit(f"the undisturbed run ended with {code}:\n{log}")
        self.expected = self.result("straight")
        # A copy of a run that was killed after its third save, which has a checkpoint to load.
        self.disturbed("half", kill_after(3 * SAVES + 3))

    def train(self, run, *arguments, ranks=2, fault=None, before=()):
        """Returns exit status and output of one command on some ranks; `before`: words before weft on each of them."""
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        words = [*before, self.weft, "train", "job.yaml", "--set", f"run_dir={run}", *arguments]
        if fault:
            folder = self.scratch / f"{run}.fault"
            folder.mkdir(exist_ok=True)
            numbers = (fault.phase, fault.nth, fault.rank, fault.action, fault.victim, fault.delay)
            words = ["env", f"LD_PRELOAD={self.faults}", f"WEFT_FAULT_FOLDER={folder}",
                     f"WEFT_FAULT_EVALUATES={EVALUATES}", "WEFT_FAULT=" + ":".join(map(str, numbers)), *words]
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), *words]
        log = self.scratch / f"{run}.log"
        with open(log, "w") as output:
            process = subprocess.Popen(command, cwd=self.scratch, env=environment, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
                raise Lost(f"still running after {PATIENCE} s:\n{log.read_text()}")
        return code, log.read_text()

    def ends(self, run, *arguments, ranks=2):
        """Returns the output of a command that must end well."""
        code, log = self.train(run, *arguments, ranks=ranks)
        if code != 0:
            raise Lost(f"{run} on {ranks} ranks ended with {code}:\n{log}")
        return log

    def disturbed(self, run, fault, *arguments, ranks=2):
        """Returns the exit status, and whether the fault came in its phase."""
        code, _ = self.train(run, *arguments, ranks=ranks, fault=fault)
        hit = self.scratch / f"{run}.fault" / "hit"
        came = hit.exists() and hit.read_text().startswith(fault.phase)
        if came and fault.phase == "evaluation" and isinstance(fault.action, int) and fault.action == signal.SIGKILL:
            came = not self.evaluated_last(run)
        return code, came

    def lines(self, run):
        try:
            text = (self.scratch / run / "metrics.jsonl").read_bytes()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]

    def evaluated_last(self, run):
        """Whether the metrics hold the last evaluation that was due, so that the kill came after it."""
        lines = self.lines(run)
        due = [line["step"] for line in lines if line["event"] == "train" and line["step"] % EVALUATES == 0]
        return bool(due) and any(line["event"] == "eval" and line["step"] == due[-1] for line in lines)

    def result(self, run):
        """Returns the checksums of a run's last checkpoint's files, and the loss and norm of each step."""
        manifest = self.scratch / run / "checkpoints" / f"step-{STEPS:08}" / "manifest.json"
        if not manifest.exists():
            raise Lost("there is no last checkpoint")
        tensors = re.findall(r'"hash":"([0-9a-f]{16})"', manifest.read_text())[:-1]
        steps = {}
        for line in self.lines(run):  # later attempts supersede earlier ones
            if line["event"] == "train":
                steps[line["step"]] = (line["loss"], line["grad_norm"])
        return {"tensors": tensors, "steps": steps}

    def nothing_runs(self, run):
        """The command has ended: a process of it that is left would write into the next one's directory."""
        end = time.monotonic() + 5
        while left := [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if self.is_of(p, run)]:
            if time.monotonic() > end:
                raise Lost(f"{run} has ended, and {len(left)} of its processes run on: {left}")
            time.sleep(0.1)

    def is_of(self, command, run):
        try:
            if pathlib.Path(os.readlink(command.parent / "cwd")) != self.scratch:
                return False
            return f"run_dir={run}".encode() in command.read_bytes().split(b"\0")
        except OSError:  # it is gone
            return False

    def whole_checkpoints(self, run):
        """Returns the step of the newest checkpoint, 0 if there is none. All that the saves leave are there and whole."""
        steps = [step for step in self.steps_of(run) if (self.folder(run, step) / "manifest.json").exists()]
        saves = {line["step"] for line in self.lines(run) if line["event"] == "save"}
        if len(steps) < min(KEEPS, len(saves)):
            raise Lost(f"{run} has saved steps {sorted(saves)}, and has {steps} left")
        for step in steps:
            words = subprocess.run([self.weft, "inspect", "--verify", self.folder(run, step)], cwd=self.scratch,
                                   capture_output=True, text=True)
            if words.returncode != 0:
                raise Lost(f"{self.folder(run, step)} is committed and not whole:\n{words.stdout}{words.stderr}")
        return max(steps, default=0)

    def no_temporaries(self, run):
        left = [str(path) for path in (self.scratch / run).rglob("*") if re.search(r"\.tmp|\.weft-", path.name)]
        if left:
            raise Lost(f"temporary files are left: {left}")

    def folder(self, run, step):
        return self.scratch / run / "checkpoints" / f"step-{step:08}"

    def goes_on(self, run, *arguments, ranks=2, lines_may_lack=False, begins_at=None, as_in=None):
        """Runs the same command again, which must end as the undisturbed run did, or the run whose result is `as_in`."""
        expected = as_in or self.expected
        log = self.ends(run, *arguments, ranks=ranks)
        began = [line["step"] for line in self.lines(run) if line["event"] == "start"]
        ended_before = "nothing to do" in log  # it says so, and writes no line
        if begins_at is not None and not ended_before and began[-1] < begins_at:
            raise Lost(f"it began at step {began[-1]}, though step {begins_at} was saved:\n{log}")
        found = self.result(run)
        if found["tensors"] != expected["tensors"]:
            raise Lost(f"tensors differ:\n{log}")
        missing = set(expected["steps"]) - set(found["steps"])
        if missing and not lines_may_lack:
            raise Lost(f"the metrics lack steps {sorted(missing)}")
        for step, values in found["steps"].items():
            if values != expected["steps"][step]:
                raise Lost(f"step {step}: {values} is not {expected['steps'][step]}")

    def steps_of(self, run):
        """Returns the steps of a run's checkpoints."""
        return sorted(int(path.name[5:]) for path in (self.scratch / run / "checkpoints").glob("step-????????"))

    def half(self, run):
        shutil.copytree(self.scratch / "half", self.scratch / run)

    def clear(self, run):
        for path in (self.scratch / run, self.scratch / f"{run}.fault"):
            shutil.rmtree(path, ignore_errors=True)
