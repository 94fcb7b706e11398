// The membrane: one map from what is real to what the payload holds instead, and the one way a foreign function is called.
import {
  G, ObjectPrototype, ArrayPrototype, FunctionPrototype, PromiseCtor, apply, construct, functionToString, getPrototypeOf, defineProperty, get,
  newProxy, stringIndexOf, weakMap, weakSet, symbols, isObject, isSound, isUnnamedNative,
} from './natives.js';
import { deny, dead, checkAlive, changed } from './denial.js';
import { isOwn } from './own.js';
import { isProxy } from './shared.js';
import { isFunctionConstructor, isGlobalObject, nativeName } from './structure.js';

export { deny } from './denial.js';
export { own } from './own.js';

/** What is known about a foreign function or object. Fields are defined, never assigned through a prototype. */
class Record {
  real;
  safe;
  call;
  construct;
  label;
  /** Calls go to `safe`, which is a Proxy with traps of its own: a facade, a stand-in, or a Proxy of the payload's. */
  opaque = false;
  /** It is `opaque` and has no traps. */
  plain = false;
  constructor(real) { this.real = real; }
}

const records = weakMap();
const plainPrototypes = weakSet();
// Prototypes of registered objects: whether an instance is registered, only the map says.
const mixedPrototypes = weakSet();
const classifiers = { __proto__: null, length: 0 };
/** 'call': functions that no list names may be called, if they are no natives. 'deny': they may not. */
export let unlisted = 'deny';
export const setUnlisted = (policy) => {
  unlisted = policy;
};

// Whether classifiers are asked about each new kind of object; whether its prototype is looked at before the map.
let kinds = false;
let quick = false;
let kept = false;

// `x instanceof Here`: the chain of prototypes reaches this realm's Object.prototype. Engines do this test without a call.
const Here = function () {};
defineProperty(Here, 'prototype', { __proto__: null, value: ObjectPrototype, writable: false });

// The two prototypes that were looked up last. Their instances are inert, and none is registered.
let lastPlain;
let olderPlain;
// The two objects that were given as they are last. A registration forgets them.
let lastInert;
let olderInert;

/**
 * What the payload gets for `x`. Engines inline it since it is short: most values are primitives, or the object that was given
 * last.
 */
export function v(x) {
  return x === lastInert || (typeof x !== 'object' && typeof x !== 'function') || x === null ? x : shown(x);
}

function shown(x) {
  if (typeof x === 'function') return isOwn(x) ? x : safeOf(recordOf(x));
  if (x === olderInert) return x;
  if (quick) {
    const p = getPrototypeOf(x);
    if (p === lastPlain || p === olderPlain) return inert(x);
    const record = records.get(x);
    return record !== undefined ? safeOf(record) : p === ObjectPrototype ? inert(x) : kindOf(x, p);
  }
  const record = records.get(x);
  if (record !== undefined) return safeOf(record);
  return kinds ? kindOf(x, getPrototypeOf(x)) : x instanceof Here ? inert(x) : inspect(x);
}

/**
 * What the payload gets for the argument `x`. The engine gives a function of the payload's functions that it has made for one
 * operation, such as those that settle a promise: they have no name, and no property leads to them.
 */
export function a(x) {
  if (typeof x === 'function' && !isOwn(x) && records.get(x) === undefined && isUnnamedNative(x)) listed(x);
  return v(x);
}

/** Remember an object that is given as it is: programs read the same one many times in a row. */
function inert(x) {
  olderInert = lastInert;
  return lastInert = x;
}

let makeWrapper;
/** How a wrapper of a foreign function is made; wrappers.js provides it. */
export const onWrapping = (make) => { makeWrapper = make; };

/** What the payload holds instead of a foreign function. */
function wrap(record) {
  const safe = makeWrapper(record);
  record.safe = safe;
  records.set(safe, record);
  return safe;
}

function safeOf(record) {
  if (dead) checkAlive();
  return record.safe === undefined ? wrap(record) : record.safe;
}

