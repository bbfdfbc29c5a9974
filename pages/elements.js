// SPDX-License-Identifier: Apache-2.0
// What pages are made of: blocks of JSON, elements, tables, switches.

function readBlock(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

// An element with text or other elements in it. Texts are never markup.
function make(tag, className = '', ...content) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...content.filter((part) => part !== null && part !== undefined).map((part) =>
    part instanceof Node ? part : String(part)));
  return element;
}

function last(list) {
  return list.length > 0 ? list[list.length - 1] : undefined;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function table(head, rows, className = '') {
  const body = make('tbody');
  for (const cells of rows) body.append(make('tr', '', ...cells.map((cell) => make('td', '', cell))));
  return make('div', 'scroll', make('table', className, make('thead', '', make('tr', '', ...head.map((name) => make('th', '', name)))), body));
}

// A table that is made when it is opened.
function folded(title, build, className = '') {
  const details = make('details', className, make('summary', '', title));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(build());
  });
  return details;
}

function checkbox(text, checked, change) {
  const box = make('input');
  box.type = 'checkbox';
  box.checked = checked;
  box.addEventListener('change', () => change(box.checked));
  return make('label', '', box, ' ', text);
}

// A button for each [value, text] of `choices`. `choose` gets the value of the one that is pressed; press() shows which is.
function switchOf(choices, choose) {
  const group = make('div', 'switch');
  group.setAttribute('role', 'group');
  for (const [value, text] of choices) {
    const button = make('button', '', text);
    button.type = 'button';
    button.dataset.value = value;
    button.addEventListener('click', () => choose(value));
    group.append(button);
  }
  return group;
}

function press(group, value) {
  for (const button of group.children) button.setAttribute('aria-pressed', String(button.dataset.value === String(value)));
}

// A number with what it is, for each [name, text].
function tiles(all) {
  return make('div', 'tiles', ...all.map(([name, text]) =>
    make('div', 'tile', make('div', 'what', name), make('div', 'number', text))));
}

// On paper all is light, and as wide as the paper: draw(printing) is called before a print and after it.
function drawForPrint(draw) {
  const change = (printing) => {
    document.documentElement.classList.toggle('printing', printing);
    draw(printing);
  };
  addEventListener('beforeprint', () => change(true));
  addEventListener('afterprint', () => change(false));
}

// Calls redraw() whenever something that pictures depend on has changed.
function keepDrawn(redraw) {
  addEventListener('resize', () => redraw());
  drawForPrint(() => redraw());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw());
}

function section(title, ...content) {
  return make('section', '', make('h2', '', title), ...content);
}
