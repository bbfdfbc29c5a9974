// SPDX-License-Identifier: Apache-2.0
// A plot: its curves, by dygraphs, and the legend that tells their values and hides them.

class PlotView {
  // `state` is the page's: axis, logX, smoothing, marks, window. `zoomed` is called with a new window of x.
  constructor(plot, runs, state, zoomed) {
    this.plot = plot;
    this.runs = runs;
    this.state = state;
    this.zoomed = zoomed;
    this.series = seriesOf(plot, runs);
    this.logY = false;
    this.near = false;
    this.stale = true;
    this.figure = this.makeFigure();
  }

  makeFigure() {
    const log = make('input');
    log.type = 'checkbox';
    log.addEventListener('change', () => {
      this.logY = log.checked;
      this.update();
    });
    log.disabled = !this.series.some((series) => series.mean.some((value) => value > 0));
    this.place = make('span', 'place');
    this.legend = make('div', 'legend', ...this.series.map((series) => this.makeChip(series)));
    this.drawing = make('div', 'drawing');
    const head = make('figcaption', '', make('span', 'title', this.plot.title), this.place,
                      make('label', 'log', log, ' log'));
    const figure = make('figure', this.plot.id === 'loss' ? 'wide' : '', head, this.legend, this.drawing,
                        valuesOf(this.plot, this.series));
    figure.id = `plot-${this.plot.id}`;
    return figure;
  }

  makeChip(series) {
    const swatch = make('span', series.rare ? 'swatch rare' : 'swatch');
    swatch.style.setProperty('--colour', `var(--c${series.colour})`);
    series.valueShown = make('span', 'value');
    const chip = make('button', 'chip', swatch, make('span', 'name', series.label), series.valueShown);
    chip.type = 'button';
    chip.title = `show or hide ${series.label}`;
    // The plot's title has said it.
    chip.classList.toggle('alone', this.series.length === 1 && this.runs.length === 1);
    chip.setAttribute('aria-pressed', 'true');
    chip.addEventListener('click', () => {
      series.visible = !series.visible;
      chip.setAttribute('aria-pressed', String(series.visible));
      this.graph?.updateOptions({visibility: this.visibility(), logscale: this.logscale()});
    });
    return chip;
  }

  // Each series is two of dygraphs': its values as they are, and, if they are smoothed, their running mean over them.
  labels() {
    return ['x', ...this.series.flatMap((series) => [`${series.key}raw`, series.key])];
  }

  smooths(series) {
    return this.state.smoothing > 0 && !series.rare;
  }

  visibility() {
    return this.series.flatMap((series) => [series.visible, series.visible && this.smooths(series)]);
  }

  // Without any curve there is no range, which a logarithm would need.
  logscale() {
    return this.logY && this.series.some((series) => series.visible && series.mean.some((value) => value > 0));
  }

  rows() {
    const lists = this.series.flatMap((series) => {
      const x = xOf(series, this.state.axis);
      series.x = x;
      const usable = this.state.logX ? x.map((value) => (value > 0 ? value : NaN)) : x;
      const mean = smoothed(series.mean, this.smooths(series) ? this.state.smoothing : 0);
      return [
        {x: usable, cells: series.mean.map((value, k) => [this.lowest(series.low[k], value), value, series.high[k]])},
        {x: usable, cells: mean.map((value) => [value, value, value])},
      ];
    });
    const rows = joined(lists);
    return rows.length > 0 ? rows : [[0, ...lists.map(() => null)]];
  }

  // The lower end of a band; a logarithmic axis has none at 0.
  lowest(low, middle) {
    return this.logY && !(low > 0) ? middle : low;
  }

