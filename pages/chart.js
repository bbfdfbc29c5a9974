// SPDX-License-Identifier: Apache-2.0
// Bars and a curve over two axes. `data`: the axes x and y, and points; `told` gets a point's index as `row`.

const chartHeight = 240, upper = 20, lower = 24;

// An axis from `low` to `high`, whose ticks read as `text` says and are `least` apart. A logarithmic one has them at powers
// of ten.
class Axis {
  constructor(low, high, text, {isLog = false, least = 1} = {}) {
    Object.assign(this, {low, high, text, isLog, least});
  }

  // From 0 at the low end to 1 at the high one.
  share(value) {
    const on = this.isLog ? Math.log : (number) => number;
    return this.high > this.low ? (on(value) - on(this.low)) / (on(this.high) - on(this.low)) : 0.5;
  }

  ticks(most) {
    if (this.isLog) {
      const powers = Array.from({length: Math.floor(Math.log10(this.high) + 1e-9) + 1}, (_, power) => 10 ** power);
      return powers.filter((_, power) => power % Math.ceil(powers.length / most) === 0);
    }
    const rough = Math.max((this.high - this.low) / most, this.least), power = 10 ** Math.floor(Math.log10(rough));
    const distance = power * ([1, 2, 5].find((times) => times * power >= rough) ?? 10);
    const first = Math.ceil(this.low / distance), count = Math.floor(this.high / distance + 1e-9) - first + 1;
    return Array.from({length: count}, (_, k) => (first + k) * distance);
  }
}

class Chart extends Picture {
  layOut() {
    const {y} = this.data;
    this.pen.font = labelFont;
    this.left = Math.ceil(Math.max(...y.ticks(5).map((tick) => this.pen.measureText(y.text(tick)).width))) + gap;
    this.right = Math.max(this.element.clientWidth, 160) - 12;
    this.bottom = chartHeight - lower;
    this.resize(this.right + 12, chartHeight);
  }

  atX(value) {
    return this.left + this.data.x.share(value) * (this.right - this.left);
  }

  atY(value) {
    return this.bottom - this.data.y.share(value) * (this.bottom - upper);
  }

  draw() {
    this.layOut();
    const {pen} = this, {x, y} = this.data;
    pen.fillStyle = css('--muted');
    pen.textAlign = 'right';
    for (const tick of y.ticks(5)) {
      this.drawRule([this.left, this.atY(tick)], [this.right, this.atY(tick)], '--grid');
      pen.fillText(y.text(tick), this.left - gap, this.atY(tick));
    }
    pen.textAlign = 'center';
    for (const tick of x.ticks(this.right > 500 ? 8 : 4)) pen.fillText(x.text(tick), this.atX(tick), this.bottom + 13);
    this.drawRule([this.left, this.bottom], [this.right, this.bottom], '--line');
    this.drawPoints();
  }

  drawRule(from, to, colour, dash = []) {
    this.pen.strokeStyle = css(colour);
    this.pen.setLineDash(dash);
    this.drawLine(from, to);
    this.pen.setLineDash([]);
  }
}

// Points have `from`, `to` and y. `marks`: places on the axis x, with names.
class Bars extends Chart {
  drawPoints() {
    const {pen} = this;
    this.data.points.forEach(({from, to, y}, row) => {
      const left = this.atX(from), width = this.atX(to) - left;
      pen.fillStyle = css(row === this.pointed?.row ? '--ink' : '--accent');
      pen.fillRect(left, this.atY(y), width > 4 ? width - 1 : width, this.bottom - this.atY(y));
    });
    this.drawMarks();
  }

  // A name that would cover another one is left out.
  drawMarks() {
    const {pen} = this;
    pen.textAlign = 'center';
    let taken = 0;
    for (const {x, name} of this.data.marks) {
      this.drawRule([this.atX(x), upper], [this.atX(x), this.bottom], '--c1', [4, 3]);
      const half = pen.measureText(name).width / 2;
      const middle = Math.min(Math.max(this.atX(x), this.left + half), this.right - half);
      if (middle - half < taken) continue;
      taken = middle + half + gap;
      pen.fillStyle = css('--muted');
      pen.fillText(name, middle, upper / 2);
    }
  }

  placeOf(x) {
    const row = this.data.points.findIndex(({from, to}) => x >= this.atX(from) && x < this.atX(to));
    return row < 0 ? null : {row};
  }
}

// Points have x and y.
class Curve extends Chart {
  drawPoints() {
    const {pen} = this, {points} = this.data;
    pen.strokeStyle = pen.fillStyle = css('--accent');
    pen.lineWidth = 2;
    pen.lineJoin = 'round';
    pen.beginPath();
    for (const {x, y} of points) pen.lineTo(this.atX(x), this.atY(y));
    pen.stroke();
    pen.lineWidth = 1;
    points.forEach(({x, y}, row) => this.drawDot([this.atX(x), this.atY(y)], row === this.pointed?.row ? 5 : 2));
  }

  placeOf(x) {
    const far = ({x: value}) => Math.abs(this.atX(value) - x);
    const row = this.data.points.reduce((best, point, at, all) => (far(point) < far(all[best]) ? at : best), 0);
    return this.data.points.length > 0 ? {row} : null;
  }
}
