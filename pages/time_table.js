// SPDX-License-Identifier: Apache-2.0
// Where the time of traced steps went (train.trace): a row for each operation, wait and copy.

// Beside others, so not a part of the step's time.
const besideSteps = ['save'];
const kindNames = {operation: 'computes', wait: 'waits for a collective or a copy', control: 'waits for other hosts',
                   data: 'waits for data', save: 'saves, beside the steps', phase: ''};

function shareBar(share) {
  const bar = make('span', 'share', valueText(share, 'share'));
  bar.style.setProperty('--share', `${100 * Math.min(1, share)}%`);
  return bar;
}

function rateText(row) {
  if (row.flops) return valueText(row.flops, 'FLOP/s');
  return row.bytes_per_second ? `${bytesText(row.bytes_per_second)}/s` : '';
}

function timeTable(trace) {
  const [, step] = trace.step_ms;
  const rows = trace.rows.map((row) => {
    const [least, middle, most] = row.ms.map((value) => valueText(value, 'milliseconds'));
    return [row.what, kindNames[row.kind] ?? row.kind, besideSteps.includes(row.kind) ? '' : shareBar(row.ms[1] / step), middle,
            ...(trace.ranks > 1 ? [`${least} to ${most}`] : []), plainNumber(row.calls, 4), rateText(row)];
  });
  return table(['', '', 'of the step', 'a step', ...(trace.ranks > 1 ? ['over ranks'] : []), 'calls a step', 'rate'], rows,
               'numbers times');
}

function traceNote(trace) {
  const steps = trace.first === trace.step ? `Step ${countText(trace.first)}` : `Steps ${countText(trace.first)} to ${countText(trace.step)}`;
  const clocks = trace.ranks > 1 ? `, on ${countText(trace.ranks)} ranks, the median rank's times, with clocks that agree within ` +
    valueText(trace.clock_error_ms, 'milliseconds') : '';
  return make('p', 'note', `${steps}${clocks}: ${valueText(trace.step_ms[1], 'milliseconds')} a step. The timeline is in `,
              make('code', '', trace.file), ', which ui.perfetto.dev shows.');
}

function timeTables(runs) {
  return runs.flatMap((run) => {
    const parts = run.traces.flatMap((trace) => [traceNote(trace), timeTable(trace)]);
    return runs.length > 1 && parts.length > 0 ? [make('h3', 'run', run.name), ...parts] : parts;
  });
}