  seriesOptions() {
    const options = {};
    const mixed = this.series.some((series) => !series.rare);
    for (const series of this.series) {
      const colour = css(`--c${series.colour}`);
      const few = series.mean.length <= 80;
      options[`${series.key}raw`] = {
        color: this.smooths(series) ? faded(colour) : colour,
        strokeWidth: this.smooths(series) ? 1 : series.rare ? 2 : 1.4,
        strokePattern: series.rare && this.runs.length > 1 && mixed ? [5, 3] : null,
        drawPoints: series.rare && few,
        pointSize: 2.5,
        fillAlpha: this.smooths(series) ? 0.1 : 0.22,
      };
      options[series.key] = {color: colour, strokeWidth: 2, fillAlpha: 0};
    }
    return options;
  }

  options() {
    const axis = this.state.axis;
    return {
      file: this.rows(),
      labels: this.labels(),
      visibility: this.visibility(),
      series: this.seriesOptions(),
      dateWindow: this.state.window,
      logscale: this.logscale(),
      axisLineColor: css('--line'),
      gridLineColor: css('--grid'),
      axes: {
        x: {
          logscale: this.state.logX,
          drawGrid: false,
          axisLabelFormatter: (x) => axisTickText(x, axis),
          axisLabelWidth: 64,
          pixelsPerLabel: this.drawing.clientWidth < 400 ? 50 : 80,
        },
        y: {axisLabelFormatter: (y) => tickText(y, this.plot.unit), axisLabelWidth: 58, pixelsPerLabel: 34},
      },
    };
  }

  // Says whether the plot is about to be seen: the others are drawn when they are.
  setNear(near) {
    this.near = near;
    this.refresh();
  }

  update() {
    this.stale = true;
    this.refresh();
  }

  refresh() {
    if (!this.near || !this.stale) return;
    this.stale = false;
    if (this.graph) this.graph.updateOptions(this.options());
    else this.draw();
  }

  draw() {
    const {file, ...options} = this.options();
    this.graph = new Dygraph(this.drawing, file, {
      ...options,
      customBars: true,
      connectSeparatedPoints: true,
      legend: 'never',
      axisLabelFontSize: 11,
      axisLineWidth: 1,
      gridLineWidth: 1,
      highlightCircleSize: 3.5,
      rightGap: 12,
      interactionModel: mouseAlone(),
      underlayCallback: (context, area, graph) =>
        drawMarks(context, area, graph, this.runs, this.state.axis, this.state.marks),
      highlightCallback: (event, x) => this.showValues(x),
      unhighlightCallback: () => this.hideValues(),
      zoomCallback: () => this.zoomed(this, this.graph.isZoomed('x') ? this.graph.xAxisRange() : null),
    });
  }

  showValues(x) {
    this.place.textContent = `${axes[this.state.axis].name} ${axes[this.state.axis].text(x)}`;
    for (const series of this.series) {
      const at = nearest(series.x, x);
      series.valueShown.textContent = at < 0 ? '' : cellText(series, at, this.plot.unit);
    }
  }

  hideValues() {
    this.place.textContent = '';
    for (const series of this.series) series.valueShown.textContent = '';
  }
}

// A finger that moves over a plot scrolls the page, as it does elsewhere; a tap shows values.
function mouseAlone() {
  const {touchstart, touchmove, touchend, ...model} = Dygraph.defaultInteractionModel;
  return model;
}

function faded(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${red},${green},${blue},0.35)`;
}

// A still picture of a plot, which the page brings along.
class PictureView {
  constructor(plot, runs) {
    const legend = seriesOf(plot, runs).map((series) => {
      const swatch = make('span', series.rare ? 'swatch rare' : 'swatch');
      swatch.style.setProperty('--colour', `var(--c${series.colour})`);
      return make('span', 'chip', swatch, make('span', 'name', series.label));
    });
    const drawing = make('div', 'drawing', document.getElementById(`picture-${plot.id}`));
    this.figure = make('figure', plot.id === 'loss' ? 'wide' : '',
                       make('figcaption', '', make('span', 'title', `${plot.title} over steps`)),
                       make('div', 'legend', ...legend), drawing, valuesOf(plot, seriesOf(plot, runs)));
    this.figure.id = `plot-${plot.id}`;
  }

  setNear() {}
  update() {}
}
