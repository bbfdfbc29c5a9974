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

function section(title, ...content) {
  return make('section', '', make('h2', '', title), ...content);
}
