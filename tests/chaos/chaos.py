#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disturbs training runs on two ranks, and checks that nothing is lost.

    chaos.py WEFT FAULT_LIBRARY SCRATCH [--faults N] [--seed S] [--json FILE]

A small job runs once undisturbed. Then, for each fault, the same command runs with the library preloaded (fault.cpp)
and is disturbed in one of nine phases; a fault that its run did not reach is not counted. What must hold then:

- the command ends in time, with an exit code that is right for the fault, and names the rank that was hit
- it leaves no process, and every checkpoint that a run of so many saves keeps is there and whole
- the same command again begins at the newest checkpoint that was committed: no step is trained again that was saved
- it ends with the tensors, losses and norms of the undisturbed run, bit for bit, and leaves no temporary file

Without --faults: each phase once, and other mishaps: bytes of checkpoints that change, files that are cut, a full disk,
a second job on the same directory, a branch. Exit status 1 if anything was lost.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

PHASES = ("start", "load", "data", "step", "evaluation", "snapshot", "write", "commit", "retention")
STEPS, SAVES, EVALUATES, KEEPS = 24, 4, 6, 2
# The watchdogs' budgets in seconds, and what a command may take beside them: an undisturbed run takes about two.
BUDGETS = {"init": 20, "step": 6, "save": 8, "evaluate": 8, "storage": 8}
MARGIN = 15
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

# WHERE, for each phase: the ranks that reach it by themselves, the least number of its calls in a run, and the errors
# that it may meet.
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGSTOP)
ERRORS = ("ENOSPC", "EIO", "EROFS")
STALLS = (1000, 3000, 10000, 20000)  # milliseconds: within every budget, and beyond most of them
Where = collections.namedtuple("Where", "ranks calls errors")
WHERE = {
    "start": Where((0, 1), 3, ("EIO",)),
    "load": Where((0, 1), 3, ("EIO",)),
    "data": Where((0, 1), 40, ("EIO", "cut")),
    "step": Where((0,), 18, ("ENOSPC", "EIO", "cut")),
    "evaluation": Where((0,), 3, ()),
    "snapshot": Where((0,), 5, ("ENOSPC", "EIO", "EROFS")),
    "write": Where((0, 1), 20, ("ENOSPC", "EIO", "cut")),
    "commit": Where((0,), 25, ERRORS),
    "retention": Where((0,), 8, ERRORS),
}
Fault = collections.namedtuple("Fault", "phase nth rank action victim delay")


class Lost(Exception):
    """Something was lost: the run did not end as it must."""