/** An object that is not registered: one question for all that inherit directly from the same prototype. */
function kindOf(x, p) {
  if (p === ObjectPrototype) return x;
  if (p !== null && plainPrototypes.has(p)) {
    if (p !== lastPlain) {
      olderPlain = lastPlain;
      lastPlain = p;
    }
    return x;
  }
  const safe = inspect(x);
  if (safe === x && p !== null && !mixedPrototypes.has(p) && x instanceof Here) plainPrototypes.add(p);
  return safe;
}

/** A new object that has no prototype, or roots in another realm, or is of a new kind. This realm's global is registered. */
function inspect(x) {
  if (dead) checkAlive();
  for (let i = 0; i < classifiers.length; i++) {
    const safe = classifiers[i](x);
    if (safe !== undefined) return safe;
  }
  return isGlobalObject(x) ? denied(x, 'global-object') : x;
}

/** Whether a list names the foreign function `f`. */
export const isListed = (f) => !recordOf(f).opaque;

/** A function (x) → stand-in or undefined, asked about objects that do not inherit from this realm's
 *  Object.prototype, and, where functions that no list names are denied, about each object of a new kind. */
export const addClassifier = (classify) => {
  classifiers[classifiers.length++] = classify;
  kinds = unlisted === 'deny';
  quick = kinds && !kept;
};

let handing = (self, args, run) => run();
/** How a function of the page is called with what a payload hands to it, (self, args, run); page/handing.js provides it. */
export const onHanding = (call) => { handing = call; };

// A function of the page gets the real global object as `this`, as its own code would give it.
const hostFunction = {
  __proto__: null,
  call(self, args, real) {
    return handing(self, args, () => apply(real, self === records.get(G)?.safe ? G : pageValue(self), pageValues(args)));
  },
  construct(args, newTarget, real) {
    return handing(undefined, args, () => construct(real, pageValues(args), newTarget));
  },
};

/** Whether a function is the page's own, and no native. */
export const isOfThePage = (record) => record.call === hostFunction.call;

/** Whether `f` is a real foreign function of which a list says more than that it may be called. */
export const isRuled = (f) => {
  if (typeof f !== 'function' || isOwn(f)) return false;
  const record = recordOf(f);
  return record.real === f && (record.opaque || record.call !== undefined) && !isOfThePage(record);
};

/** Whether the engine may call `f` as a callback: the payload's own, the page's, or what a payload holds instead of a function. */
export const isHarmlessCallback = (f) => isOwn(f) || recordOf(f).safe === f || isOfThePage(recordOf(f));

/** What a function of the page gets for another one: the function itself, which it may compare. A payload may call it anyway. */
export const pageValue = (x) => {
  if (typeof x !== 'function' || isOwn(x)) return x;
  const record = records.get(x);
  return record !== undefined && isOfThePage(record) ? record.real : x;
};

const pageValues = (args) => {
  for (let i = 0; i < args.length; i++) args[i] = pageValue(args[i]);
  return args;
};

const registrars = { __proto__: null, length: 0 };
/** Ask `register` about each foreign function that is new: it registers `f` and returns true, or returns false. */
export const onMeeting = (register) => { registrars[registrars.length++] = register; };

function isKnown(f) {
  for (let i = 0; i < registrars.length; i++) if (registrars[i](f)) return true;
  return false;
}

/**
 * A function of P′ that is none of the payload's, such as the one around it: a sloppy function's `caller` may show it, which gives
 * null in P. Its text is the program's.
 */
function hide(f) {
  const found = entry(f);
  found.safe = null;
  found.opaque = true;
  found.call = found.construct = () => deny('arguments.callee');
}

// Only a random prefix tells: a short one, for people to read, may be in any text.
const { prefix } = CONFIG;
const isTextOfProgram = (text) => typeof prefix === 'string' && prefix.length > 9 && apply(stringIndexOf, text, [prefix]) >= 0;
const isOfProgram = (f) => isTextOfProgram(apply(functionToString, f, []));

/** What a name that a host binds gives: a direct `eval` has the text of P′ as a variable, of which the payload gets its own. */
export const bound = (x) => (typeof x === 'string' && isTextOfProgram(x) ? CONFIG.source : v(x));

/** Whether the payload has met a function of the page's: such a one may put a raw value under a name of the payload's choice. */
export let pageHelps = false;

