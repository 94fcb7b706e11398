// Methods of host objects, as functions that the payload may hold. Each is made once for a host's function, so that
// `page.click === page.click`; whichever object it is called on, it is called on what stands behind that object.
import {
  apply, create, createDataProperty, defineProperty, freeze, functionToString, get, getPrototypeOf, hasOwn, isObject, ownDescriptor,
  stringIndexOf, symbols, weakMap,
} from '../natives.js';
import { a, deny, keep, keepPlain, v } from '../membrane.js';
import { listArguments } from './arguments.js';
import { asserted, realFor } from './assertions.js';
import { lowerCase, match, settle } from './captured.js';
import { behind } from './behind.js';
import { fromRealm, given } from './results.js';
import { spread } from './tables.js';

/**
 * Methods of ECMA-262's strings, arrays, numbers, dates and maps. A host's data may have them, too; under these names
 * no host has a capability.
 */
const dataMethods = spread(
  'pop push reverse shift sort unshift at charAt charCodeAt codePointAt concat endsWith entries every filter find findIndex findLast findLastIndex flat flatMap '
  + 'forEach get has getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds getTime '
  + 'getTimezoneOffset includes indexOf join keys lastIndexOf localeCompare map match matchAll normalize padEnd padStart '
  + 'reduce reduceRight repeat replace replaceAll search slice some split startsWith substr substring toFixed toISOString '
  + 'toJSON toLocaleDateString toLocaleLowerCase toLocaleTimeString toLocaleUpperCase toLowerCase toPrecision toReversed '
  + 'toSorted toSpliced toUpperCase toUTCString trim trimEnd trimStart values with',
  true, create(null),
);

const builtIns = spread(
  'Array String Number Boolean BigInt Symbol Date Map Set TypedArray ArrayBuffer DataView RegExp', true, create(null),
);

/** Whether `key` of `real` is a method of ECMA-262's data, of any realm, and not one of the host's that is called alike. Of a list of host objects, each is. */
export function isDataMethod(real, key, element) {
  if (dataMethods[key] !== true || element !== undefined) return dataMethods[key] === true;
  for (let x = real, depth = 0; isObject(x) && depth < MAX_DEPTH; x = getPrototypeOf(x), depth++) {
    if (!hasOwn(x, key)) continue;
    const maker = ownDescriptor(x, 'constructor');
    return maker !== undefined && typeof maker.value === 'function' && builtIns[nameOfNative(maker.value)] === true;
  }
  return false;
}

/** The name in the source text of a native function, '' for any other. */
function nameOfNative(f) {
  const found = match(NATIVE, apply(functionToString, f, []));
  return found === null ? '' : found[1];
}

const NATIVE = /^function (\w+)\(\) \{ \[native code\] \}$/;
const givesElement = spread('at find findLast get', true, create(null));

const MAX_DEPTH = 100;
const made = weakMap();

/**
 * The payload's function for the host's function `raw`, read as `key` of an object of `table`.
 * @param {string} [element] of a list that is no array: the path of what it holds
 */
export function methodOf(raw, key, table, element) {
  let byPlace = made.get(raw);
  if (byPlace === undefined) made.set(raw, byPlace = create(null));
  const place = table.path + '.' + key + ' ' + element;
  return byPlace[place] || (byPlace[place] = callable(key, (self, args) => {
    const real = receiver(self, key, table);
    const type = element === undefined ? table.methods[key] || '' : givesElement[key] === true ? element : 'array:' + element;
    const refused = table.unless[key];
    if (refused !== undefined) judgeReceiver(real, refused, table);
    const list = listArguments(args, key, table, element, real);
    if (table.compares && type !== '') return asserted((each) => apply(raw, real, each), list, args, type);
    const result = apply(raw, real, list);
    return given(table.texts[key] === undefined ? result : fromRealm(result), type);
  }));
}

