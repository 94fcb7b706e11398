// The hardened program of the payload, the runs, and the same question outside the page.
import { javascriptLanguage } from '@codemirror/lang-javascript';
import { ask } from './api.js';
import { copyButton, fill, h, printable } from './dom.js';
import { markChecks, reader, replace } from './editor.js';
import { changed, question, state } from './state.js';

// The names of the run-time (docs/design/harden.md §2), by what they check.
const CHECKS = {
  reads: ['v', 'a', 'va', 'ca', 't', 'io', 'sp', 'os', 'us', 'fi'],
  keys: ['r', 'k', 'kw', 'pr', 'del'],
  writes: ['ws', 'sw', 'rt'],
  calls: ['c', 'c1', 'c0', 'ct', 'n', 'tpl'],
  functions: ['f', 'fc', 'cl'],
};
const KIND = new Map(Object.entries(CHECKS).flatMap(([kind, names]) => names.map((name) => [name, kind])));
const SAID = { reads: 'values that come from outside', keys: 'names of properties', writes: 'writes', calls: 'calls', functions: 'functions that leave', others: 'other steps' };
const STATEMENT = /Statement$|Declaration$|^MethodDeclaration$/;

/** Break a program into lines at its statements, so that it can be read. */
function laid(text) {
  const breaks = new Map();
  let depth = 0;
  javascriptLanguage.parser.parse(text).iterate({
    enter(node) {
      if (node.name === 'Block' || node.name === 'ClassBody') depth++;
      else if (STATEMENT.test(node.name) && node.from > 0 && !/^(for|else)/.test(text.slice(Math.max(node.from - 4, 0), node.from))) breaks.set(node.from, depth);
    },
    leave(node) {
      if (node.name !== 'Block' && node.name !== 'ClassBody') return;
      depth--;
      if (node.to - node.from > 2) breaks.set(node.to - 1, depth);
    },
  });
  let out = '';
  let last = 0;
  for (const [at, level] of [...breaks].sort(([a], [b]) => a - b)) {
    out += `${text.slice(last, at)}\n${'  '.repeat(level)}`;
    last = at;
  }
  return `${out}${text.slice(last)}`.replace(/\n\s*(?=\n)/g, '');
}

function checksIn(text, prefix) {
  const escaped = prefix.replace(/[^\w]/g, '\\$&');
  return [...text.matchAll(new RegExp(`\\b${escaped}([a-z][a-z0-9]*)(?=\\()`, 'g'))].map((found) => ({ from: found.index, to: found.index + found[0].length, kind: KIND.get(found[1]) ?? 'others' }));
}

/** Ask when the panel is open and the question has changed. */
function whenShown(panel, work, names) {
  let stale = true;
  const refresh = () => {
    if (panel.hidden || !stale) return;
    stale = false;
    work();
  };
  let timer = 0;
  changed((changes) => {
    if (!names.some((name) => changes.has(name))) return;
    stale = true;
    clearTimeout(timer);
    timer = setTimeout(refresh, 250);
  });
  return refresh;
}

const FRAME = ['code', 'sink', 'target', 'shape', 'bindings', 'policy', 'profile'];

export function hardenedPanel() {
  const panel = h('section', {});
  const holder = h('div', { class: 'code tall' });
  const map = h('ul', { class: 'legend' });
  const said = h('p', { class: 'note', role: 'status' });
  const form = h('fieldset', { class: 'segments' }, h('legend', { class: 'hidden' }, 'Form of the program'), ['readable', 'emitted'].map((name) => h('label', {}, h('input', { type: 'radio', name: 'form', value: name, checked: name === 'readable', on: { change: draw } }), name)));
  const view = reader(holder, 'Hardened program');
  const copy = copyButton('Copy', () => view.state.doc.toString());
  let answer = null;
  fill(panel, h('div', { class: 'row' }, form, copy), said, holder, map);

  function draw() {
    if (!answer?.made) return;
    const readable = form.querySelector('input:checked').value === 'readable';
    const text = readable ? laid(answer.readable) : answer.emitted;
    replace(view, text);
    const checks = readable ? checksIn(text, answer.prefix) : [];
    markChecks(view, checks);
    const counts = Map.groupBy(checks, ({ kind }) => kind);
    fill(map, Object.keys(SAID).filter((kind) => counts.has(kind)).map((kind) => h('li', {}, h('span', { class: `key ${kind}`, 'aria-hidden': 'true' }), `${SAID[kind]} `, h('b', {}, String(counts.get(kind).length)))));
    fill(said, readable ? 'For people: short names, without the run-time. What is marked is checked while it runs.' : `As emitted, with names that no payload can know. The run-time in front of it makes it ${answer.bytes.toLocaleString('en')} bytes.`);
  }

  const refresh = whenShown(panel, async () => {
    try {
      answer = await ask('harden', question());
      holder.hidden = map.hidden = !answer.made;
      if (answer.made) draw();
      else fill(said, `No program: ${answer.reason}`, answer.construct ? ` (${answer.construct})` : '');
    } catch (error) {
      holder.hidden = map.hidden = true;
      fill(said, error.message);
    }
  }, FRAME);
  return { panel, refresh };
}

