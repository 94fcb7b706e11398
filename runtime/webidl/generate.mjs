// Write src/page/interfaces.js from Web IDL and from review.json, where a person has decided about every member that may
// run script or open a capability. A member that the rules below find and the review lacks is an error.
// `node webidl/generate.mjs [--check]`
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import idl from '@webref/idl';
import { callbacks } from './callbacks.mjs';
import { suspects } from './suspects.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const review = JSON.parse(await readFile(here('review.json'), 'utf8'));
const definitions = Object.values(await idl.parseAll()).flat();

const decisions = new Map();
for (const [behaviour, members] of Object.entries(review.members)) {
  for (const member of members) {
    if (decisions.has(member)) throw new Error(`${member} is decided twice`);
    decisions.set(member, behaviour);
  }
}

const found = suspects(definitions);
const undecided = [...found].filter(([member]) => !decisions.has(member));
const gone = [...decisions.keys()].filter((member) => !found.has(member) && !review.besides.includes(member));
if (undecided.length || gone.length) {
  for (const [member, why] of undecided) console.error(`not reviewed: ${member} (${[...why].join(', ')})`);
  for (const member of gone) console.error(`no longer suspect: ${member}`);
  process.exit(1);
}

/** Interfaces that a mixin's members end up in. */
const includers = new Map();
for (const one of definitions) {
  if (one.type === 'includes') includers.set(one.includes, [...(includers.get(one.includes) ?? []), one.target]);
}

const kinds = new Map();
for (const one of definitions) {
  for (const member of one.members ?? []) {
    const name = member.type === 'constructor' ? 'constructor' : member.name;
    kinds.set(`${one.name}.${name}`, { type: member.type, isStatic: member.special === 'static' });
  }
}

/** Decisions that need no rule by name: generic mediation, what the write to an element of a list does, setters of what runs. */
const GENERIC = new Set(['listed', 'mediated', 'indexed', 'own']);

// Setters of these interfaces have the same rule, which page/contact.js finds by the interface.
const elements = await readFile(here('../src/page/elements.js'), 'utf8');
const RUNNING = new Set(elements.match(/RUNNING = ([^;]+);/)[1].match(/\w+(?=[ '])/g));
if (!RUNNING.has('HTMLScriptElement') || !RUNNING.has('HTMLPortalElement')) throw new Error('RUNNING was not read');

const rows = new Map();
function add(key, behaviour, holder) {
  const row = rows.get(key) ?? new Map();
  row.set(behaviour, [...new Set([...(row.get(behaviour) ?? []), holder])]);
  rows.set(key, row);
}

for (const [path, behaviour] of decisions) {
  if (GENERIC.has(behaviour)) continue;
  const [type, member] = path.split('.');
  const known = kinds.get(path) ?? { type: review.kinds[path] };
  if (known.type === undefined) throw new Error(`${path} is not in Web IDL; give its kind`);
  const holders = review.holders[path] ?? review.holders[type] ?? (includers.get(type) ?? [type]);
  for (const holder of holders) {
    if (known.type === 'constructor') add(type, behaviour, '*');
    else if (known.type === 'attribute' && behaviour === 'reflect' && RUNNING.has(holder)) continue;
    else if (known.type === 'attribute') add(`set ${member}`, behaviour, holder);
    else add(member, behaviour, known.isStatic ? `!${holder}` : holder);
  }
}

// A listener is added to the window's facade, or to nothing.
for (const name of ['addEventListener', 'removeEventListener', 'dispatchEvent', 'when']) add(name, 'window', 'EventTarget');

// What the engine reads methods of is passed as a view, unless a rule of its own says how the member is called.
const LISTENING = new Set(['addEventListener', 'removeEventListener']);
for (const [path, places] of callbacks(definitions)) {
  const [type, member] = path.split('.');
  if ((decisions.has(path) && !GENERIC.has(decisions.get(path))) || LISTENING.has(member)) continue;
  const behaviour = `view${places.join('')}`;
  if (member === 'constructor') add(type, behaviour, '*');
  else {
    const prefix = kinds.get(path).isStatic ? '!' : '';
    for (const holder of review.holders[path] ?? review.holders[type] ?? includers.get(type) ?? [type]) add(member, behaviour, prefix + holder);
  }
}

const lines = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, row]) => {
  const text = [...row].map(([behaviour, holders]) => `${behaviour} ${holders.join(' ')}`).join('|');
  return `  ${/^\w+$/.test(key) ? key : `'${key}'`}: '${text}',`;
});
const text = `/**
 * Members of the page's interfaces that are called under rules of their own, by the name in a native's source text: the
 * rule, then the interfaces. Generated from Web IDL and webidl/review.json by webidl/generate.mjs; do not edit.
 */
export const INTERFACES = {
  __proto__: null,
${lines.join('\n')}
};
`;
const target = here('../src/page/interfaces.js');
if (process.argv.includes('--check')) {
  if ((await readFile(target, 'utf8')) !== text) {
    console.error('interfaces.js is not what Web IDL and the review give; run npm run webidl');
    process.exit(1);
  }
} else await writeFile(target, text);
