# SPDX-License-Identifier: Apache-2.0
"""What can happen to a run in each phase, how it may end then, and what must hold after it."""

import collections
import re
import shutil
import signal
import time

from runs import BUDGETS, Fault, Lost

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGSTOP)
ERRORS = ("ENOSPC", "EIO", "EROFS", "EMFILE", "done")
MOMENTARY = ("EIO", "EMFILE", "done")  # `done`: what the call was to do is done, and it reports EIO
MARGIN = 15  # seconds that a command may take beside an undisturbed run and a watchdog's budget
STALLS = (1000, 3000, 10000, 20000)  # milliseconds: within every budget, and beyond most of them
Where = collections.namedtuple("Where", "ranks calls errors")
# WHERE, for each phase: the ranks that reach it by themselves, the least number of its calls in a run, and the errors
# that it may meet.
WHERE = {
    "start": Where((0, 1), 3, ("EIO",)),
    "thread": Where((0, 1), 5, ("EAGAIN",)),
    "load": Where((0, 1), 3, ("EIO", "EMFILE")),
    "data": Where((0, 1), 40, ("EIO", "cut")),
    "step": Where((0,), 18, ("ENOSPC", "EIO", "cut")),
    "evaluation": Where((0,), 3, ()),
    "snapshot": Where((0,), 5, ERRORS),
    "write": Where((0, 1), 20, ("ENOSPC", "EIO", "EMFILE", "done", "cut")),
    "commit": Where((0,), 25, ERRORS),
    "retention": Where((0,), 8, ERRORS),
}
PHASES = tuple(WHERE)


def draw(random_, phase, found):
    """Draws a fault of a phase. An error is one of those that have come least often, so that each comes often enough."""
    where = WHERE[phase]
    rank = random_.choice(where.ranks)
    kind = random_.random()
    if kind < 0.15:
        return Fault(phase, random_.randint(1, where.calls), rank, "stall", rank, random_.choice(STALLS))
    error = where.errors and kind < 0.55
    rare = sorted(where.errors, key=lambda name: found[f"fault-{name}"])
    action = rare[0] if error else int(random_.choice(SIGNALS))
    late = phase in ("step", "evaluation") and not error
    victim = random_.choice((0, 1, "mpirun") if action == signal.SIGKILL else (0, 1))
    return Fault(phase, random_.randint(1, where.calls), rank, action, victim,
                 random_.choice((0, 1, 2, 5)) if late else 0)


def ends(fault):
    """Returns the exit codes that are right for a fault. A signal that comes late may find the run at its end."""
    late = {0} if fault.delay else set()
    if fault.victim == "mpirun":
        return late | {-signal.SIGKILL}
    if fault.action == "stall":  # a rank that shows nothing for longer than its budget is hung
        return {0} if fault.delay < 1000 * min(BUDGETS.values()) else {0, 5}
    if fault.action == "cut":
        return {0}
    if fault.phase == "data" and fault.action == "EIO":  # tried again
        return {0}
    if fault.action == "EAGAIN":  # of a thread
        return {8}
    if fault.action in MOMENTARY:  # tried again, or of a file that the run can do without
        return {0, 8} | ({3} if fault.phase in ("write", "snapshot", "commit") else set())
    if isinstance(fault.action, str):
        return {0, 3}
    return late | {signal.SIGKILL: {137}, signal.SIGSTOP: {5}, signal.SIGTERM: {75, 143, 0}, signal.SIGUSR1: {75, 138, 0}}[fault.action]


def must_name(fault, code, log):
    """Whether the output must name the victim: a signal that ended it, or a stop that ended the run. While MPI begins, no
    rank knows another's number; the report names its process."""
    if fault.action == signal.SIGSTOP and re.search(r"MPI's start waits for another one; stopped .*: pid \d+; ", log):
        return False
    return fault.action in (signal.SIGKILL, signal.SIGSTOP) and fault.victim != "mpirun" and code != 0


def name(action):
    return action if isinstance(action, str) else signal.Signals(action).name


