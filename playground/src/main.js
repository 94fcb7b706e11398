// The page: what is on it, and what asks the server when.
import { ask, latest, told } from './api.js';
import { copyButton, fill, h } from './dom.js';
import { goTo, payloadEditor, replace, show as showFindings } from './editor.js';
import { logView } from './log.js';
import { policyPanel } from './policy.js';
import { hardenedPanel, runPanel } from './programs.js';
import { changed, fragment, fromFragment, question, set, state } from './state.js';
import { tabs } from './tabs.js';
import { usePanel } from './use.js';
import { findingsPanel, profileCards, verdictBar } from './verdict.js';

const EXAMPLE = `// Type a payload. This one passes every filter that looks for words.
const host = globalThis['pro' + 'cess'];
const steps = [() => host.title, (code) => host['ex' + 'it'](code)];
const [title, leave] = steps;

if (title() !== 'node') {
  leave(0);
}
`;
const DELAY_MS = 20;

function theme() {
  const choose = h('select', { id: 'theme', on: { change: () => use(choose.value) } }, ['system', 'light', 'dark'].map((name) => h('option', { value: name }, name)));
  const use = (name) => {
    document.documentElement.dataset.theme = name;
    choose.value = name;
    try {
      localStorage.setItem('theme', name);
    } catch {
      // The choice lasts as long as the page.
    }
  };
  let kept = 'system';
  try {
    kept = localStorage.getItem('theme') ?? kept;
  } catch {
    // As above.
  }
  use(kept);
  return h('label', { class: 'theme' }, h('span', {}, 'Theme'), choose);
}

function select(label, name, options) {
  const element = h('select', { id: `field-${name}`, on: { change: () => set({ [name]: element.value }) } }, options.map(([value, text]) => h('option', { value }, text)));
  element.value = state[name];
  changed((names) => names.has(name) && (element.value = state[name]));
  return { element, field: h('div', { class: 'field' }, h('label', { for: element.id }, label), element) };
}

function frame(about, openCase) {
  const sink = select('Sink', 'sink', [['', 'none'], ...about.sinks.map(({ id }) => [id, id])]);
  const target = select('Target', 'target', about.targets.map((name) => [name, name]));
  const shape = select('Shape', 'shape', [['', 'any'], ...about.shapes.map((name) => [name, name])]);
  const kinds = h('datalist', { id: 'kinds' }, about.kinds.map((kind) => h('option', { value: `page=${kind}` })));
  const bindings = h('input', { id: 'field-bindings', placeholder: 'name=kind', list: 'kinds', autocomplete: 'off', spellcheck: 'false', on: { input: () => set({ bindings: bindings.value }) } });
  const fields = [sink.field, target.field, shape.field, h('div', { class: 'field' }, h('label', { for: bindings.id }, 'Bindings'), bindings, kinds)];
  const follow = () => {
    bindings.value = state.bindings;
    target.element.disabled = shape.element.disabled = Boolean(state.sink);
    const named = about.sinks.find(({ id }) => id === state.sink);
    if (named) target.element.value = named.target;
    else target.element.value = state.target;
  };
  changed(follow);
  follow();
  if (about.cases.length) fields.push(caseField(about.cases, openCase));
  return h('form', { class: 'frame', 'aria-label': 'Where it runs', on: { submit: (event) => event.preventDefault() } }, fields);
}

function caseField(cases, openCase) {
  const ids = new Set(cases.map(({ id }) => id));
  const list = h('datalist', { id: 'cases' });
  const input = h('input', { id: 'field-case', list: 'cases', placeholder: `${cases.length.toLocaleString('en')} cases`, autocomplete: 'off', spellcheck: 'false', on: { input: offer } });
  function offer() {
    if (ids.has(input.value)) return openCase(input.value);
    const found = cases.filter(({ id }) => id.includes(input.value)).slice(0, 40);
    return fill(list, found.map(({ id, target }) => h('option', { value: id }, target)));
  }
  offer();
  return h('div', { class: 'field' }, h('label', { for: input.id }, 'Case'), input, list);
}

async function main() {
  const about = await told('about');
  const constructs = new Map(about.constructs.map((each) => [each.label, each]));
  const given = fromFragment(location.hash.slice(1));
  Object.assign(state, Object.keys(given).length ? given : { code: EXAMPLE });

  const holder = h('div', { class: 'code payload' });
  const editor = payloadEditor(holder, (text) => set({ code: text }));
  const bar = verdictBar();
  const profiles = profileCards();
  const openCase = async (id) => {
    const found = await ask('case', { id });
    const bindings = Object.entries(found.bindings).map(([name, kind]) => `${name}=${kind}`).join(' ');
    set({ code: found.code, sink: found.sink ?? '', target: found.target, shape: found.shape ?? '', bindings });
  };
  const findings = findingsPanel(constructs, {
    choose: (all, chosen) => showFindings(editor, all, chosen),
    tryCode: (code, more = {}) => set({ code, ...more }),
    goTo: ([from, to]) => goTo(editor, { from, to }),
  });
  const hardened = hardenedPanel();
  const run = runPanel();
  const use = usePanel();
  const refreshed = { hardened, run, use };
  const side = tabs('What is known of the payload', [
    ['findings', 'Findings', findings.panel],
    ['policy', 'Policy', policyPanel(about, openCase)],
    ['hardened', 'Hardened', hardened.panel],
    ['run', 'Run', run.panel],
    ['use', 'Use', use.panel],
  ], (id) => refreshed[id]?.refresh());

  const judge = latest('judge', {
    delay: DELAY_MS,
    show(found) {
      bar.show(found);
      profiles.show(found);
      findings.show(found);
      document.documentElement.dataset.judged = found.sha256;
    },
    fail(error) {
      bar.fail(error);
      showFindings(editor, [], null);
      fill(findings.panel, h('p', { class: 'bad' }, error.message));
    },
  });
  changed((names) => {
    if (names.has('code')) replace(editor, state.code);
    judge(question());
  });
  replace(editor, state.code);
  judge(question());

  const link = copyButton('Copy link', () => {
    const text = fragment();
    if (!text) throw new Error('too long');
    history.replaceState(null, '', `#${text}`);
    return location.href;
  });
  const judging = h('div', { class: 'judge' }, h('h1', { class: 'hidden' }, 'Judge a payload'), h('div', { class: 'left' }, frame(about, openCase), h('section', { class: 'card editor', 'aria-label': 'Payload' }, holder, bar.bar), profiles.group), h('div', { class: 'right card' }, side.list, side.panels));
  const content = document.getElementById('content');
  const views = [['judge', 'Judge', judging]];
  const log = about.log ? logView() : null;
  if (log) views.push(['log', 'Log', log.view]);
  const top = tabs('Views', views, (id) => id === 'log' && log.refresh());
  fill(document.getElementById('head'), h('p', { class: 'brand' }, h('img', { src: 'icon.svg', alt: '', width: 22, height: 22 }), 'Evalward', h('span', {}, 'playground')), log ? top.list : null, h('div', { class: 'tools' }, link, theme(), h('span', { class: 'version' }, about.version)));
  fill(content, views.map(([, , view]) => view));
  if (!log) {
    for (const name of ['role', 'aria-labelledby', 'tabindex']) judging.removeAttribute(name);
  }
}

main().catch((error) => fill(document.getElementById('content'), h('p', { class: 'bad' }, `The page cannot start: ${error.message}`)));
