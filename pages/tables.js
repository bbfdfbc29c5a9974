// SPDX-License-Identifier: Apache-2.0
// Tables: the values of each plot, the runs, their events, texts, jobs and provenance.

// A value, and with bins or ranks its extremes.
function cellText(series, at, unit) {
  const middle = valueText(series.mean[at], unit);
  if (!series.spread || !Number.isFinite(series.low[at])) return middle;
  return `${middle} (${valueText(series.low[at], unit)} to ${valueText(series.high[at], unit)})`;
}

// The values of a plot, a row a step.
function valuesOf(plot, series) {
  return folded('values', () => {
    const lists = series.map((one) => ({
      x: one.table.step,
      cells: one.mean.map((value, at) => ({
        text: cellText(one, at, plot.unit),
        tokens: one.table.tokens[at],
        seconds: one.table.seconds[at],
      })),
    }));
    const rows = joined(lists).map(([step, ...cells]) => {
      const known = cells.find((cell) => cell !== null);
      const place = [countText(step), known.tokens === null ? '–' : withPrefix(known.tokens), durationText(known.seconds ?? NaN)];
      return [...place, ...cells.map((cell) => cell?.text ?? '')];
    });
    return table(['step', 'tokens', 'time', ...series.map((one) => one.label)], rows, 'numbers');
  }, 'values');
}

function lastFinite(numbers) {
  return numbers?.findLast((number) => number !== null);
}

function median(numbers) {
  const sorted = (numbers ?? []).filter((number) => number !== null).sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

function bestEvaluation(run) {
  const losses = run.eval.values.loss?.mean ?? [];
  let best = -1;
  losses.forEach((loss, k) => {
    if (loss !== null && (best < 0 || loss < losses[best])) best = k;
  });
  return best < 0 ? null : {loss: losses[best], step: run.eval.step[best]};
}

// What a run has come to: [name, text] of what it says.
function summaryOf(run) {
  const values = run.train.values;
  const best = bestEvaluation(run);
  const start = last(run.attempts);
  const step = last(run.train.step);
  const rows = [
    ['steps', step === undefined ? '–' : countText(step) + (start?.max_steps ? ` of ${countText(start.max_steps)}` : '')],
    ['target tokens', withPrefix(lastFinite(run.train.tokens) ?? NaN)],
    ['training loss', plainNumber(lastFinite((values.nll ?? values.loss)?.mean) ?? NaN, 5)],
    ['best validation loss', best ? `${plainNumber(best.loss, 5)} at ${countText(best.step)}` : '–'],
  ];
  for (const name of run.eval.scores) {
    rows.push([`last ${name}`, plainNumber(lastFinite(run.eval.values[`score:${name}`]?.mean) ?? NaN, 4)]);
  }
  rows.push(['tokens per second', withPrefix(median(values.tokens_per_second?.mean) ?? NaN, 4)]);
  if (values.mfu) rows.push(['MFU', valueText(median(values.mfu.mean), 'share')]);
  if (values.peak_memory) rows.push(['peak memory', valueText(lastFinite(values.peak_memory.mean), 'bytes')]);
  rows.push(['time', durationText(run.ended - run.began)]);
  rows.push(['attempts', countText(run.attempts.length)]);
  if (run.counts.skip > 0) rows.push(['skipped steps', countText(run.counts.skip)]);
  if (run.counts.roll_back > 0) rows.push(['rollbacks', countText(run.counts.roll_back)]);
  return rows;
}

function runName(run, index, runs) {
  if (runs.length === 1) return run.name;
  const swatch = make('span', 'swatch');
  swatch.style.setProperty('--colour', `var(--c${index % 8})`);
  return make('span', '', swatch, run.name);
}

// One run is tiles, several are the columns of a table.
function summary(runs) {
  if (runs.length === 1) return tiles(summaryOf(runs[0]));
  const all = runs.map((run) => new Map(summaryOf(run)));
  const names = [...new Set(all.flatMap((one) => [...one.keys()]))];
  const rows = names.map((name) => [name, ...all.map((one) => one.get(name) ?? '–')]);
  return table(['', ...runs.map((run, index) => runName(run, index, runs))], rows, 'compare');
}

function differences(report, runs) {
  const rows = report.differences.map(({key, values}) => [make('code', '', key), ...values]);
  return rows.length > 0 ? table(['key', ...runs.map((run, index) => runName(run, index, runs))], rows, 'compare')
                         : make('p', 'note', 'The jobs of these runs are the same, but for name and run_dir.');
}

function events(runs) {
  const rows = runs.flatMap((run) => run.marks.map((mark) => ({run, mark})));
  rows.sort((a, b) => a.mark.seconds - b.mark.seconds);
  const several = runs.length > 1;
  return folded(`${countText(rows.length)} events`, () => table(
    [...(several ? ['run'] : []), 'step', 'tokens', 'time', 'event', ''],
    rows.map(({run, mark}) => [...(several ? [run.name] : []), countText(mark.step),
                               mark.tokens === null ? '–' : withPrefix(mark.tokens), durationText(mark.seconds ?? NaN),
                               mark.kind, mark.details]), 'texts'));
}

// The texts of a prompt over the steps, the latest first, a column for each temperature.
function textsOfPrompt(run, prompt) {
  const temperatures = [...new Set(run.generations.flatMap((made) =>
    made.texts.filter((text) => text.prompt === prompt).map((text) => text.temperature)))];
  const rows = [...run.generations].reverse().map((made) => [countText(made.step), ...temperatures.map((temperature) =>
    make('span', 'made', made.texts.find((text) => text.prompt === prompt && text.temperature === temperature)?.text ?? ''))]);
  return make('article', '', make('h3', '', make('span', 'prompt', prompt)),
              table(['step', ...temperatures.map((temperature) => `temperature ${temperature}`)], rows, 'texts'));
}

function generations(runs) {
  return runs.flatMap((run) => {
    const prompts = [...new Set(run.generations.flatMap((made) => made.texts.map((text) => text.prompt)))];
    const articles = prompts.map((prompt) => textsOfPrompt(run, prompt));
    return runs.length > 1 && articles.length > 0 ? [make('h3', 'run', run.name), ...articles] : articles;
  });
}

function provenance(runs) {
  const all = runs.map((run) => new Map([['directory', run.directory], ['first line', dateText(run.began ?? NaN)],
                                         ['last line', dateText(run.ended ?? NaN)], ...run.provenance]));
  const names = [...new Set(all.flatMap((one) => [...one.keys()]))];
  return folded('where it comes from', () => table(
    ['', ...runs.map((run, index) => runName(run, index, runs))],
    names.map((name) => [name, ...all.map((one) => one.get(name) ?? '–')]), 'texts'));
}
