// Calls, constructions and tagged templates as P′ prints them. The function may be real, the operands are safe values.
// Fixed numbers of arguments have functions of their own, so that calls in loops make no lists.
import { apply, construct, createDataProperty, freeze, defineProperty, TypeError } from './natives.js';
import { onChange } from './denial.js';
import { isOwn } from './own.js';
import { callForeign, instantiate, isDirect, receiver, recordOf, v } from './membrane.js';

function notCallable(f, what) {
  const text = f === null || typeof f !== 'object' ? typeof f === 'symbol' ? 'Symbol()' : '' + f : 'object';
  throw new TypeError(text + ' is not a ' + what);
}

// The functions that were called last, own or foreign and called directly. Most calls in a loop are of a few functions.
const NOBODY = { __proto__: null };
let own1 = NOBODY;
let own2 = NOBODY;
let direct1 = NOBODY;
let direct2 = NOBODY;
let direct3 = NOBODY;
let direct4 = NOBODY;
let lastClass;

const wasOwn = (f) => f === own1 || f === own2;
const wasDirect = (f) => f === direct1 || f === direct2 || f === direct3 || f === direct4;

/** Whether `f` is called without its result being looked at: it is the payload's own. Remembers what it finds. */
function isOwnCallee(f) {
  if (typeof f !== 'function') notCallable(f, 'function');
  if (!isOwn(f)) return false;
  own2 = own1;
  own1 = f;
  return true;
}

/** Whether the engine may call the foreign function `f` directly. Remembers what it finds. */
function isDirectCallee(f, record) {
  if (!isDirect(f, record)) return false;
  direct4 = direct3;
  direct3 = direct2;
  direct2 = direct1;
  direct1 = f;
  return true;
}

onChange(() => { direct1 = direct2 = direct3 = direct4 = NOBODY; });

export function c0(f, self) {
  if (wasOwn(f)) return apply(f, self, []);
  if (wasDirect(f)) return v(apply(f, receiver(self), []));
  if (isOwnCallee(f)) return apply(f, self, []);
  const record = recordOf(f);
  return isDirectCallee(f, record) ? v(apply(f, receiver(self), [])) : callForeign(record, self, []);
}

export function c1(f, self, a) {
  if (wasOwn(f)) return apply(f, self, [a]);
  if (wasDirect(f)) return v(apply(f, receiver(self), [a]));
  if (isOwnCallee(f)) return apply(f, self, [a]);
  const record = recordOf(f);
  return isDirectCallee(f, record) ? v(apply(f, receiver(self), [a])) : callForeign(record, self, [a]);
}

export function c2(f, self, a, b) {
  if (wasOwn(f)) return apply(f, self, [a, b]);
  if (wasDirect(f)) return v(apply(f, receiver(self), [a, b]));
  if (isOwnCallee(f)) return apply(f, self, [a, b]);
  const record = recordOf(f);
  return isDirectCallee(f, record) ? v(apply(f, receiver(self), [a, b])) : callForeign(record, self, [a, b]);
}

export function c3(f, self, a, b, d) {
  if (wasOwn(f)) return apply(f, self, [a, b, d]);
  if (wasDirect(f)) return v(apply(f, receiver(self), [a, b, d]));
  if (isOwnCallee(f)) return apply(f, self, [a, b, d]);
  const record = recordOf(f);
  return isDirectCallee(f, record) ? v(apply(f, receiver(self), [a, b, d])) : callForeign(record, self, [a, b, d]);
}

export function c(f, self, ...args) {
  return isOwnCallee(f) ? apply(f, self, args) : callForeign(recordOf(f), self, args);
}

/** `new F(...)`. */
export function n(F, a, b, d) {
  if (F !== lastClass || F === undefined) {
    if (typeof F !== 'function') notCallable(F, 'constructor');
    if (!isOwn(F)) return instantiate(F, tail(arguments, 1), F);
    lastClass = F;
  }
  switch (arguments.length) {
    case 1: return new F();
    case 2: return new F(a);
    case 3: return new F(a, b);
    case 4: return new F(a, b, d);
    default: return construct(F, tail(arguments, 1));
  }
}

/** The elements of an arguments object from `from` on. */
function tail(list, from) {
  const rest = [];
  for (let i = from; i < list.length; i++) createDataProperty(rest, i - from, list[i]);
  return rest;
}

const sites = { __proto__: null };

/** GetTemplateObject (ECMA-262 §13.2.8.4): one frozen object for each place in the text. */
export function tpl(site, cooked, raw) {
  let object = sites[site];
  if (object === undefined) {
    defineProperty(cooked, 'raw', { __proto__: null, value: freeze(raw) });
    object = sites[site] = freeze(cooked);
  }
  return object;
}

/** A tagged template: a call with the template object first. */
export const ct = c;

/** Call the inner function of a payload of shape `function` with what the host gives. What is no function is the value itself. */
export function call(inner, self, args) {
  if (typeof inner !== 'function') return inner;
  const list = [];
  for (let i = 0; i < args.length; i++) list[i] = v(args[i]);
  return apply(inner, v(self), list);
}
