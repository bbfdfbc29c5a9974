// SPDX-License-Identifier: Apache-2.0
// Puts the page of weft attention together.

const told = readBlock('attention');
const kindNames = {encoder: 'source to source', decoder: told.source_tokens ? 'translation to itself' : 'text to itself',
                   cross: 'translation to source'};
const kinds = Object.keys(kindNames).filter((kind) => told.maps.some((map) => map.kind === kind));
const alignment = told.alignment;
const state = {kind: last(kinds), layer: 0, head: 'mean', view: 'matrix'};
if (alignment) Object.assign(state, {layer: alignment.layer, head: alignment.head});

function mapsOf(kind) {
  return told.maps.filter((map) => map.kind === kind);
}

function chosenMap() {
  return told.maps.find((map) => map.kind === state.kind && map.layer === state.layer);
}

// What the pictures draw: tokens that ask, tokens that are asked, weights.
function chosenData() {
  const map = chosenMap();
  return {
    rows: state.kind === 'encoder' ? told.source_tokens : told.tokens,
    columns: state.kind === 'decoder' ? told.tokens : told.source_tokens,
    weights: state.head === 'mean' ? map.mean : map.heads[state.head],
  };
}

const place = make('span', 'place');
const title = make('span', 'title');
const values = make('div');
const note = make('p', 'note');
const matrix = new HeatMap(tell), lines = new LinkPicture(tell);
const drawing = make('div', 'attention');
const switches = [];  // each a function that shows what is chosen

function tell(at) {
  const data = chosenData();
  place.textContent = at === null ? '' : `${tokenText(data.rows[at.row])} → ${tokenText(data.columns[at.column])}  ` +
    weightText(data.weights[at.row * data.columns.length + at.column]);
}

const mostCells = 20000, mostOfQuery = 10;

// Of long texts, the table has the heaviest keys of each query.
function valueTable() {
  const {rows, columns, weights} = chosenData();
  const rowOf = (row) => weights.slice(row * columns.length, (row + 1) * columns.length);
  if (rows.length * columns.length <= mostCells) {
    return table(['', ...columns.map(tokenText)],
                 rows.map((text, row) => [tokenText(text), ...rowOf(row).map(weightText)]), 'numbers');
  }
  return table(['', `the ${mostOfQuery} heaviest`], rows.map((text, row) => {
    const order = rowOf(row).map((weight, column) => [weight ?? 0, column]).sort((a, b) => b[0] - a[0]);
    return [tokenText(text), order.slice(0, mostOfQuery).map(([weight, column]) =>
      `${tokenText(columns[column])} ${weightText(weight)}`).join('   ')];
  }));
}

function update() {
  const data = chosenData();
  const linked = Math.max(data.rows.length, data.columns.length) <= mostLinked;
  const picture = state.view === 'lines' && linked ? lines : matrix;
  const head = state.head === 'mean' ? 'mean of the heads' : `head ${state.head}`;
  title.textContent = `${kindNames[state.kind]}, layer ${state.layer}, ${head}`;
  place.textContent = '';
  note.textContent = 'The more ink, the more weight: its square root. ' +
    (picture === matrix ? 'A row is a token that looks, a column one that is looked at.'
                        : 'On the left the tokens that look, on the right those that are looked at.');
  drawing.replaceChildren(picture.element);
  picture.show(data);
  values.replaceChildren(folded('values', valueTable, 'values'));
  for (const show of switches) show();
  for (const select of document.querySelectorAll('select')) fillSelect(select);
  for (const cell of document.querySelectorAll('button.entropy')) {
    const {kind, layer, head: of} = cell.dataset;
    const chosen = kind === state.kind && Number(layer) === state.layer && of === String(state.head);
    cell.setAttribute('aria-pressed', String(chosen));
  }
}

function choose(change) {
  Object.assign(state, change);
  const layers = mapsOf(state.kind);
  if (!chosenMap()) state.layer = layers[0].layer;
  if (state.head !== 'mean' && state.head >= chosenMap().heads.length) state.head = 'mean';
  update();
}

