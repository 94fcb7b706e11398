// The hardened program of the payload, and the runs.
import { javascriptLanguage } from '@codemirror/lang-javascript';
import { ask } from './api.js';
import { checksIn, KINDS } from './checks.js';
import { copyButton, fill, h, printable } from './dom.js';
import { goTo, markChecks, reader, replace } from './editor.js';
import { changed, FRAME, question, whenShown } from './state.js';

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
    fill(map, Object.entries(KINDS).map(([kind, { said }]) => entry(kind, said, checks.filter((each) => each.kind === kind))));
    fill(said, readable ? 'For people: short names, without the run-time. What is underlined is checked while it runs.' : `As emitted, with names that no payload can know. The run-time in front of it makes it ${answer.bytes.toLocaleString('en')} bytes.`);
  }

  /** A line of the map: how many checks of a kind there are, and a button that goes from one to the next. */
  function entry(kind, said, checks) {
    if (!checks.length) return null;
    const next = () => {
      const { head } = view.state.selection.main;
      goTo(view, checks.find(({ from }) => from > head) ?? checks[0]);
    };
    return h('li', {}, h('button', { type: 'button', class: 'link', title: 'Go to the next one', on: { click: next } }, h('span', { class: `check ${kind}` }, said)), ' ', h('b', {}, String(checks.length)));
  }

  const refresh = whenShown(panel, async (isLast) => {
    try {
      const found = await ask('harden', question());
      if (!isLast()) return;
      answer = found;
      holder.hidden = map.hidden = !answer.made;
      if (answer.made) draw();
      else fill(said, `No program: ${answer.reason}`, answer.construct ? ` (${answer.construct})` : '');
    } catch (error) {
      if (!isLast()) return;
      holder.hidden = map.hidden = true;
      fill(said, error.message);
    }
  });
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
