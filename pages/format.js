// SPDX-License-Identifier: Apache-2.0
// Numbers as legends, tables and axes show them.

const prefixes = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

// Six digits; an exponent where there would be many zeros.
function plainNumber(value, digits = 6) {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e9) return value.toExponential(digits - 2).replace(/\.?0+e/, 'e');
  return String(Number(value.toPrecision(digits)));
}

function withPrefix(value, digits = 5) {
  if (!Number.isFinite(value)) return '–';
  const [size, prefix] = prefixes.find(([least]) => Math.abs(value) >= least) ?? [1, ''];
  return `${Number((value / size).toPrecision(digits))} ${prefix}`.trim();
}

function bytesText(value) {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const power = value > 0 ? Math.min(Math.floor(Math.log2(value) / 10), names.length - 1) : 0;
  return `${Number((value / 2 ** (10 * power)).toPrecision(4))} ${names[power]}`;
}

// A value with its unit, as legends and tables show it.
function valueText(value, unit) {
  if (!Number.isFinite(value)) return '–';
  switch (unit) {
    case 'share': return `${Number((100 * value).toPrecision(4))} %`;
    case 'milliseconds': return value >= 1e4 ? `${plainNumber(value / 1e3, 5)} s` : `${plainNumber(value, 5)} ms`;
    case 'bytes': return bytesText(value);
    case 'tokens/s': return `${withPrefix(value)} tok/s`;
    case 'FLOP/s': {
      const text = withPrefix(value);
      return /\d$/.test(text) ? `${text} FLOP/s` : `${text}FLOP/s`;
    }
    default: return plainNumber(value);
  }
}

// A tick of a vertical axis.
function tickText(value, unit) {
  switch (unit) {
    case 'share': return `${Number((100 * value).toPrecision(4))} %`;
    case 'bytes': return bytesText(value);
    case 'number': return Math.abs(value) < 1e5 ? plainNumber(value, 4) : withPrefix(value, 4);
    default: return withPrefix(value, 4);
  }
}

function countText(value) {
  return Number.isFinite(value) ? value.toLocaleString('en') : '–';
}

function durationText(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  const whole = Math.round(seconds);
  const parts = [[Math.floor(whole / 86400), 'd'], [Math.floor(whole / 3600) % 24, 'h'],
                 [Math.floor(whole / 60) % 60, 'min'], [whole % 60, 's']];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return '0 s';
  return parts.slice(first, first + 2).filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`).join(' ');
}

function dateText(seconds) {
  return Number.isFinite(seconds) ? new Date(1000 * seconds).toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : '–';
}

// The horizontal axes: the member of a table, and how its numbers read. Time is in the unit that suits the longest run.
const axes = {
  step: {member: 'step', name: 'step', scale: 1, text: (x) => countText(x)},
  tokens: {member: 'tokens', name: 'target tokens', scale: 1, text: (x) => withPrefix(x)},
  seconds: {member: 'seconds', name: 'time', scale: 1, text: (x) => durationText(x * axes.seconds.scale)},
};
const timeUnits = [[86400, 'days'], [3600, 'hours'], [60, 'minutes'], [1, 'seconds']];

function setTimeUnit(longest) {
  const [scale, name] = timeUnits.find(([size]) => longest >= 3 * size) ?? timeUnits[3];
  axes.seconds.scale = scale;
  axes.seconds.name = name;
}

function axisTickText(x, axis) {
  return axis === 'seconds' ? plainNumber(x, 5) : withPrefix(x, 5);
}
