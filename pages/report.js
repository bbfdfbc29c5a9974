// SPDX-License-Identifier: Apache-2.0
// Puts the page together from its blocks of JSON.

const report = readBlock('report');
const runs = Array.from({length: report.runs}, (_, k) => readBlock(`run-${k}`));
for (const run of runs) run.marksShown = marksOf(run);
setTimeUnit(Math.max(0, ...runs.map((run) => last(run.train.seconds) ?? 0)));

const drawsCurves = report.drawing === 'curves';
const state = {axis: 'step', logX: false, smoothing: 0, marks: new Set(Object.keys(markKinds)), window: null};
const View = drawsCurves ? PlotView : PictureView;
const views = report.plots.map((plot) => new View(plot, runs, state, zoomed));

function updateAll() {
  for (const view of views) view.update();
}

// All plots show the same part of the horizontal axis.
function zoomed(source, window) {
  state.window = window;
  reset.hidden = window === null;
  for (const view of views) {
    if (view !== source) view.graph?.updateOptions({dateWindow: window});
  }
}

let asked = 0;
function updateSoon() {
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(updateAll);
}

const reset = make('button', 'reset', 'whole range');
reset.type = 'button';
reset.hidden = true;
reset.addEventListener('click', () => zoomed(null, null));

function axisSwitch() {
  const group = switchOf([['step', 'steps'], ['tokens', 'tokens'], ['seconds', 'time']], (axis) => {
    state.axis = axis;
    state.window = null;
    reset.hidden = true;
    press(group, axis);
    updateAll();
  });
  press(group, state.axis);
  return group;
}

function smoothingSlider() {
  const slider = make('input');
  slider.type = 'range';
  slider.min = 0;
  slider.max = 99;
  slider.value = 0;
  slider.id = 'smoothing';
  const shown = make('output', '', '0');
  slider.addEventListener('input', () => {
    state.smoothing = slider.value / 100;
    shown.textContent = state.smoothing;
    updateSoon();
  });
  return make('label', 'slider', 'smooth ', slider, shown);
}

function markSwitches() {
  const kinds = Object.keys(markKinds).filter((kind) => runs.some((run) => run.marksShown.some((mark) => mark.kind === kind)));
  return kinds.map((kind) => {
    const label = checkbox(markKinds[kind].name, true, (checked) => {
      if (checked) state.marks.add(kind);
      else state.marks.delete(kind);
      updateAll();
    });
    label.className = 'mark';
    label.style.setProperty('--colour', `var(${markKinds[kind].colour})`);
    return label;
  });
}

function controls() {
  const logX = checkbox('log', false, (checked) => {
    state.logX = checked;
    state.window = null;
    reset.hidden = true;
    updateAll();
  });
  return make('nav', 'controls', axisSwitch(), logX, smoothingSlider(), ...markSwitches(), reset);
}

// Two plots stand beside each other; one that is left over takes the whole row.
function plotSections() {
  const names = [...new Set(report.plots.map((plot) => plot.section))];
  return names.map((name) => {
    const figures = views.filter((view, k) => report.plots[k].section === name).map((view) => view.figure);
    const narrow = figures.filter((figure) => !figure.classList.contains('wide'));
    if (narrow.length % 2 === 1) last(narrow).classList.add('rest');
    return section(name, make('div', 'plots', ...figures));
  });
}

function build() {
  const title = runs.length === 1 ? runs[0].name : `${runs.length} runs`;
  document.title = `${title} – weft`;
  const page = document.getElementById('page');
  page.append(make('header', '', make('div', 'brand', 'weft report'), make('h1', '', title),
                   make('p', 'note', runs.length === 1 ? `${dateText(runs[0].began ?? NaN)} to ${dateText(runs[0].ended ?? NaN)}`
                                                       : runs.map((run) => run.name).join(', '))));
  page.append(summary(runs));
  if (runs.length > 1) page.append(section('What differs between their jobs', differences(report, runs)));
  if (drawsCurves && views.length > 0) page.append(controls());
  if (views.length === 0) page.append(make('p', 'note', 'No step has been logged yet.'));
  page.append(...plotSections());
  const times = timeTables(runs);
  if (times.length > 0) page.append(section('Where the time goes', ...times));
  const texts = generations(runs);
  if (texts.length > 0) page.append(section('Generations', ...texts));
  page.append(section('Events', events(runs)), section('Provenance', provenance(runs)));
  watchPlots();
}

function watchPlots() {
  const byFigure = new Map(views.map((view) => [view.figure, view]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) byFigure.get(entry.target).setNear(entry.isIntersecting);
  }, {rootMargin: '400px'});
  for (const view of views) watch.observe(view.figure);
}

build();
drawForPrint((printing) => {
  for (const view of views) {
    if (printing) view.setNear(true);
    view.graph?.resize();
    view.update();
  }
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', updateAll);