let isReading = false;
/** Call `read`, a native that calls methods which it finds: as long as it runs, no function of the page is met for the first time. */
export function whileReading(read) {
  const outer = isReading;
  isReading = true;
  try {
    return read();
  } finally {
    isReading = outer;
  }
}

/** The record of a foreign function that is seen for the first time. */
function meet(f) {
  if (isOfProgram(f)) {
    hide(f);
  } else if (isFunctionConstructor(f)) {
    denied(f, 'function-constructor');
  } else if (isKnown(f)) {
    return records.get(f);
  } else if (unlisted === 'deny') {
    denied(f, 'global-object', 'a function that no list names');
  } else {
    const name = nativeName(f);
    if (name === 'eval') denied(f, 'eval()');
    else if (name !== '') denied(f, 'global-object', 'a native that no list names');
    else {
      if (isReading) deny('global-object', 'a function of the page that is first met while data is read');
      handler(f, hostFunction);
      pageHelps = true;
    }
  }
  return records.get(f);
}

/** The record of a foreign function; that of one which is new is made. */
const recordOf = (f) => records.get(f) || meet(f);

// ---- what lists say

function entry(real) {
  changed();
  lastInert = olderInert = undefined;
  let found = records.get(real);
  if (found === undefined) {
    found = new Record(real);
    records.set(real, found);
  }
  return found;
}

/** A foreign function is called as `behaviour` says: {call(self, args, real), construct(args, newTarget, real)}. */
export function handler(real, behaviour) {
  const found = entry(real);
  found.call = behaviour.call;
  found.construct = behaviour.construct;
}

/** A foreign function may be called as it is. */
export function listed(real) {
  entry(real);
}

/** The payload gets `safe` for `real`. `label` is the construct with which the program's end denies it; null lets it leave. */
export function standIn(real, safe, label = 'global-object') {
  const found = entry(real);
  found.safe = safe;
  found.label = label;
  found.opaque = true;
  records.set(safe, found);
  if (typeof real === 'object') mix(getPrototypeOf(real));
  return safe;
}

/** Instances of `p` may be registered from now on. */
function mix(p) {
  if (p === null || p === ObjectPrototype) return;
  mixedPrototypes.add(p);
  plainPrototypes.delete(p);
  lastPlain = olderPlain = undefined;
}

/** A Proxy of the payload's, or an object of the run-time that a payload may hold: `v` gives it as it is. */
export function keep(safe) {
  const found = entry(safe);
  found.safe = safe;
  found.opaque = true;
  if (typeof safe === 'object') {
    // Asking a Proxy for its prototype runs its traps.
    kept = true;
    quick = false;
  }
  return safe;
}

/** `safe`, which a payload may hold and which has no traps: what happens to it is asked of the run-time, as of an own object. */
export function keepPlain(safe) {
  records.get(safe).plain = true;
  return safe;
}

/** The payload gets `safe` for `view`, which natives get instead of it. */
export function alias(view, safe) {
  entry(view).safe = safe;
  kept = true;
  quick = false;
}

/** The real value of a facade, a stand-in or a wrapper; anything else is itself. */
export function unwrap(x) {
  if (!isObject(x)) return x;
  const found = records.get(x);
  return found === undefined ? x : found.real;
}

/** With which construct the end of the program denies `x`; undefined for what may leave. */
export function labelOf(x) {
  const found = records.get(x);
  return found === undefined || found.label === null ? undefined : found.label;
}

/** What leaves the program for `x`: the host's own object behind a facade that may leave, and a function of the page. */
export function outside(x) {
  const found = records.get(x);
  return found !== undefined && (found.label === null || isOfThePage(found)) ? found.real : x;
}

/** What a Proxy answers for the prototype of `real`: the engine's `instanceof` compares it with the real Function.prototype. */
export function above(real) {
  const p = getPrototypeOf(real);
  return p === FunctionPrototype ? p : v(p);
}

const allowedOnDenied = { __proto__: null, prototype: 1, name: 1, length: 1, constructor: 1 };

const none = { __proto__: null };

