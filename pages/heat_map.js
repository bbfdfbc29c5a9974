// SPDX-License-Identifier: Apache-2.0
// Numbers as a picture on a canvas, which prints; here a matrix with a text at each row and column. `told` gets the row and
// column under the mouse, or null.

// Blanks and line ends that are part of a token are shown.
const shownBlanks = {' ': '␣', '\n': '↵', '\t': '⇥'};
function tokenText(text) {
  return text === '' ? '∅' : text.replace(/[ \n\t]/g, (blank) => shownBlanks[blank]);
}

function cutText(text, most = 14) {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : characters.join('');
}

function shortText(text, most = 14) {
  return cutText(tokenText(text), most);
}

// Weights are whole ten-thousandths; null is one that is not finite.
function weightText(weight) {
  return weight === null ? '–' : (weight / 1e4).toFixed(4);
}

// Small weights would be invisible if ink grew as they do.
function inkOf(weight) {
  return Math.sqrt(Math.min(Math.max(weight ?? 0, 0) / 1e4, 1));
}

const labelFont = '12px system-ui, "DejaVu Sans", sans-serif';

class Picture {
  constructor(told) {
    this.told = told;
    this.canvas = make('canvas');
    this.element = make('div', 'canvas', this.canvas);
    this.pen = this.canvas.getContext('2d');
    const tell = (event) => this.point(this.placeOf(event.offsetX, event.offsetY));
    this.canvas.addEventListener('pointermove', tell);
    this.canvas.addEventListener('pointerdown', tell);
    // A finger leaves after each tap: what it was told stays, until the next.
    this.canvas.addEventListener('pointerleave', (event) => event.pointerType === 'touch' || this.point(null));
  }

  // `data`: the texts of rows and columns, and the weights, row by row. Of a matrix, `shade` may say how much ink a weight
  // gets, from -1 to 1; what is below zero has another colour. Of `plain` texts blanks are not shown.
  show(data) {
    this.data = data;
    this.pointed = null;
    this.draw();
  }

  point(place) {
    if (place?.row === this.pointed?.row && place?.column === this.pointed?.column) return;
    this.pointed = place;
    this.told(place);
    this.draw();
  }

  resize(width, height) {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.ceil(width * ratio);
    this.canvas.height = Math.ceil(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.font = labelFont;
    this.pen.textBaseline = 'middle';
  }

  labelWidth(texts) {
    this.pen.font = labelFont;
    return Math.ceil(Math.max(...texts.map((text) => this.pen.measureText(this.labelOf(text)).width)));
  }

  labelOf(text, most) {
    return this.data.plain ? cutText(text, most) : shortText(text, most);
  }

  weight(row, column) {
    return this.data.weights[row * this.data.columns.length + column];
  }

  drawDot([x, y], radius) {
    this.pen.beginPath();
    this.pen.arc(x, y, radius, 0, 2 * Math.PI);
    this.pen.fill();
  }

  drawLine(from, to) {
    this.pen.beginPath();
    this.pen.moveTo(...from);
    this.pen.lineTo(...to);
    this.pen.stroke();
  }

  inkLabel(chosen) {
    this.pen.fillStyle = css(chosen ? '--ink' : '--muted');
    this.pen.font = chosen ? `bold ${labelFont}` : labelFont;
  }
}

const smallestCell = 4, largestCell = 30, labelledCell = 13, gap = 6;

class HeatMap extends Picture {
  layOut() {
    const {rows, columns} = this.data;
    this.left = this.labelWidth(rows) + gap;
    this.top = this.labelWidth(columns) + gap;
    const room = this.element.clientWidth - this.left - 2;
    this.cell = Math.min(Math.max(Math.floor(room / columns.length), smallestCell), largestCell);
    this.resize(this.left + this.cell * columns.length + 2, this.top + this.cell * rows.length + 2);
  }

  draw() {
    const {rows, columns, shade = inkOf} = this.data;
    this.layOut();
    const {pen, left, top, cell} = this;
    const above = css('--accent'), below = css('--c1');
    pen.strokeStyle = css('--edge');
    pen.strokeRect(left - 0.5, top - 0.5, cell * columns.length + 1, cell * rows.length + 1);
    const inner = cell > 8 ? cell - 1 : cell;
    for (let row = 0; row < rows.length; ++row) {
      for (let column = 0; column < columns.length; ++column) {
        const ink = shade(this.weight(row, column));
        pen.globalAlpha = Math.abs(ink);
        pen.fillStyle = ink < 0 ? below : above;
        if (pen.globalAlpha > 0) pen.fillRect(left + column * cell, top + row * cell, inner, inner);
      }
    }
    pen.globalAlpha = 1;
    this.drawLabels();
    if (!this.pointed) return;
    pen.strokeStyle = css('--ink');
    pen.strokeRect(left + this.pointed.column * cell - 0.5, top + this.pointed.row * cell - 0.5, cell, cell);
  }

  // Where cells are narrow, each label stands for several.
  drawLabels() {
    const {pen, left, top, cell} = this;
    const {rows, columns} = this.data;
    const step = Math.ceil(labelledCell / cell);
    pen.textAlign = 'right';
    rows.forEach((text, row) => {
      if (row % step !== 0 && row !== this.pointed?.row) return;
      this.inkLabel(row === this.pointed?.row);
      pen.fillText(this.labelOf(text), left - gap, top + (row + 0.5) * cell);
    });
    columns.forEach((text, column) => {
      if (column % step !== 0 && column !== this.pointed?.column) return;
      this.inkLabel(column === this.pointed?.column);
      pen.save();
      pen.translate(left + (column + 0.5) * cell, top - gap);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = 'left';
      pen.fillText(this.labelOf(text), 0, 0);
      pen.restore();
    });
  }

  placeOf(x, y) {
    const row = Math.floor((y - this.top) / this.cell), column = Math.floor((x - this.left) / this.cell);
    const inside = row >= 0 && row < this.data.rows.length && column >= 0 && column < this.data.columns.length;
    return inside ? {row, column} : null;
  }
}