class Runs:
    def __init__(self, weft, library, scratch):
        self.weft, self.library, self.scratch = weft, library, scratch
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
        self.disturbed("half", Fault("step", 3 * SAVES + 3, 0, int(signal.SIGKILL), 1, 0))

    def train(self, run, *arguments, fault=None):
        """Returns exit status and output of one command on two ranks."""
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        ranks = [self.weft, "train", "job.yaml", "--set", f"run_dir={run}", *arguments]
        if fault:
            folder = self.scratch / f"{run}.fault"
            folder.mkdir(exist_ok=True)
            words = (fault.phase, fault.nth, fault.rank, fault.action, fault.victim, fault.delay)
            ranks = ["env", f"LD_PRELOAD={self.library}", f"WEFT_FAULT_FOLDER={folder}",
                     f"WEFT_FAULT_EVALUATES={EVALUATES}", "WEFT_FAULT=" + ":".join(map(str, words)), *ranks]
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", "2", *ranks]
        log = self.scratch / f"{run}.log"
        with open(log, "w") as words:
            process = subprocess.Popen(command, cwd=self.scratch, env=environment, stdout=words,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
                raise Lost(f"still running after {PATIENCE} s:\n{log.read_text()}")
        return code, log.read_text()

    def disturbed(self, run, fault):
        """Returns the exit status, and whether the fault came in its phase."""
        code, _ = self.train(run, fault=fault)
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

    def goes_on(self, run, lines_may_lack=False, begins_at=None):
        """Runs the same command again, which must end as the undisturbed run did."""
        code, log = self.train(run)
        if code != 0:
            raise Lost(f"the same command again ended with {code}:\n{log}")
        began = [line["step"] for line in self.lines(run) if line["event"] == "start"]
        if begins_at not in (None, STEPS) and began[-1] < begins_at:
            raise Lost(f"it began at step {began[-1]}, though step {begins_at} was saved:\n{log}")
        found = self.result(run)
        if found["tensors"] != self.expected["tensors"]:
            raise Lost(f"tensors differ:\n{log}")
        missing = set(self.expected["steps"]) - set(found["steps"])
        if missing and not lines_may_lack:
            raise Lost(f"the metrics lack steps {sorted(missing)}")
        for step, values in found["steps"].items():
            if values != self.expected["steps"][step]:
                raise Lost(f"step {step}: {values} is not {self.expected['steps'][step]}")

    def steps_of(self, run):
        """Returns the steps of a run's checkpoints."""
        return sorted(int(path.name[5:]) for path in (self.scratch / run / "checkpoints").glob("step-????????"))

    def half(self, run):
        shutil.copytree(self.scratch / "half", self.scratch / run)

    def clear(self, run):
        for path in (self.scratch / run, self.scratch / f"{run}.fault"):
            shutil.rmtree(path, ignore_errors=True)


def draw(random_, phase):
    where = WHERE[phase]
    rank = random_.choice(where.ranks)
    kind = random_.random()
    if kind < 0.15:
        return Fault(phase, random_.randint(1, where.calls), rank, "stall", rank, random_.choice(STALLS))
    error = where.errors and kind < 0.4
    action = random_.choice(where.errors) if error else int(random_.choice(SIGNALS))
    late = phase in ("step", "evaluation") and not error
    return Fault(phase, random_.randint(1, where.calls), rank, action, random_.randint(0, 1),
                 random_.choice((0, 1, 2, 5)) if late else 0)


def ends(fault):
    """Returns the exit codes that are right for a fault. A signal that comes late may find the run at its end."""
    late = {0} if fault.delay else set()
    if fault.action == "stall":  # a rank that shows nothing for longer than its budget is hung
        return {0} if fault.delay < 1000 * min(BUDGETS.values()) else {0, 5}
    if fault.action == "cut":
        return {0}
    if fault.phase == "data" and fault.action == "EIO":  # tried again
        return {0}
    if fault.action == "EIO":  # tried again, or of a file that the run can do without
        return {0, 8} | ({3} if fault.phase in ("write", "snapshot", "commit") else set())
    if isinstance(fault.action, str):
        return {0, 3}
    return late | {signal.SIGKILL: {137}, signal.SIGSTOP: {5}, signal.SIGTERM: {75, 143, 0}, signal.SIGUSR1: {75, 138, 0}}[fault.action]


def must_name(fault, code):
    """Whether the output must name the victim: a signal that ended it, or a stop that ended the run."""
    return fault.action in (signal.SIGKILL, signal.SIGSTOP) and code != 0


def name(action):
    return action if isinstance(action, str) else signal.Signals(action).name


def strike(runs, run, fault):
    """Disturbs a run. Returns whether the fault came, and the newest checkpoint then, if all that must hold does."""
    began = time.monotonic()
    code, came = runs.disturbed(run, fault)
    seconds = time.monotonic() - began
    if not came:
        return False, None
    log = (runs.scratch / f"{run}.log").read_text()
    allowed = runs.seconds + max(BUDGETS.values()) + MARGIN + (fault.delay / 1000 if fault.action == "stall" else 0)
    if seconds > allowed:
        raise Lost(f"{fault}: it ended after {seconds:.0f} s, and not within {allowed:.0f}:\n{log}")
    if code not in ends(fault):
        raise Lost(f"{fault}: exit code {code}, and not one of {sorted(ends(fault))}:\n{log}")
    if must_name(fault, code) and not re.search(rf"\brank {fault.victim}\b", log):
        raise Lost(f"{fault}: rank {fault.victim} is not named:\n{log}")
    runs.nothing_runs(run)
    return True, runs.whole_checkpoints(run)


def one_fault(runs, run, fault, second=None):
    """True if the fault came and nothing was lost, False if it did not come. A second fault hits the start after it."""
    runs.clear(run)
    if fault.phase == "load":
        runs.half(run)
    came, newest = strike(runs, run, fault)
    if not came:
        return False
    if fault.phase == "load" and fault.action == "EIO":
        newest = runs.steps_of("half")[-1]
        began = [line["step"] for line in runs.lines(run) if line["event"] == "start"]
        if began[-1] != newest:
            raise Lost(f"a checkpoint that could not be read for a moment: begun at {began}, not {newest}")
    faults = [fault]
    if second:
        shutil.rmtree(runs.scratch / f"{run}.fault")
        came_again, then = strike(runs, run, second)
        if came_again and then < newest:
            raise Lost(f"{fault}, {second}: step {newest} was saved, and step {then} is the newest that is left")
        newest = then if came_again else None
        faults.append(second)
    lines_may_lack = any(isinstance(f.action, str) and f.phase == "step" for f in faults)
    runs.goes_on(run, lines_may_lack=lines_may_lack, begins_at=newest)
    runs.no_temporaries(run)
    runs.clear(run)
    return True


def random_faults(runs, random_, count, found):
    for i in range(count):
        phase = PHASES[i % len(PHASES)]
        for _ in range(20):
            fault = draw(random_, phase)
            second = draw(random_, random_.choice(PHASES)) if random_.random() < 0.2 else None
            began = time.monotonic()
            if one_fault(runs, f"fault-{i}", fault, second):
                found["second"] += second is not None
                found[f"phase-{phase}"] += 1
                found[f"fault-{name(fault.action)}"] += 1
                print(f"{i + 1:4} {phase:10} call {fault.nth} of rank {fault.rank}: {name(fault.action)}"
                      f"{f' to rank {fault.victim}' if isinstance(fault.action, int) else ''}, "
                      f"{f'then {second.phase}: {name(second.action)}, ' if second else ''}"
                      f"{time.monotonic() - began:.1f} s", flush=True)
                break
            found["missed"] += 1
        else:
            raise Lost(f"no fault came in phase {phase}")


def once_each(runs, random_, found):
    kill, term, usr1, stop = map(int, (signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGSTOP))
    faults = [Fault("start", 1, 1, kill, 1, 0), Fault("load", 2, 0, kill, 0, 0),
              Fault("load", 1, 1, "EIO", 1, 0), Fault("load", 3, 0, "EIO", 0, 0), Fault("data", 20, 1, "EIO", 1, 0),
              Fault("data", 10, 0, "stall", 0, 1000), Fault("step", 6, 0, stop, 1, 0),
              Fault("evaluation", 1, 0, kill, 1, 0), Fault("snapshot", 2, 0, kill, 0, 0),
              Fault("write", 8, 1, kill, 1, 0), Fault("commit", 2, 0, kill, 0, 0), Fault("retention", 1, 0, kill, 0, 0),
              Fault("write", 5, 1, "ENOSPC", 1, 0), Fault("write", 4, 0, "EIO", 0, 0),
              Fault("write", 6, 1, usr1, 1, 0), Fault("commit", 3, 0, "stall", 0, 1000)]
    for i, fault in enumerate(faults):
        if not one_fault(runs, f"fault-{i}", fault):
            raise Lost(f"{fault}: the fault did not come")
        found[f"phase-{fault.phase}"] += 1
        print(f"{fault.phase}: {name(fault.action)}", flush=True)


def damage(runs, random_, found, kinds=None):
    """Flips a bit of one file of the latest checkpoint, or cuts it: the run takes the checkpoint before, or refuses."""
    latest = sorted((runs.scratch / "half" / "checkpoints").glob("step-????????"))[-1]
    for file in sorted(path.name for path in latest.iterdir()):
        for how in ("flip", "cut"):
            if kinds and (file, how) not in kinds:
                continue
            runs.clear("damaged")
            runs.half("damaged")
            path = runs.scratch / "damaged" / "checkpoints" / latest.name / file
            data = bytearray(path.read_bytes())
            if how == "flip":
                data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
            else:
                del data[random_.randrange(len(data)):]
            path.write_bytes(data)
            runs.goes_on("damaged")
            found[f"damage-{how}"] += 1
            print(f"{how} in {file}: the checkpoint before was taken", flush=True)


def full_disk(runs, found):
    """Runs on a file system that is too small for the run, and again once it has room."""
    run = "full"
    weft = f'mpirun --oversubscribe --bind-to none -np 2 "{runs.weft}" train job.yaml --set run_dir={run}/run'
    script = f"""set -e; export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
mkdir {run}; mount -t tmpfs -o size=4m none {run}; code=0
{weft} --set checkpoint.every_steps=0 --set train.max_steps=2 >{run}.log 2>&1 || {{ cat {run}.log; exit 9; }}
rm -r {run}/run; head -c 3700k /dev/zero >{run}/filler
{weft} >{run}.log 2>&1 || code=$?
[ $code = 3 ] || {{ cat {run}.log; echo "exit $code on a full disk"; exit 9; }}
rm {run}/filler; {weft} >{run}.log 2>&1 || {{ cat {run}.log; exit 9; }}
cp -r {run}/run {run}-after"""
    made = subprocess.run(["unshare", "-m", "bash", "-c", script], cwd=runs.scratch, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if made.returncode == 9:
        raise Lost(made.stdout)
    if made.returncode != 0:
        print(f"no full disk: the user may not mount ({made.stdout.strip()})")
        return
    if runs.result("full-after") != runs.expected:
        raise Lost("after a full disk the run ends with other values")
    found["full-disk"] += 1
    print("full disk: refused, and resumed once there was room", flush=True)


def two_jobs(runs, found):
    """Starts a second job on the directory of a run that is stopped meanwhile: it must be refused."""
    runs.clear("shared")
    first = subprocess.Popen([runs.weft, "train", "job.yaml", "--set", "run_dir=shared", "--set", "train.max_steps=1000000"],
                             cwd=runs.scratch, stderr=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1"))
    try:
        for _ in range(600):
            if runs.lines("shared"):
                break
            time.sleep(0.1)
        code, log = runs.train("shared", "--set", "checkpoint.lock_wait_seconds=0")
        if code != 6 or "belongs to another run" not in log:
            raise Lost(f"a second job on the same directory ended with {code}:\n{log}")
    finally:
        first.kill()
        first.wait()
    found["two-jobs"] += 1
    print("two jobs: the second is refused", flush=True)


def branch(runs, found):
    """Resumes an older checkpoint of a run that has ended, which must end the same."""
    runs.clear("branch")
    runs.half("branch")
    older = sorted((runs.scratch / "branch" / "checkpoints").glob("step-????????"))[0]
    code, log = runs.train("branch", "--resume", f"branch/checkpoints/{older.name}")
    if code != 0 or f"resumed from branch/checkpoints/{older.name} " not in log:
        raise Lost(f"a branch ended with {code}:\n{log}")
    runs.goes_on("branch")
    found["branch"] += 1
    print(f"branch from {older.name}: the same end", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    random_ = random.Random(arguments.seed)
    found = collections.Counter()
    runs = Runs(arguments.weft.resolve(), arguments.library.resolve(), arguments.scratch.resolve())
    try:
        if arguments.faults:
            random_faults(runs, random_, arguments.faults, found)
            damage(runs, random_, found)
        else:
            once_each(runs, random_, found)
            damage(runs, random_, found, {("rank-00001.h5", "flip")})
        full_disk(runs, found)
        two_jobs(runs, found)
        branch(runs, found)
    except Lost as lost:
        print(f"LOST: {lost}")
        return 1
    finally:
        if arguments.json:
            arguments.json.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
    faults = sum(count for kind, count in found.items() if kind.startswith("phase-"))
    print(f"{faults} faults in {len(PHASES)} phases, {found['missed']} more missed theirs; nothing lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