/** A member of a stand-in that may be read: data, or a stand-in with open members of its own. */
function openMember(value, label, open) {
  if (!isObject(value)) return value;
  if (labelOf(value) === undefined) denied(value, label, undefined, label, open === null ? none : open);
  return v(value);
}

/**
 * A stand-in that denies with `label` when it is used; it can be compared and asked for `prototype` and `name`.
 * @param {object} [open] members that may be read: an object says which of a member's members, `null` is for data
 */
export function denied(real, label, reason, constructLabel = label, open = none) {
  const refuse = () => deny(label, reason);
  const target = typeof real === 'function' ? function () {} : { __proto__: null };
  return standIn(real, newProxy(target, {
    __proto__: null,
    apply: refuse,
    construct() { return deny(constructLabel, reason); },
    get(_, key) {
      if (open[key] !== undefined) return openMember(get(real, key), label, open[key]);
      if (typeof key !== 'symbol' && allowedOnDenied[key] !== 1 && key !== 'then') deny(label, reason);
      if (key === 'then' || (typeof key === 'symbol' && key !== symbols.hasInstance)) return undefined;
      // `instanceof` compares with the real prototype. What the payload itself reads passes `v` again.
      return key === 'prototype' ? get(real, key) : v(get(real, key));
    },
    getPrototypeOf: () => above(real),
    has: () => true,
    set: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
    getOwnPropertyDescriptor: refuse,
    ownKeys: refuse,
    setPrototypeOf: refuse,
    preventExtensions: refuse,
  }), label);
}

/** Whether `o` is a facade, a stand-in or a Proxy of a payload's: its own traps say what happens to it. */
export function isOpaque(o) {
  const found = records.get(o);
  return found === undefined ? isProxy(o) : found.safe === o;
}

/** Whether [[Get]] and [[Set]] of `o` are decided by traps: those of a facade, a stand-in or a Proxy of a payload's. */
export function hasTraps(o) {
  const found = records.get(o);
  return found === undefined ? isProxy(o) : found.safe === o && !found.plain;
}

/** Whether `o` is a Proxy of a payload's: its traps, or its target, say what a write does. */
export function isKept(o) {
  const found = records.get(o);
  return found === undefined ? isProxy(o) : found.real === o && found.opaque;
}

// ---- calls

/** Call the function `f`, real or safe, with safe values; gives a safe value. */
export function invoke(f, self, args) {
  if (isOwn(f)) return apply(f, self, args);
  return callForeign(recordOf(f), self, args);
}

/** Whether the engine may call `f`, a real function, directly with safe values; then `receiver` says with which `this`. */
export const isDirect = (f, record) => !dead && record.call === undefined && !record.opaque && record.real === f;

/** [[Call]] of a foreign function. */
export function callForeign(record, self, args) {
  if (dead) checkAlive();
  if (record.call !== undefined) return v(record.call(self, args, record.real));
  if (record.opaque) return v(apply(record.safe, self, args));
  return v(apply(record.real, receiver(self), args));
}

/** [[Construct]] of the constructor `f`, real or safe, with safe values; gives a safe object. */
export function instantiate(f, args, newTarget) {
  if (isOwn(f)) return construct(f, args, newTarget);
  const record = recordOf(f);
  if (dead) checkAlive();
  const target = newTarget === f ? record.real : newTarget;
  if (record.construct !== undefined) return v(record.construct(args, target, record.real));
  if (record.opaque) return v(construct(record.safe, args, newTarget === f ? record.safe : newTarget));
  return v(construct(record.real, args, target));
}

/**
 * A native gets the real function as `this`, where the payload has a wrapper: natives compare and construct it. One that is called
 * or constructed under a rule of its own stays a wrapper, so that no native constructs it unjudged.
 */
export function receiver(self) {
  if (typeof self !== 'function' || isOwn(self)) return self;
  const record = records.get(self);
  if (record === undefined || record.opaque) return self;
  const isPlain = record.call === undefined && record.construct === undefined;
  return isPlain || record.real === PromiseCtor || isOfThePage(record) ? record.real : self;
}

export { recordOf };

plainPrototypes.add(ArrayPrototype);

if (!isSound) deny('prototype-tampering', 'the realm was changed before');
