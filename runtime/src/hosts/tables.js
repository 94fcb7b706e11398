// The compiled catalogue (guard/harden/hosts.py), unpacked one object at a time when the first facade of it is made.
import { apply, create, freeze, hasOwn, ownKeys, stringIndexOf, stringSlice } from '../natives.js';

const data = CONFIG.hosts || {};

/** An own property of a part of the configuration: what Object.prototype was given does not count. */
const part = (holder, name) => (holder !== undefined && hasOwn(holder, name) ? holder[name] : undefined);

/** Call `visit` with each word of a list. */
export function eachWord(list, visit) {
  for (let start = 0, end; start < list.length; start = end + 1) {
    end = apply(stringIndexOf, list, [' ', start]);
    if (end < 0) end = list.length;
    if (end > start) visit(apply(stringSlice, list, [start, end]));
  }
}

/** The words of a list, each with `value`, added to `into`. */
export function spread(list, value, into) {
  eachWord(list, (word) => { into[word] = value; });
  return into;
}

const NOTHING = freeze(create(null));

/** A table {group: words} turned round: {word: group}. */
function grouped(table) {
  if (table === undefined) return NOTHING;
  const made = create(null);
  const groups = ownKeys(table);
  for (let i = 0; i < groups.length; i++) spread(table[groups[i]], groups[i], made);
  return made;
}

const words = (list) => (list === undefined ? NOTHING : spread(list, true, create(null)));

const lists = create(null);

/** The words of a list as {word: true}; made once. */
export const wordsOf = (list) => (lists[list] ??= words(list));

/** The construct of what is denied at a path for being unlisted. */
export function familyOf(path) {
  const first = apply(stringSlice, path, [0, 7]);
  if (first === 'electro') return 'electron';
  if (first === 'process') return 'process';
  return path === '' ? 'global-object' : 'nested-evaluation';
}

const unpacked = create(null);

/**
 * What is listed of the object at `path`: results of `values` and `methods`, constructs of what is `denied`, positions
 * of arguments that are `texts`, `functions`, `urls`, `markup`, `bodies`, `requests`, `locators`, `sites`, `states`, `styles` or `globals`, what `fields` of
 * options are passed on, where `files` begin and how their names end, which `keys` a first argument may be; `others` is what any other member is.
 */
export function tableOf(path) {
  if (unpacked[path] !== undefined) return unpacked[path];
  // A function that gives the object's part: what is not used is not built.
  const packed = part(data.o, path)?.();
  return (unpacked[path] = {
    __proto__: null,
    path,
    values: grouped(part(packed, 'v')),
    methods: grouped(part(packed, 'm')),
    denied: grouped(part(packed, 'd')),
    texts: grouped(part(packed, 't')),
    urls: grouped(part(packed, 'u')),
    markup: grouped(part(packed, 'k')),
    bodies: grouped(part(packed, 'b')),
    functions: grouped(part(packed, 'f')),
    requests: grouped(part(packed, 'g')),
    locators: grouped(part(packed, 'o')),
    sites: grouped(part(packed, 'A')),
    states: grouped(part(packed, 'B')),
    files: grouped(part(packed, 'F')),
    keys: grouped(part(packed, 'K')),
    styles: grouped(part(packed, 'G')),
    globals: grouped(part(packed, 'H')),
    fields: grouped(part(packed, 'h')),
    callbacks: grouped(part(packed, 'c')),
    events: words(part(packed, 'e')),
    writable: words(part(packed, 'y')),
    removable: words(part(packed, 'D')),
    settings: part(packed, 'S') !== undefined,
    prefix: part(packed, 'a'),
    result: part(packed, 'r') === '-' ? '' : part(packed, 'r'),
    instance: part(packed, 'i'),
    options: part(packed, 'w') !== undefined,
    others: part(packed, 'x') || '',
    isData: path === '' || part(packed, 'z') !== undefined,
    compares: part(packed, 'p') !== undefined,
    direct: grouped(part(packed, 'P')),
    route: part(packed, 'l') || 'page',
    unless: grouped(part(packed, 'j')),
    hidden: words(part(packed, 's')),
    open: words(part(packed, 'q')),
    family: familyOf(path),
  });
}

let classes;

/** The path of the host object whose instances are of the class called `name`. */
export function pathOfClass(name) {
  if (classes === undefined) {
    classes = create(null);
    const found = section('n');
    const paths = found === undefined ? [] : ownKeys(found);
    for (let i = 0; i < paths.length; i++) spread(found[paths[i]], paths[i], classes);
  }
  return classes[name];
}

const sections = { __proto__: null };

/** A part of the catalogue that is a function, too, and built at its first use. */
const section = (name) => (sections[name] ??= part(data, name)?.());

/** What listeners of an event get: object paths, separated by spaces. */
export const typesOfEvent = (family, name) => part(section(family === 'electron' ? 'f' : 'e'), name);

/** What a setting of a page must be. */
export const settingOf = (name) => part(section('p'), name);

/** A copy of a part of the configuration without a prototype. */
function table(from) {
  const made = create(null);
  if (from === undefined) return made;
  const keys = ownKeys(from);
  for (let i = 0; i < keys.length; i++) made[keys[i]] = from[keys[i]];
  return made;
}

/** Object paths by free name, constructs by denied free name: objects without a prototype. A list of harmless globals. */
export const names = part(data, 'g') || NOTHING;
export const deniedNames = part(data, 'z') || NOTHING;
export const harmless = part(data, 'h') || '';

let harmlessNames;

/** Whether `name` is that of a harmless global. */
export const isHarmlessName = (name) => (harmlessNames ??= words(harmless))[name] !== undefined;

let classesOfSingletons;
let untagged;

/** The class of a harmless global that is the only one of its class. */
export const classOfSingleton = (name) => (classesOfSingletons ??= grouped(section('s')))[name];

/** Whether a harmless class has no tag. */
export const isUntagged = (name) => (untagged ??= words(section('u')))[name] === true;

/** The method that makes an iterator with a prototype of its own, by the name of the harmless class. */
export const iteratorMakers = () => grouped(section('i'));

/** The object paths of the names that the sink binds, and of the parameters of a called payload. */
export const bindings = table(part(CONFIG, 'bindings'));
export const parameters = table(part(CONFIG, 'parameters'));

/** A parameter of type `of` is a `page`, or a plain object with members that are host objects. */
export const fixtures = { __proto__: null, of: 'playwright.page|playwright.fixtures', page: 'playwright.page', names };