export function runPanel() {
  const panel = h('section', {});
  const results = h('div', { class: 'results', role: 'status', 'aria-live': 'polite' });
  const start = (name, show) => async () => {
    fill(results, h('p', { class: 'note' }, 'Running…'));
    try {
      fill(results, show(await ask(name, question())));
    } catch (error) {
      fill(results, h('p', { class: 'bad' }, error.message));
    }
  };
  fill(
    panel,
    h('p', { class: 'note' }, 'Nothing runs in this page. The sandbox is QuickJS without any capability. The oracle runs the payload in every engine of its target, with traps in place of real capabilities, whatever the verdict is: use it only for payloads that may run on this machine.'),
    h('div', { class: 'row' }, h('button', { type: 'button', class: 'primary', on: { click: start('run', sandboxResult) } }, 'Run in the sandbox'), h('button', { type: 'button', on: { click: start('oracle', oracleResult) } }, 'Run in the oracle')),
    results,
  );
  changed((names) => FRAME.some((name) => names.has(name)) && fill(results));
  return { panel, refresh() {} };
}

const field = (name, ...value) => [h('dt', {}, name), h('dd', {}, ...value)];

function sandboxResult(answer) {
  if (!answer.ran) return [h('p', { class: 'bad' }, h('b', {}, 'Not run. '), `For the sandbox it is denied: ${answer.about ?? answer.code}.`)];
  return [
    h('p', { class: answer.code ? 'bad' : 'good' }, h('b', {}, answer.code ? `${answer.code} ` : 'It ran. '), answer.about ?? answer.thrown ?? (answer.code ? answer.message : '')),
    h(
      'dl',
      { class: 'facts' },
      answer.code ? null : field('Result', h('pre', { tabindex: 0 }, printable(answer.result ?? 'undefined'))),
      field('Shape', answer.shape),
      field('Instructions', answer.fuel.toLocaleString('en')),
      field('Memory', `${(answer.memory / 1024).toLocaleString('en', { maximumFractionDigits: 0 })} KiB`),
      answer.console.length ? field('Console', h('pre', { tabindex: 0 }, answer.console.map(({ level, text }) => `${level}: ${text}`).join('\n'))) : null,
    ),
  ];
}

function oracleResult(answer) {
  const absent = Object.entries(answer.absent).map(([engine, why]) => h('p', { class: 'note' }, `Not run in ${engine}: ${why}.`));
  const rows = answer.runs.map((run) => h('tr', {}, h('td', {}, run.engine), h('td', {}, run.shape), h('td', {}, run.ending), h('td', {}, run.hits.map((hit) => h('code', {}, `${hit.op} ${hit.path || hit.capability}`)))));
  return [
    answer.reached.length
      ? h('p', { class: 'bad' }, h('b', {}, 'It reaches '), answer.reached.map((name) => [h('span', { class: 'chip' }, name), ' ']))
      : h('p', { class: 'good' }, h('b', {}, 'It reached nothing. '), 'That does not prove that it cannot.'),
    answer.touched.length ? h('p', { class: 'note' }, `It looked at ${answer.touched.join(', ')}.`) : null,
    absent,
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Runs' }, h('table', {}, h('thead', {}, h('tr', {}, ['Engine', 'Shape', 'Ending', 'Traps'].map((name) => h('th', { scope: 'col' }, name)))), h('tbody', {}, rows))),
  ];
}

export function usePanel(lastAnswer) {
  const panel = h('section', {});
  const refresh = whenShown(panel, async () => {
    try {
      const found = await ask('snippets', question());
      fill(panel, h('p', { class: 'note' }, 'The same question outside this page.'), Object.entries(found).map(([name, text]) => block(name, text)), caseForm());
    } catch (error) {
      fill(panel, h('p', { class: 'bad' }, error.message));
    }
  }, FRAME);

  function caseForm() {
    const name = h('input', { id: 'case-id', value: 'my/case', autocomplete: 'off', spellcheck: 'false' });
    const said = h('p', { class: 'bad', role: 'alert' });
    const out = h('div', {});
    const make = async () => {
      fill(said);
      try {
        const answer = lastAnswer();
        const { text } = await ask('as-case', { id: name.value, allowed: answer.allowed, construct: answer.findings.find((each) => each.blocks)?.construct ?? null, question: question() });
        fill(out, block('Case', text));
      } catch (error) {
        fill(out);
        fill(said, error.message);
      }
    };
    return h('div', { class: 'block' }, h('h2', {}, 'Save as a case'), h('div', { class: 'row' }, h('label', { for: 'case-id' }, 'Id'), name, h('button', { type: 'button', on: { click: make } }, 'Make')), said, out);
  }

  return { panel, refresh };
}

function block(name, text) {
  const shown = text.length > 4000 ? `${text.slice(0, 4000)}…` : text;
  return h('div', { class: 'block' }, h('div', { class: 'row' }, h('h2', {}, name), copyButton('Copy', () => text)), h('pre', { tabindex: 0, 'aria-label': name }, printable(shown)));
}
