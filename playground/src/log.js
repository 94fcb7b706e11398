// The audit log: figures, charts, exceptions and the latest denials. A log has no payload, and neither has this view.
import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { told } from './api.js';
import { fill, h, svg } from './dom.js';

const number = (value) => value.toLocaleString('en');

/** Return the view; it asks for the log when it is shown first. */
export function logView() {
  const view = h('div', { class: 'log' }, h('p', { class: 'empty' }, 'Reading the log…'));
  let asked = false;
  return {
    view,
    async refresh() {
      if (asked) return;
      asked = true;
      try {
        fill(view, drawn(await told('log')));
      } catch (error) {
        asked = false;
        fill(view, h('p', { class: 'bad' }, error.message));
      }
    },
  };
}

function drawn(log) {
  return [
    h('div', { class: 'title' }, h('h1', {}, 'Audit log'), h('p', { class: 'note' }, `${log.files.join(', ')}, ${log.begins ?? 'no records'} to ${log.ends ?? ''}`)),
    h('dl', { class: 'figures' }, log.figures.map(({ name, value, about }) => h('div', {}, h('dt', {}, name), h('dd', { class: 'value' }, value), h('dd', {}, about)))),
    proof(log.proof),
    overTime(log.series),
    h('div', { class: 'grid' }, Object.entries(log.by).map(([name, rows]) => bars(`Denials by ${name.toLowerCase()}`, name, rows)), bars('Decisions by time', 'Time', log.by_time, 'Decisions', latency(log.latency_ms))),
    exceptions(log.exceptions),
    log.weakened.length ? h('section', { class: 'card' }, h('h2', {}, 'Weakened controls'), h('p', {}, log.weakened.map((each) => [h('span', { class: 'chip' }, each), ' ']))) : null,
    denials(log.denials),
  ];
}

function proof({ whole, state, proven, not_proven: open }) {
  const kind = { true: 'good', false: 'bad' }[whole] ?? 'unknown';
  const list = (title, lines) => (lines.length ? h('div', {}, h('h3', {}, title), h('ul', { class: 'plain' }, lines.map((each) => h('li', {}, each)))) : null);
  return h('section', { class: `card proof ${kind}` }, h('h2', {}, 'Chain'), h('p', { class: 'state' }, state), h('div', { class: 'halves' }, list('Proven', proven), list('Not proven', open)));
}

const HEIGHT = 240;
const PAGE = 20;
const EDGE = { left: 48, right: 8, top: 8, bottom: 28 };

function overTime({ unit, begins, denied }) {
  if (!denied.length) return h('section', { class: 'card' }, h('h2', {}, 'Denials over time'), h('p', { class: 'empty' }, 'None.'));
  const WIDTH = Math.min(Math.max(window.innerWidth - 80, 600), 1360);
  const rows = begins.map((_, step) => Object.fromEntries(denied.map(({ counts }, place) => [place, counts[step]])));
  const layers = stack().keys(denied.map((_, place) => place))(rows);
  const most = Math.max(1, ...layers.at(-1).map(([, top]) => top));
  const x = scaleBand(begins, [EDGE.left, WIDTH - EDGE.right]).padding(0.2);
  const y = scaleLinear([0, most], [HEIGHT - EDGE.bottom, EDGE.top]).nice(4);
  const ticks = y.ticks(4).filter(Number.isInteger);
  const every = Math.ceil(begins.length / 6);
  const total = denied.map(({ counts }) => counts.reduce((sum, each) => sum + each, 0));
  const drawing = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `Denials for each ${unit}: ${denied.map(({ name }, place) => `${name} ${total[place]}`).join(', ')}` },
    ticks.map((tick) => [svg('line', { class: 'gridline', x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(tick), y2: y(tick) }), svg('text', { class: 'tick end', x: EDGE.left - 8, y: y(tick) + 4 }, number(tick))]),
    layers.map((layer, place) => layer.map(([low, high], step) => (high > low ? svg('rect', { class: `s${place}`, x: x(begins[step]), width: Math.max(x.bandwidth(), 0.5), y: y(high), height: y(low) - y(high) }, svg('title', {}, `${begins[step]} UTC, ${denied[place].name}: ${number(high - low)}`)) : null))),
    begins.map((begin, step) => (step % every === 0 ? svg('text', { class: 'tick middle', x: x(begin) + x.bandwidth() / 2, y: HEIGHT - 8 }, begin) : null)),
  );
  const legend = h('ul', { class: 'legend' }, denied.map(({ name }, place) => h('li', {}, h('span', { class: `key s${place}`, 'aria-hidden': 'true' }), `${name} `, h('b', {}, number(total[place])))));
  const head = ['Time, UTC', ...denied.map(({ name }) => name)];
  const table = h('details', {}, h('summary', {}, 'The same as a table'), scrolled('Denials over time', head, begins.map((begin, step) => [begin, ...denied.map(({ counts }) => number(counts[step]))])));
  return h('section', { class: 'card' }, h('h2', {}, `Denials by ${unit}`), h('div', { class: 'chart', tabindex: 0, role: 'region', 'aria-label': 'Chart of denials over time' }, drawing), legend, table);
}