function buttons(name, choices) {
  const group = switchOf(choices, (value) => choose({[name]: value}));
  switches.push(() => press(group, state[name]));
  return group;
}

function selectOf(name) {
  const select = make('select');
  select.id = name;
  select.addEventListener('change', () => choose({[name]: select.value === 'mean' ? 'mean' : Number(select.value)}));
  return make('label', '', `${name} `, select);
}

function fillSelect(select) {
  const choices = select.id === 'layer' ? mapsOf(state.kind).map((map) => map.layer) : ['mean', ...chosenMap().heads.keys()];
  select.replaceChildren(...choices.map((choice) => {
    const option = make('option', '', choice);
    option.value = choice;
    return option;
  }));
  select.value = state[select.id];
}

// The entropy of each head of a kind, a row a layer. A cell chooses its head.
function entropies(kind) {
  const maps = mapsOf(kind);
  const most = Math.max(...maps.flatMap((map) => map.entropy.map((value) => value ?? 0)), 1e-9);
  const rows = maps.map((map) => [map.layer, ...map.entropy.map((value, head) => {
    const cell = make('button', 'entropy', value === null ? '–' : value.toFixed(2));
    cell.type = 'button';
    cell.style.setProperty('--share', `${Math.round(60 * (value ?? 0) / most)}%`);
    Object.assign(cell.dataset, {kind, layer: map.layer, head});
    cell.addEventListener('click', () => choose({kind, layer: map.layer, head}));
    return cell;
  })]);
  return make('div', '', make('h3', '', kindNames[kind]),
              table(['layer', ...maps[0].entropy.map((_, head) => `head ${head}`)], rows, 'numbers entropies'));
}

// The words of a sentence beside those of its translation, with lines between those that belong together.
const alignmentPlace = make('span', 'place');
const alignmentPicture = new LinkPicture((at) => {
  alignmentPlace.textContent = at === null ? '' : alignment.links
    .filter(([from, to]) => (at.side === 'row' ? from === at.row : to === at.column))
    .map(([from, to]) => `${alignment.source[from]} → ${alignment.words[to]}`).join(', ');
});

function drawAlignment() {
  const weights = new Array(alignment.source.length * alignment.words.length).fill(0);
  for (const [from, to] of alignment.links) weights[from * alignment.words.length + to] = 1e4;
  alignmentPicture.show({rows: alignment.source, columns: alignment.words, weights});
}

function alignmentSection() {
  const figure = make('figure', '', make('figcaption', '', make('span', 'title', 'words that belong together'), alignmentPlace),
                      alignmentPicture.element,
                      make('p', 'note moses', make('span', 'what', 'Moses form '), make('code', '', alignment.moses)));
  figure.id = 'plot-alignment';
  const best = [...alignment.scores].sort((a, b) => b[3] - a[3]);
  return section('Alignment', figure, folded('scores of the heads', () => table(
    ['layer', 'head', 'its rows align the token', 'score'], best.map(([layer, head, token, score]) =>
      [layer, head, token, score === null ? '–' : score.toFixed(4)]), 'numbers')));
}

function build() {
  const name = told.source ?? told.text;
  document.title = `${shortText(name, 60)} – weft attention`;
  const page = document.getElementById('page');
  page.append(make('header', '', make('div', 'brand', 'weft attention'), make('h1', '', name),
                   told.source === undefined ? null : make('p', 'translation', told.text), make('p', 'note', told.model)));
  if (alignment && alignment.words.length > 0) page.append(alignmentSection());
  const controls = make('nav', 'controls', kinds.length > 1 ? buttons('kind', kinds.map((kind) => [kind, kindNames[kind]])) : null,
                        selectOf('layer'), selectOf('head'), buttons('view', [['matrix', 'matrix'], ['lines', 'lines']]));
  const figure = make('figure', 'wide', make('figcaption', '', title, place), drawing, note, values);
  figure.id = 'plot-attention';
  page.append(section('Weights', controls, figure));
  page.append(section('Entropy of each head, nats', ...kinds.map(entropies)));
  redraw();
}

function redraw() {
  update();
  if (alignment && alignment.words.length > 0) drawAlignment();
}

build();
keepDrawn(redraw);
