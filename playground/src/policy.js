// The policy: an editor with completion from the schema and errors in place, and its effect on the corpus.
import { autocompletion } from '@codemirror/autocomplete';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { latest, stream } from './api.js';
import { fill, h } from './dom.js';
import { policyEditor, replace } from './editor.js';
import { changed, set, state } from './state.js';

const START = 'api_version: evalward/v1\nprofile: balanced\ntargets:\n  main: {allowed: true}\n  renderer: {allowed: true}\n  node: {allowed: true}\n  sandbox: {allowed: true}\n';

/** Return the panel; `openCase` opens a case by its id. */
export function policyPanel(about, openCase) {
  const holder = h('div', { class: 'code tall' });
  const said = h('p', { class: 'note', role: 'status' });
  const view = policyEditor(holder, (text) => set({ policy: text }), [
    autocompletion({ override: [(context) => complete(context, about.policy_schema)] }),
    lintGutter(),
  ]);
  const check = latest('policy', {
    delay: 60,
    show: ({ valid, issues }) => {
      view.dispatch(setDiagnostics(view.state, issues.map((issue) => diagnostic(issue, view.state.doc))));
      const errors = issues.filter((each) => each.kind === 'error').length;
      fill(said, valid ? `Valid, in force for this page${issues.length ? `; warnings: ${issues.length}` : ''}.` : `Not valid: ${errors} error(s). The verdict cannot be given under it.`);
      said.dataset.valid = valid;
    },
    fail: (error) => fill(said, error.message),
  });
  const refresh = () => {
    replace(view, state.policy);
    if (state.policy.trim()) return check({ policy: state.policy });
    view.dispatch(setDiagnostics(view.state, []));
    delete said.dataset.valid;
    return fill(said, 'Empty: the policy that the playground was started with is in force.');
  };
  changed((names) => names.has('policy') && refresh());
  refresh();
  const start = h('button', { type: 'button', on: { click: () => set({ policy: about.policy || START }) } }, about.policy ? 'The policy of the start' : 'A policy to begin with');
  const none = h('button', { type: 'button', on: { click: () => set({ policy: '' }) } }, 'Clear');
  return h('section', {}, h('div', { class: 'row' }, start, none), holder, said, effect(about, openCase));
}

function diagnostic({ kind, line, message, allowed }, doc) {
  const at = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
  const from = at.from + (/^\s*/.exec(at.text)?.[0].length ?? 0);
  return { from: Math.min(from, at.to), to: at.to, severity: kind, message: allowed ? `${message} (allowed: ${allowed})` : message };
}

function effect(about, openCase) {
  if (!about.cases.length) return h('p', { class: 'note' }, 'Start the playground with --corpus to see what a policy changes for your cases.');
  const progress = h('progress', { hidden: true, 'aria-label': 'Judged cases' });
  const said = h('p', { class: 'note', role: 'status' });
  const list = h('ul', { class: 'cases' });
  let running = null;
  const run = async () => {
    running?.abort();
    const own = (running = new AbortController());
    fill(list);
    try {
      progress.hidden = false;
      for await (const each of stream('effect', { policy: state.policy }, own.signal)) {
        if (each.id) list.append(change(each, openCase));
        else Object.assign(progress, { max: each.total, value: each.done });
        if (each.changed !== undefined) fill(said, `${each.changed} of ${each.total} cases change.`, each.changed > list.children.length ? ` The first ${list.children.length} are listed.` : '');
      }
    } catch (error) {
      if (error.name !== 'AbortError') fill(said, error.message);
    } finally {
      if (own === running) progress.hidden = true;
    }
  };
  const button = h('button', { type: 'button', on: { click: run } }, `Effect on ${about.cases.length.toLocaleString('en')} cases`);
  changed((names) => names.has('policy') && (button.disabled = !state.policy.trim()));
  button.disabled = !state.policy.trim();
  return h('div', { class: 'effect' }, h('h2', {}, 'Effect on the corpus'), h('div', { class: 'row' }, button, progress), said, list);
}

const verdict = ({ allowed, code, why }) => h('span', { class: allowed ? 'good' : 'bad' }, allowed ? 'allowed' : `blocked ${why ?? code}`);

function change({ id, target, old, new: now }, openCase) {
  return h('li', {}, h('button', { type: 'button', class: 'link', on: { click: () => openCase(id) } }, id), ` ${target}: `, verdict(old), ' → ', verdict(now));
}

/** Complete keys and values of YAML from the schema: the path comes from the indentation. */
function complete(context, schema) {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const parents = path(context.state.doc, line.number, /^\s*/.exec(before)[0].length);
  const value = /^\s*(?:- )?([\w.-]+):\s+([\w.-]*)$/.exec(before);
  const key = /^(\s*(?:- )?)([\w.-]*)$/.exec(before);
  if (!value && !key) return null;
  const at = [...parents, ...(value ? [value[1]] : [])].reduce((found, name) => found.flatMap((each) => below(each, name, schema)), [schema]);
  const words = value ? at.flatMap((each) => values(each, schema)) : at.flatMap((each) => keys(each, schema));
  const typed = value ? value[2] : key[2];
  if (!words.length || (!typed && !context.explicit && !value)) return null;
  const options = [...new Map(words.map((word) => [word.label, word])).values()];
  return { from: context.pos - typed.length, options, validFor: /^[\w.-]*$/ };
}

function path(doc, number, indent) {
  const found = [];
  let depth = indent;
  for (let each = number - 1; each > 0 && depth > 0; each--) {
    const { text } = doc.line(each);
    const own = /^\s*/.exec(text)[0].length;
    const name = /^\s*(?:- )?([^\s#:][^:]*):/.exec(text)?.[1];
    if (text.trim() && own < depth && name) {
      found.unshift(name.trim());
      depth = own;
    }
  }
  return found;
}

function resolved(node, schema) {
  if (!node || typeof node !== 'object') return [];
  if (node.$ref) return resolved(node.$ref.split('/').slice(1).reduce((at, step) => at?.[step], schema), schema);
  return [node, ...['anyOf', 'allOf', 'oneOf'].flatMap((name) => (node[name] ?? []).flatMap((each) => resolved(each, schema)))];
}

const below = (node, name, schema) =>
  resolved(node, schema).flatMap((each) => [each.properties?.[name] ?? (typeof each.additionalProperties === 'object' ? each.additionalProperties : null), each.items ? below(each.items, name, schema) : null].flat().filter(Boolean));

function keys(node, schema) {
  return resolved(node, schema).flatMap((each) => [
    ...Object.entries(each.properties ?? {}).map(([label, { description, title }]) => ({ label, type: 'property', detail: description ?? title, apply: `${label}: ` })),
    ...resolved(each.propertyNames, schema).flatMap((names) => (names.enum ?? []).map((label) => ({ label, type: 'property', apply: `${label}: ` }))),
    ...(each.items ? keys(each.items, schema) : []),
  ]);
}

function values(node, schema) {
  return resolved(node, schema).flatMap((each) => [
    ...(each.enum ?? (each.const === undefined ? [] : [each.const])).map((label) => ({ label: String(label), type: 'enum' })),
    ...(each.type === 'boolean' ? ['true', 'false'].map((label) => ({ label, type: 'keyword' })) : []),
  ]);
}
