// SPDX-License-Identifier: Apache-2.0
// Where the time of traced steps went (train.trace): a row for each operation, wait and copy.

// Beside others, so not a part of the step's time.
const besideSteps = ['load', 'save'];
const kindNames = {operation: 'computes', wait: 'waits', control: 'host waits', data: 'waits for data', load: 'beside the steps',
                   save: 'beside the steps', phase: ''};

function shareBar(share) {
  const bar = make('span', 'share', `${plainNumber(100 * share, 3)} %`);
  bar.style.setProperty('--share', `${100 * Math.min(1, share)}%`);
  return bar;
}

function rateText(row) {
  if (row.flops) return `${withPrefix(row.flops, 3)}FLOP/s`;
  return row.bytes_per_second ? `${bytesText(row.bytes_per_second)}/s` : '';
}

function timeTable(trace) {
  const [, step] = trace.step_ms;
  const rows = trace.rows.map((row) => {
    const [least, middle, most] = row.ms.map((value) => plainNumber(value, 3));
    return [row.what, kindNames[row.kind] ?? row.kind, besideSteps.includes(row.kind) ? '' : shareBar(row.ms[1] / step), middle,
            ...(trace.ranks > 1 ? [`${least} to ${most}`] : []), row.kind === 'phase' ? '' : plainNumber(row.calls, 4), rateText(row)];
  });
  return table(['', '', 'of the step', 'ms a step', ...(trace.ranks > 1 ? ['ms, all ranks'] : []), 'calls a step', 'rate'],
               rows, 'numbers times');
}

function traceNote(trace) {
  const steps = trace.first === trace.step ? `Step ${countText(trace.first)}` : `Steps ${countText(trace.first)} to ${countText(trace.step)}`;
  const clocks = trace.ranks > 1 ? `, on ${countText(trace.ranks)} ranks, the median rank's times, with clocks that agree within ` +
    `${plainNumber(trace.clock_error_ms, 3)} ms` : '';
  return make('p', 'note', `${steps}${clocks}: ${plainNumber(trace.step_ms[1], 4)} ms a step. The timeline is in `,
              make('code', '', trace.file), ', which ui.perfetto.dev shows.');
}

function timeTables(runs) {
  return runs.flatMap((run) => {
    const parts = run.traces.flatMap((trace) => [traceNote(trace), timeTable(trace)]);
    return runs.length > 1 && parts.length > 0 ? [make('h3', 'run', run.name), ...parts] : parts;
  });
}
