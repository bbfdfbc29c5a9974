// SPDX-License-Identifier: Apache-2.0
// What the page's blocks of JSON hold, and the rows that plots and tables are made of.

// The series of a plot: a curve of a run. Values that are not finite are NaN, which is a gap.
function seriesOf(plot, runs) {
  const found = [];
  runs.forEach((run, runIndex) => {
    plot.curves.forEach((curve, curveIndex) => {
      const table = run[curve.event];
      const values = table.values[curve.value];
      if (!values) return;
      const list = (numbers) => numbers.map((number) => number ?? NaN);
      const mean = list(values.mean);
      found.push({
        key: `s${found.length}`,
        run,
        table,
        rare: curve.event === 'eval',
        colour: (runs.length === 1 ? curveIndex : runIndex) % 8,
        label: runs.length === 1 ? curve.label : plot.curves.length === 1 ? run.name : `${run.name}: ${curve.label}`,
        mean,
        low: values.low ? list(values.low) : mean,
        high: values.high ? list(values.high) : mean,
        spread: Boolean(values.low),
        visible: true,
      });
    });
  });
  return found;
}

function xOf(series, axis) {
  const {member, scale} = axes[axis];
  return series.table[member].map((x) => (x === null ? NaN : x / scale));
}

// The exponential mean of each value and those before it, without a pull towards the first ones. Gaps stay gaps.
function smoothed(values, weight) {
  if (weight <= 0) return values;
  let sum = 0;
  let weights = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return NaN;
    sum = weight * sum + (1 - weight) * value;
    weights = weight * weights + (1 - weight);
    return sum / weights;
  });
}

// Joins lists {x: [...], cells: [...]} into rows [x, cell or null of each list], in the order of x.
function joined(lists) {
  const at = lists.map(() => 0);
  const rows = [];
  for (;;) {
    let x = Infinity;
    lists.forEach((list, k) => {
      while (at[k] < list.x.length && !Number.isFinite(list.x[at[k]])) ++at[k];
      if (at[k] < list.x.length) x = Math.min(x, list.x[at[k]]);
    });
    if (x === Infinity) return rows;
    rows.push([x, ...lists.map((list, k) => (at[k] < list.x.length && list.x[at[k]] === x ? list.cells[at[k]++] : null))]);
  }
}

// The index of the number nearest to x; numbers ascend, NaNs aside.
function nearest(numbers, x) {
  let best = -1;
  let low = 0;
  let high = numbers.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (best < 0 || Math.abs(numbers[middle] - x) < Math.abs(numbers[best] - x)) best = middle;
    if (numbers[middle] < x) low = middle + 1;
    else high = middle - 1;
  }
  return best;
}
