// SPDX-License-Identifier: Apache-2.0
// Two columns of tokens, and lines between them: the darker, the more weight. A token under the mouse shows its lines
// alone, and the place told is its heaviest.

const lineHeight = 22, mostLinked = 400, faintest = 50;  // 0.005; of more tokens a canvas would be too tall

class LinkPicture extends Picture {
  draw() {
    const {rows, columns} = this.data;
    const room = this.element.clientWidth;
    this.left = Math.min(this.labelWidth(rows), room * 0.4) + 2 * gap;
    const right = Math.min(this.labelWidth(columns), room * 0.4) + 2 * gap;
    this.right = Math.max(Math.min(room, this.left + right + 420) - right, this.left + 40);
    this.resize(this.right + right, lineHeight * Math.max(rows.length, columns.length) + 4);
    this.drawLines();
    this.drawColumn(rows, 'row', 'right', this.left - gap);
    this.drawColumn(columns, 'column', 'left', this.right + gap);
  }

  y(index) {
    return 2 + (index + 0.5) * lineHeight;
  }

  isShown(row, column) {
    const at = this.pointed;
    return !at || (at.side === 'row' ? at.row === row : at.column === column);
  }

  drawLines() {
    const {pen} = this;
    pen.strokeStyle = css('--accent');
    this.data.rows.forEach((_, row) => this.data.columns.forEach((__, column) => {
      const weight = this.weight(row, column);
      if (weight === null || weight < faintest || !this.isShown(row, column)) return;
      pen.globalAlpha = inkOf(weight);
      pen.lineWidth = 0.6 + 2.2 * weight / 1e4;
      this.drawLine([this.left, this.y(row)], [this.right, this.y(column)]);
    }));
    pen.globalAlpha = 1;
  }

  drawColumn(texts, side, align, x) {
    this.pen.textAlign = align;
    texts.forEach((text, index) => {
      this.inkLabel(this.pointed?.[side] === index);
      this.pen.fillText(shortText(text), x, this.y(index));
    });
  }

  placeOf(x, y) {
    const side = x < (this.left + this.right) / 2 ? 'row' : 'column';
    const index = Math.floor((y - 2) / lineHeight);
    const texts = side === 'row' ? this.data.rows : this.data.columns, others = side === 'row' ? this.data.columns : this.data.rows;
    if (index < 0 || index >= texts.length) return null;
    let best = 0;
    const weightAt = (other) => (side === 'row' ? this.weight(index, other) : this.weight(other, index)) ?? 0;
    others.forEach((_, other) => {
      if (weightAt(other) > weightAt(best)) best = other;
    });
    return side === 'row' ? {side, row: index, column: best} : {side, row: best, column: index};
  }
}
