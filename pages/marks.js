// SPDX-License-Identifier: Apache-2.0
// Marks of events in plots: where attempts begin, what was saved, skipped or rolled back.

const markKinds = {
  start: {name: 'attempts', colour: '--muted', dash: [4, 3]},
  save: {name: 'saves', colour: '--good', tick: true},
  save_failed: {name: 'failed saves', colour: '--bad', dash: [1, 2]},
  skip: {name: 'skipped steps', colour: '--bad', tick: true},
  roll_back: {name: 'rollbacks', colour: '--bad', dash: []},
};

// A run's first start is where it begins, and needs no mark.
function marksOf(run) {
  const first = run.marks.findIndex((mark) => mark.kind === 'start');
  return run.marks.filter((mark, k) => markKinds[mark.kind] && k !== first);
}

// Draws the marks of these kinds below the curves.
function drawMarks(context, area, graph, runs, axis, shown) {
  const {member, scale} = axes[axis];
  const [from, to] = graph.xAxisRange();
  context.save();
  for (const name of shown) {
    const kind = markKinds[name];
    context.strokeStyle = css(kind.colour);
    context.lineWidth = kind.tick ? 1.5 : 1;
    context.setLineDash(kind.dash ?? []);
    context.beginPath();
    for (const mark of runs.flatMap((run) => run.marksShown)) {
      const x = mark[member] === null ? NaN : mark[member] / scale;
      if (mark.kind !== name || !(x >= from && x <= to)) continue;
      const left = Math.round(graph.toDomXCoord(x)) + 0.5;
      context.moveTo(left, area.y + area.h);
      context.lineTo(left, kind.tick ? area.y + area.h - 9 : area.y);
    }
    context.stroke();
  }
  context.restore();
}
