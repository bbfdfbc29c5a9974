// SPDX-License-Identifier: Apache-2.0
// Puts the pages of weft embed together: a map of vectors, or the vectors that a model reads.

const told = readBlock('vectors');
const mostCells = 20000, mostOfRow = 10;
const redraws = [];

// A switch between choices; the first one is chosen.
function chooser(choices, choose) {
  const group = switchOf(choices, (value) => {
    press(group, value);
    choose(value);
  });
  press(group, choices[0][0]);
  return make('nav', 'controls', group);
}

function figureOf(id, title, place, picture, ...below) {
  const figure = make('figure', 'wide', make('figcaption', '', make('span', 'title', title), place), picture.element, ...below);
  figure.id = id;
  return figure;
}

function shareText(share) {
  return `${(100 * (share ?? 0)).toFixed(1)} %`;
}

const projections = {
  components: {
    name: 'principal components',
    note: () => `The plane on which the vectors vary most: ${shareText(told.map.explained[0])} of their variance from left to ` +
      `right, ${shareText(told.map.explained[1])} from bottom to top.`,
  },
  t_sne: {
    name: 't-SNE',
    note: () => `Vectors that are near to each other are near here (perplexity ${told.map.perplexity}, divergence ` +
      `${told.map.divergence} nats). How large a group is, and how far two groups are apart, says nothing.`,
  },
};

function neighbourText([index, similarity]) {
  return `${told.map.labels[index]} ${weightText(similarity)}`;
}

function placeTable(projection) {
  const {labels, neighbours} = told.map;
  return table(['', 'x', 'y', 'most similar, and its cosine'], labels.map((label, at) => [
    label, ...told.map[projection][at], neighbours[at].map(neighbourText).join(' · ')]));
}

function mapSection() {
  const {labels, neighbours, ordered} = told.map;
  const place = make('span', 'place'), note = make('p', 'note'), near = make('p', 'note near'), values = make('div');
  const picture = new Scatter((at) => {
    place.textContent = at === null ? '' : labels[at.row];
    near.textContent = at === null ? '' : `most similar: ${neighbours[at.row].map(neighbourText).join(' · ')}`;
  });
  let projection = 'components';
  const draw = () => {
    place.textContent = near.textContent = '';
    note.textContent = projections[projection].note();
    picture.show({labels, neighbours, ordered, places: told.map[projection]});
    values.replaceChildren(folded('values', () => placeTable(projection)));
  };
  redraws.push(draw);
  const controls = chooser(Object.entries(projections).map(([key, {name}]) => [key, name]), (key) => {
    projection = key;
    draw();
  });
  return section('Map', controls, figureOf('plot-map', 'a point for each vector', place, picture, near, note, values));
}

// Ink begins at the least similarity: those of one model's vectors may all be large.
function similaritySection() {
  const {step, values} = told.map.similarities;
  const labels = told.map.labels.filter((_, at) => at % step === 0);
  const others = values.filter((_, at) => at % (labels.length + 1) !== 0);
  const least = others.reduce((a, b) => Math.min(a, b), 1e4);
  const place = make('span', 'place');
  const picture = new HeatMap((at) => {
    place.textContent = at === null ? '' : `${labels[at.row]} · ${labels[at.column]}  ` +
      weightText(values[at.row * labels.length + at.column]);
  });
  const shade = (cosine) => Math.max(cosine - least, 0) / Math.max(1e4 - least, 1);
  redraws.push(() => picture.show({rows: labels, columns: labels, weights: values, shade, plain: true}));
  const rowOf = (row) => values.slice(row * labels.length, (row + 1) * labels.length);
  const full = () => table(['', ...labels],
                           labels.map((label, row) => [label, ...rowOf(row).map(weightText)]), 'numbers');
  const largest = () => table(['', `the ${mostOfRow} largest`], labels.map((label, row) => [label,
    rowOf(row).map((cosine, column) => [cosine, column]).filter(([, column]) => column !== row)
      .sort((a, b) => b[0] - a[0]).slice(0, mostOfRow)
      .map(([cosine, column]) => `${labels[column]} ${weightText(cosine)}`).join(' · ')]));
  const which = step === 1 ? '' : ` One vector of ${step} is shown.`;
  const note = make('p', 'note', `The cosine of the angle between two vectors. No ink: ${weightText(least)}, the least of these ` +
    `pairs; full ink: 1.${which}`);
  return section('Similarity', figureOf('plot-similarity', 'cosine of each pair', place, picture, note,
                                        folded('values', values.length <= mostCells ? full : largest, 'values')));
}

const partNames = {token: 'tokens', position: 'positions', sum: 'their sum'};

function numberText(value) {
  return value === null ? '–' : String(value);
}

function elementTable(part, columns) {
  const {tokens} = told.inputs;
  const rowOf = (row) => part.values.slice(row * columns.length, (row + 1) * columns.length);
  if (part.values.length <= mostCells) {
    return table(['', ...columns], tokens.map((text, row) => [tokenText(text), ...rowOf(row).map(numberText)]), 'numbers');
  }
  return table(['', `the ${mostOfRow} largest elements`], tokens.map((text, row) => [tokenText(text),
    rowOf(row).map((value, column) => [value ?? 0, column]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, mostOfRow)
      .map(([value, column]) => `${columns[column]}: ${numberText(value)}`).join(' · ')]));
}

function inputSection() {
  const {tokens, step, parts} = told.inputs;
  const columns = [...parts[0].values.keys()].slice(0, parts[0].values.length / tokens.length).map((at) => String(at * step));
  const place = make('span', 'place'), note = make('p', 'note'), values = make('div');
  let chosen = parts[0];
  const picture = new HeatMap((at) => {
    place.textContent = at === null ? '' : `${tokenText(tokens[at.row])} · ${columns[at.column]}  ` +
      numberText(chosen.values[at.row * columns.length + at.column]);
  });
  const draw = () => {
    const largest = chosen.values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
    const which = step === 1 ? '' : ` One element of ${step} is shown.`;
    place.textContent = '';
    note.textContent = `A row is a token, a column an element of its vector. Full ink: ${largest}; the other colour is below ` +
      `zero.${which}`;
    picture.show({rows: tokens, columns, weights: chosen.values, shade: (value) => (value ?? 0) / (largest || 1)});
    values.replaceChildren(folded('values', () => elementTable(chosen, columns), 'values'));
  };
  const controls = chooser(parts.map(({name}) => [name, partNames[name]]), (name) => {
    chosen = parts.find((part) => part.name === name);
    draw();
  });
  redraws.push(draw);
  return section('Inputs', controls, figureOf('plot-inputs', 'what the first layer reads', place, picture, note, values));
}

function redraw() {
  for (const draw of redraws) draw();
}

function build() {
  document.title = `${cutText(told.title, 60)} – weft embed`;
  const page = document.getElementById('page');
  page.append(make('header', '', make('div', 'brand', 'weft embed'), make('h1', '', told.title), make('p', 'note', told.model)));
  if (told.map) page.append(mapSection(), similaritySection());
  if (told.inputs) page.append(inputSection());
  redraw();
}

build();
keepDrawn(redraw);
