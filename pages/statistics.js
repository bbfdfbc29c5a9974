// SPDX-License-Identifier: Apache-2.0
// Puts the page of weft inspect --statistics together.

const told = readBlock('statistics');
const charts = [];  // each a function that draws one

function shareText(part, all) {
  return valueText(part / all, 'share');
}

// A plot with its table. Each point has the cells of its row there, and under the mouse they are told.
function plot(id, title, about, Kind, head, data) {
  const place = make('p', 'place told');
  const chart = new Kind((at) => {
    place.textContent = at === null ? '' : head.map((name, k) => `${name} ${data.points[at.row].cells[k]}`).join(', ');
  });
  charts.push(() => chart.show(data));
  const figure = make('figure', '', make('figcaption', '', make('span', 'title', title)), place, chart.element,
                      make('p', 'note', about),
                      folded('values', () => table(head, data.points.map((point) => point.cells), 'numbers'), 'values'));
  figure.id = `plot-${id}`;
  return figure;
}

function percentiles(side) {
  const ends = {0: 'least', 100: 'most'};
  return table(['of the texts', ...side.percentiles.map(([percent]) => ends[percent] ?? `${percent} %`), 'mean'],
               [['tokens', ...side.percentiles.map(([, length]) => countText(length)), plainNumber(side.mean, 4)]], 'numbers');
}

// Lines of a histogram at some percentiles, a line for those that are the same. A bar of one length has its line within.
function marksOf(side, end) {
  const marks = [], within = side.lengths.width === 1 ? 0.5 : 0;
  for (const [percent, length] of side.percentiles) {
    if (percent < 5 || percent > 95 || length >= end) continue;
    const same = marks.find(({x}) => x === length + within);
    if (same) same.name = `${same.first} to ${percent} %`;
    else marks.push({x: length + within, first: percent, name: `${percent} %`});
  }
  return marks;
}

function lengths(id, side, texts) {
  const {begin, width, bins} = side.lengths, longest = last(side.percentiles)[1];
  let before = 0;
  const points = bins.map((count, k) => {
    const from = begin + k * width, to = from + width;
    const isOpen = k === bins.length - 1 && longest >= to;
    const range = isOpen ? `${countText(from)} to ${countText(longest)}`
      : width === 1 ? countText(from) : `${countText(from)} to ${countText(to - 1)}`;
    before += count;
    return {from, to, y: count, cells: [range, countText(count), shareText(count, texts), shareText(before, texts)]};
  });
  const end = last(points).to;
  const figure = plot(`${id}-lengths`, 'texts by their number of tokens',
                      'Dashed: the length that so many of the texts do not exceed. The last bar has the longest too.',
                      Bars, ['tokens', 'texts', 'of all', 'up to here'],
                      {x: new Axis(begin, end, countText), y: new Axis(0, Math.max(...bins, 1), countText), points, marks: marksOf(side, end)});
  figure.classList.add('wide');
  figure.lastChild.before(percentiles(side));
  return figure;
}

function rankAxis(side) {
  return new Axis(1, Math.max(last(side.ranks)[0], 2), (rank) => withPrefix(rank), {isLog: true});
}

function coverage(id, side) {
  const points = side.ranks.map(([rank, , covered]) => ({
    x: rank, y: covered / side.tokens,
    cells: [countText(rank), countText(covered), shareText(covered, side.tokens)],
  }));
  return plot(`${id}-coverage`, 'how much of the text the most frequent tokens are',
              'Over the number of these tokens; its axis is logarithmic.', Curve,
              ['the most frequent', 'occurrences', 'of the text'],
              {x: rankAxis(side), y: new Axis(0, 1, (share) => tickText(share, 'share'), {least: 0.1}), points});
}

function frequencies(id, side) {
  const points = side.ranks.map(([rank, count]) => ({
    x: rank, y: count, cells: [countText(rank), countText(count), shareText(count, side.tokens)],
  }));
  return plot(`${id}-frequencies`, 'how often the token of a rank occurs',
              'Both axes are logarithmic. By Zipf’s law it is a straight line: half as often at twice the rank.', Curve,
              ['rank', 'occurrences', 'of the text'],
              {x: rankAxis(side), y: new Axis(1, Math.max(side.ranks[0][1], 2), (count) => withPrefix(count), {isLog: true}), points});
}

function frequentTokens(side) {
  let before = 0;
  return table(['rank', 'id', 'token', 'occurrences', 'of the text', 'up to here'], side.frequent.map(([id, count, text], k) => {
    before += count;
    return [k + 1, id, make('code', '', tokenText(text)), countText(count), shareText(count, side.tokens),
            shareText(before, side.tokens)];
  }), 'numbers');
}

// A side without a token has nothing to plot but its lengths.
function sideParts(split, side) {
  const id = `${split.split}-${side.name}`;
  const parts = [
    make('h3', '', side.name),
    tiles([['tokens', countText(side.tokens)], ['distinct tokens', countText(side.distinct)],
           ['of the vocabulary', `${shareText(side.distinct, side.vocabulary)} of ${countText(side.vocabulary)}`],
           ...(side.words === null ? [] : [['tokens a word', plainNumber(side.tokens / side.words, 4)],
                                           ['bytes a token', plainNumber(side.bytes / side.tokens, 4)]])]),
    make('div', 'plots', lengths(id, side, split.texts),
         ...(side.ranks.length > 0 ? [coverage(id, side), frequencies(id, side)] : []))];
  if (side.frequent.length > 0) parts.push(make('h3', '', 'the most frequent tokens'), frequentTokens(side));
  parts.push(folded('distinct tokens after so many', () => table(
    ['tokens', 'distinct'], side.growth.map((cells) => cells.map(countText)), 'numbers')));
  return parts;
}

function bothParts(split) {
  if (split.shared === undefined) return [];
  const ratios = split.ratios.filter(([percent]) => [5, 50, 95].includes(percent));
  return [tiles([['tokens on both sides', countText(split.shared)],
                 ...ratios.map(([percent, ratio]) => [`target tokens for one of the source, ${percent} %`, plainNumber(ratio / 100)])])];
}

function redraw() {
  for (const draw of charts) draw();
}

function build() {
  document.title = `${shortText(told.dataset, 60)} – weft inspect`;
  const page = document.getElementById('page');
  page.append(make('header', '', make('div', 'brand', 'weft inspect --statistics'), make('h1', '', told.dataset)));
  for (const split of told.splits) {
    const what = split.sides.length > 1 ? 'pair' : 'document';
    page.append(section(`${split.split}: ${countText(split.texts)} ${what}${split.texts === 1 ? '' : 's'}`,
                        ...bothParts(split), ...split.sides.flatMap((side) => sideParts(split, side))));
  }
  redraw();
}

build();
keepDrawn(redraw);