function bars(title, name, rows, counted = 'Denials', more = null) {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  const width = scaleLinear([0, most], [0, 100]);
  const lines = rows.map(([label, count]) => h('tr', {}, h('th', { scope: 'row' }, label), h('td', { class: 'bar' }, svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('rect', { class: 's0', width: width(count), height: 10 }))), h('td', { class: 'number' }, number(count))));
  return h('section', { class: 'card' }, h('h2', {}, title), rows.length ? h('table', { class: 'bars' }, h('thead', { class: 'hidden' }, h('tr', {}, h('th', { scope: 'col' }, name), h('th', { scope: 'col' }, 'Share'), h('th', { scope: 'col' }, counted))), h('tbody', {}, lines)) : h('p', { class: 'empty' }, 'None.'), more);
}

function latency(found) {
  return h('dl', { class: 'latency' }, Object.entries(found).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, `${value.toFixed(2)} ms`))));
}

const YEAR = 365;
const left = scaleLinear([0, YEAR], [0, 100]).clamp(true);

/** How long an exception lasts, as a bar up to a year: the shorter it is, the sooner its payload is denied. */
function lasts({ days }) {
  if (days === null) return '';
  const bar = svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('rect', { class: days <= 30 ? 's5' : 's0', width: left(Math.max(days, 1)), height: 10 }));
  return [h('span', { class: 'days' }, bar), days < 0 ? `ended ${number(-days)} days ago` : `${number(days)} days`];
}

function exceptions(rows) {
  if (!rows.length) return null;
  const head = ['Exception', 'State', 'Ends in', 'Until', 'Owner', 'Used', 'Reason'];
  const cells = (row) => [row.id, row.state, lasts(row), row.until, row.owner, number(row.used), row.reason];
  return h('section', { class: 'card' }, h('h2', {}, 'Exceptions'), scrolled('Exceptions', head, rows.map(cells), (value) => value));
}

const cell = (value) => (Array.isArray(value) ? value.join(', ') : typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? ''));

function scrolled(label, head, rows, shown = cell) {
  return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, h('table', {}, h('thead', {}, h('tr', {}, head.map((name) => h('th', { scope: 'col' }, name)))), h('tbody', {}, rows.map((row) => h('tr', {}, row.map((value) => h('td', {}, shown(value))))))));
}

function denials(records) {
  const list = h('ul', { class: 'denials' });
  const more = h('button', { type: 'button', on: { click: () => show(list.children.length + PAGE) } }, 'Show more');
  function show(count) {
    list.append(...records.slice(list.children.length, count).map(row));
    more.hidden = list.children.length >= records.length;
  }
  const row = (record) => h(
    'li',
    {},
    h('details', {}, h('summary', {}, h('span', { class: 'when' }, cell(record.ts).slice(0, 19).replace('T', ' ')), h('b', {}, cell(record.construct ?? (record.keyword ? `keyword:${cell(record.keyword)}` : record.code))), h('span', {}, [record.target, record.tool, record.principal].filter(Boolean).map(cell).join(' · '))), h('dl', { class: 'facts' }, Object.entries(record).map(([name, value]) => [h('dt', {}, name), h('dd', {}, cell(value))]))),
  );
  show(PAGE);
  return h('section', { class: 'card' }, h('h2', {}, 'Latest denials'), records.length ? [list, more] : h('p', { class: 'empty' }, 'None.'));
}