/** Deny a method of an object whose member `condition` (`member=value`, or `member=start*`) says that it does more than others. */
function judgeReceiver(real, condition, table) {
  const found = match(/^(\w+)=([\w:]+)(\*?)$/, condition);
  let held = get(real, found[1]);
  const isAsked = typeof held === 'function';
  if (isAsked) held = apply(held, real, []);
  // A payload may have given an object of its own what the host converts to text.
  if (isObject(held) && !isAsked) deny(table.family === 'electron' ? 'electron-lifecycle' : table.family);
  if (typeof held !== 'string') return;
  const at = apply(stringIndexOf, lowerCase(held), [found[2]]);
  if (at === 0 && (found[3] !== '' || held.length === found[2].length)) deny(table.family === 'electron' ? 'electron-lifecycle' : table.family);
}

/** A function of the run-time that anybody may call: what it is given and gives is safe, and it cannot be changed. */
function callable(name, call) {
  const { method } = { method(...args) {
    for (let i = 0; i < args.length; i++) args[i] = a(args[i]);
    return v(call(v(this), args));
  } };
  defineProperty(method, 'name', { __proto__: null, value: name });
  return keepPlain(keep(freeze(method)));
}

// What lists say about a method of an object.
const RULES = ['methods', 'denied', 'texts', 'functions', 'urls', 'markup', 'bodies', 'requests', 'locators', 'sites', 'states', 'files', 'keys', 'styles', 'globals',
  'fields', 'callbacks', 'unless'];

/** Whether the method `key` of both objects is one that gives the same, by the same rules and in the same realm: one function may be shared. */
function isAlike(one, other, key) {
  if (one.route !== other.route) return false;
  for (let i = 0; i < RULES.length; i++) if (one[RULES[i]][key] !== other[RULES[i]][key]) return false;
  return true;
}

/** The host's object behind `self`: a facade, or an object that inherits from one. */
function receiver(self, key, table) {
  if (self === undefined || self === null) return undefined;
  for (let x = self, depth = 0; isObject(x) && depth < MAX_DEPTH; x = getPrototypeOf(x), depth++) {
    const facts = behind(x);
    if (facts === undefined) continue;
    if (facts.table !== table && !isAlike(facts.table, table, key)) break;
    return realFor(facts, key);
  }
  return deny(table.family, 'a host\'s method on another object');
}

/** `then` and its kin: the payload waits for what the host gives, and gets that as a facade. */
export function thenMember(facts, key) {
  if (facts.table.others !== '' || typeof get(facts.real, 'then') !== 'function') return undefined;
  return callable(key, (self, args) => {
    const promise = settle(facts.real, (x) => given(x, facts.table.path));
    return apply(v(get(promise, key)), promise, args);
  });
}

/** What the engine asks an object for by a symbol: text, and the elements of what can be iterated. */
export function symbolMember(facts, key) {
  const raw = get(facts.real, key);
  if (key === symbols.toStringTag) return isObject(raw) ? undefined : raw;
  if (typeof raw !== 'function' || facts.table.others !== '') return undefined;
  if (key === symbols.toPrimitive) return callable('[Symbol.toPrimitive]', (self, [hint]) => primitive(apply(raw, facts.real, [hint])));
  if (key === symbols.iterator || key === symbols.asyncIterator) {
    return callable('[Symbol.iterator]', () => iterator(apply(raw, facts.real, []), key === symbols.asyncIterator, facts.element || ''));
  }
  return undefined;
}

const primitive = (x) => (isObject(x) ? deny('global-object', 'a host\'s conversion gave an object') : x);

/** An iterator over the elements of a host's iterator. */
function iterator(real, isAsync, element) {
  const step = (name) => callable(name, (self, args) => {
    const method = get(real, name);
    if (method === undefined) return { value: undefined, done: true };
    const result = apply(method, real, args);
    return isAsync ? settle(result, entry) : entry(result);
  });
  const entry = (result) => ({ value: given(get(result, 'value'), element), done: !!get(result, 'done') });
  const made = {};
  createDataProperty(made, 'next', step('next'));
  createDataProperty(made, 'return', step('return'));
  createDataProperty(made, isAsync ? symbols.asyncIterator : symbols.iterator, callable('[Symbol.iterator]', (self) => self));
  return made;
}