def strike(runs, run, fault):
    """Disturbs a run. Returns whether the fault came, and the newest checkpoint then, if all that must hold does."""
    began = time.monotonic()
    code, came = runs.disturbed(run, fault)
    seconds = time.monotonic() - began
    runs.nothing_runs(run)  # another try may begin in the same directory
    if not came:
        return False, None
    log = (runs.scratch / f"{run}.log").read_text()
    allowed = runs.seconds + max(BUDGETS.values()) + MARGIN + (fault.delay / 1000 if fault.action == "stall" else 0)
    if seconds > allowed:
        raise Lost(f"{fault}: it ended after {seconds:.0f} s, and not within {allowed:.0f}:\n{log}")
    if code not in ends(fault):
        raise Lost(f"{fault}: exit code {code}, and not one of {sorted(ends(fault))}:\n{log}")
    if must_name(fault, code, log) and not re.search(rf"\brank {fault.victim}\b", log):
        raise Lost(f"{fault}: rank {fault.victim} is not named:\n{log}")
    return True, runs.whole_checkpoints(run)


def one_fault(runs, run, fault, second=None):
    """True if the fault came and nothing was lost, False if it did not come. A second fault hits the start after it."""
    runs.clear(run)
    if fault.phase == "load":
        runs.half(run)
    came, newest = strike(runs, run, fault)
    if not came:
        return False
    if fault.phase == "load" and fault.action in MOMENTARY:
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
            fault = draw(random_, phase, found)
            second = draw(random_, random_.choice(PHASES), found) if random_.random() < 0.2 else None
            began = time.monotonic()
            if one_fault(runs, f"fault-{i}", fault, second):
                found["second"] += second is not None
                found[f"phase-{phase}"] += 1
                found[f"fault-{name(fault.action)}"] += 1
                print(f"{i + 1:4} {phase:10} call {fault.nth} of rank {fault.rank}: {name(fault.action)}"
                      f"{f' to {fault.victim}' if isinstance(fault.action, int) else ''}, "
                      f"{f'then {second.phase}: {name(second.action)}, ' if second else ''}"
                      f"{time.monotonic() - began:.1f} s", flush=True)
                break
            found["missed"] += 1
        else:
            raise Lost(f"no fault came in phase {phase}")


def once_each(runs, random_, found):
    kill, term, usr1, stop = map(int, (signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGSTOP))
    faults = [Fault("start", 1, 1, kill, 1, 0), Fault("load", 2, 0, kill, 0, 0),
              Fault("load", 1, 1, "EIO", 1, 0), Fault("load", 3, 0, "EMFILE", 0, 0), Fault("data", 20, 1, "EIO", 1, 0),
              Fault("thread", 3, 1, "EAGAIN", 1, 0), Fault("commit", 4, 0, "done", 0, 0),
              Fault("step", 7, 0, kill, "mpirun", 0),
              Fault("data", 10, 0, "stall", 0, 1000), Fault("step", 6, 0, stop, 1, 0),
              Fault("evaluation", 1, 0, kill, 1, 0), Fault("snapshot", 2, 0, kill, 0, 0),
              Fault("write", 8, 1, kill, 1, 0), Fault("commit", 2, 0, kill, 0, 0), Fault("retention", 1, 0, kill, 0, 0),
              Fault("write", 5, 1, "ENOSPC", 1, 0), Fault("write", 4, 0, "EIO", 0, 0),
              Fault("write", 6, 1, usr1, 1, 0), Fault("commit", 3, 0, "stall", 0, 1000)]
    for i, fault in enumerate(faults):
        # An evaluation takes a millisecond, and on a busy machine a kill may come after it: then it is tried again.
        if not any(one_fault(runs, f"fault-{i}", fault) for _ in range(5)):
            raise Lost(f"{fault}: the fault did not come:\n{(runs.scratch / f'fault-{i}.log').read_text()}")
        found[f"phase-{fault.phase}"] += 1
        print(f"{fault.phase}: {name(fault.action)}", flush=True)
