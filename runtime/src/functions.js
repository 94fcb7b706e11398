// The payload's functions, classes, methods and the values that go in and out of them.
import {
  apply, arrayJoin, ArrayPrototype, arrayToString, create, createDataProperty, defineProperty, G, getPrototypeOf, has, hasOwn, isArray,
  isObject, ownDescriptor, RegExpCtor, stringSlice, symbols, weakMap,
} from './natives.js';
import { deny } from './denial.js';
import { isOwn, mark, placeOf } from './own.js';
import { a, isOpaque, v } from './membrane.js';

// A place is a start in the high bits and an end in the low ones: one number is cheaper to keep than two.
const SHIFT = 0x4000000;
const NOWHERE = 0;

// Programs that travel to another realm instead of a function, or of a constant text: an object of them by route.
const programs = weakMap();
const programsOfTexts = create(null);

/** Register a function that the run-time has made for the payload. Returns `f`. */
export const registerOwn = (f) => mark(f, NOWHERE);

/**
 * A function expression or declaration.
 * @param {object} [sent] the programs that travel instead of it: text, or [construct, reason] where there is none
 */
export function f(fn, name, start, end, sent) {
  mark(fn, start * SHIFT + end);
  if (name !== undefined) nameIt(fn, name);
  if (sent !== undefined) programs.set(fn, sent);
  return fn;
}

/** A constant text with the programs that travel instead of it. */
export function tx(text, sent) {
  const known = programsOfTexts[text] || (programsOfTexts[text] = create(null));
  for (const route in sent) known[route] = sent[route];
  return text;
}

/** A regular expression whose text is not ASCII. */
export const rx = (pattern, flags) => v(new RegExpCtor(pattern, flags));

function nameIt(fn, name) {
  if (typeof name === 'symbol') name = name.description === undefined ? '' : '[' + name.description + ']';
  defineProperty(fn, 'name', { __proto__: null, value: name, configurable: true });
}

/** The source of an own function in P; undefined for a function without one. */
export function sourceOf(fn) {
  if (typeof fn !== 'function' || !isOwn(fn)) return undefined;
  const place = placeOf(fn);
  if (place === NOWHERE || typeof CONFIG.source !== 'string') return undefined;
  const end = place % SHIFT;
  return apply(stringSlice, CONFIG.source, [(place - end) / SHIFT, end]);
}

/** What a conversion to a string shows of the own function `fn`: its text in P, where the engine would print P′'s. */
export const textOf = (fn) => sourceOf(fn) || 'function () { [native code] }';

/** An operand that may become a string: an own function that is converted as all functions are gives its text in P. */
export function p(x) {
  if (typeof x === 'object') return isArray(x) ? textOfArray(x) : x;
  if (typeof x !== 'function' || !isOwn(x)) return x;
  for (let q = x; typeof q === 'function' && isOwn(q); q = getPrototypeOf(q)) {
    if (hasOwn(q, 'toString') || hasOwn(q, 'valueOf') || hasOwn(q, symbols.toPrimitive)) return x;
  }
  return textOf(x);
}

let accessors = false;
/** An array has got an accessor. */
export const noteAccessor = () => { accessors = true; };

/** An array whose elements are data, and which is converted as all arrays are. Nothing runs. */
function isPlainArray(list) {
  if (!isArray(list) || isOpaque(list) || getPrototypeOf(list) !== ArrayPrototype) return false;
  if (ArrayPrototype.join !== arrayJoin || ArrayPrototype.toString !== arrayToString) return false;
  return !hasOwn(list, 'join') && !hasOwn(list, 'toString') && !hasOwn(list, 'valueOf') && !hasOwn(list, symbols.toPrimitive);
}

/** `list`, or a copy of it in which own functions are their texts, at any depth; an array in itself is empty, as engines have it. */
export function withTexts(list, around) {
  if (!isPlainArray(list)) return list;
  for (let outer = around; outer !== undefined; outer = outer.around) if (outer.list === list) return '';
  const here = { __proto__: null, list, around };
  let made;
  for (let i = 0; i < list.length; i++) {
    // What an accessor gives is not asked twice.
    const x = accessors ? ownDescriptor(list, i)?.value : list[i];
    if (!isObject(x)) continue;
    const shown = typeof x === 'function' ? p(x) : withTexts(x, here);
    if (shown === x) continue;
    if (made === undefined) {
      made = [];
      for (let j = 0; j < list.length; j++) createDataProperty(made, j, list[j]);
    }
    createDataProperty(made, i, shown);
  }
  return made === undefined ? list : made;
}

/** An array that becomes a string: its text, where it holds an own function; else itself. */
function textOfArray(list) {
  const shown = withTexts(list);
  return shown === list ? list : apply(arrayJoin, shown, []);
}

/** What travels on `route` instead of an own function or a text: a program, [construct, reason], or undefined. */
export function travelling(x, route) {
  const found = typeof x === 'string' ? programsOfTexts[x] : programs.get(x);
  return found === undefined ? undefined : found[route];
}

const METHOD = 0;
const GETTER = 1;
const SETTER = 2;
const STATIC = 4;

/** Register the methods of `holder`; `members` is key, flags, start, end, … */
function methods(holder, members, statics) {
  for (let i = 0; i < members.length; i += 4) {
    const flags = members[i + 1];
    const property = ownDescriptor(flags & STATIC ? statics : holder, members[i]);
    if (property === undefined) continue;
    const kind = flags & 3;
    const method = kind === METHOD ? property.value : kind === GETTER ? property.get : kind === SETTER ? property.set : undefined;
    // A spread or a later property may have put a foreign function in the place of the method.
    if (typeof method === 'function' && !isOwn(method) && !isOpaque(method)) mark(method, members[i + 2] * SHIFT + members[i + 3]);
  }
}

/** A class with its methods. */
export function cl(C, name, start, end, members) {
  if (!isOwn(C)) mark(C, start * SHIFT + end);
  if (name !== undefined) nameIt(C, name);
  methods(ownDescriptor(C, 'prototype').value, members, C);
  return C;
}

/** An object literal with methods or accessors. */
export function ob(o, members) {
  methods(o, members, o);
  return o;
}

/** The `arguments` object: its elements are made safe in place, and with them the parameters of sloppy code. */
export function va(list) {
  for (let i = 0; i < list.length; i++) list[i] = a(list[i]);
  return list;
}

/**
 * The `arguments` of a function around P′, which a driver calls. Those of a function around a module hold one of the
 * `loaders`, and a global of that name is nobody's.
 */
export function ga(list, loaders) {
  if (has(G, 'arguments')) deny('module-loading');
  for (let i = 0; i < list.length; i++) {
    for (let j = 0; j < loaders.length; j++) if (isObject(loaders[j]) && list[i] === loaders[j]) deny('module-loading');
  }
  va(list);
}

/** A private method that was read: no descriptor shows it, so it is registered here, with its name in P. */
export function pm(method, name) {
  if (typeof method === 'function' && !isOwn(method)) {
    mark(method, NOWHERE);
    nameIt(method, name);
  }
  return method;
}

/** The prototype that a literal gives its object. */
export const pr = (parent) => v(parent);

/** `super` of the object `home`. */
export const above = (home) => getPrototypeOf(home);
