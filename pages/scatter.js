// SPDX-License-Identifier: Apache-2.0
// Points on a plane, with their texts where there is room, and with lines from the one under the mouse to what is most
// similar to it.

const dot = 4, reach = 18, labelHeight = 14, mostTall = 560;

class Scatter extends Picture {
  // `data`: labels, places, neighbours as [index, similarity], and whether the points follow one another (ordered).
  // One scale for both axes: a distance is as long in each direction.
  layOut() {
    const width = Math.max(this.element.clientWidth, 120), height = Math.min(Math.round(0.75 * width) + 40, mostTall);
    this.resize(width, height);
    const ranges = [0, 1].map((axis) => {
      const values = this.data.places.map((place) => place[axis]);
      return [Math.min(...values), Math.max(...values)];
    });
    const [[left, right], [bottom, top]] = ranges;
    const scale = Math.min((width - 2 * reach) / (right - left || 1), (height - 2 * reach) / (top - bottom || 1));
    this.points = this.data.places.map(([x, y]) => [width / 2 + (x - (left + right) / 2) * scale,
                                                    height / 2 - (y - (bottom + top) / 2) * scale]);
    this.width = width;
  }

  draw() {
    this.layOut();
    if (this.data.ordered) this.drawPath();
    const at = this.pointed?.row, near = at === undefined ? [] : this.data.neighbours[at].map(([index]) => index);
    const {pen} = this;
    pen.strokeStyle = css('--c1');
    for (const other of near) this.drawLine(this.points[at], this.points[other]);
    pen.globalAlpha = this.points.length > 300 ? 0.6 : 0.9;
    pen.fillStyle = css('--accent');
    this.points.forEach((point) => this.drawDot(point, dot));
    pen.globalAlpha = 1;
    pen.fillStyle = css('--c1');
    for (const other of near) this.drawDot(this.points[other], dot + 1);
    pen.fillStyle = css('--ink');
    if (at !== undefined) this.drawDot(this.points[at], dot + 1);
    this.drawLabels(at === undefined ? [] : [at, ...near]);
  }

  drawPath() {
    this.pen.strokeStyle = css('--line');
    for (let k = 1; k < this.points.length; ++k) this.drawLine(this.points[k - 1], this.points[k]);
  }

  // A label that would cover another one, or leave the picture, is left out; those of `first` come first.
  drawLabels(first) {
    const taken = [];
    const order = [...first, ...this.points.keys()];
    const seen = new Set();
    for (const index of order) {
      if (seen.has(index)) continue;
      seen.add(index);
      this.inkLabel(index === first[0]);
      const text = cutText(this.data.labels[index], 28), size = this.pen.measureText(text).width;
      const box = this.boxOf(this.points[index], size);
      if (box === null || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      this.pen.textAlign = 'left';
      this.pen.fillText(text, box.left, box.top + labelHeight / 2);
    }
  }

  // A label stands on the right of its point, or on the left where there is no room.
  boxOf([x, y], size) {
    const top = y - labelHeight / 2, bottom = y + labelHeight / 2;
    const right = x + dot + 3, left = x - dot - 3 - size;
    if (right + size <= this.width) return {left: right, right: right + size, top, bottom};
    return left >= 0 ? {left, right: left + size, top, bottom} : null;
  }

  // The nearest point within reach.
  placeOf(x, y) {
    let nearest = null, least = reach * reach;
    this.points.forEach(([pointX, pointY], row) => {
      const square = (pointX - x) ** 2 + (pointY - y) ** 2;
      if (square < least) [nearest, least] = [{row}, square];
    });
    return nearest;
  }
}

function overlap(a, b) {
  return a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom && b.top < a.bottom;
}
