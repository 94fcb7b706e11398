// Writes. A payload writes to its own objects as it likes; a setter of a foreign object is called as a function of the host
// is called; prototypes, constructors and namespaces of the realm and of the host are not written to.
import {
  ObjectPrototype, ArrayPrototype, ObjectCtor, apply, defineProperty, deleteProperty, get, getPrototypeOf, has, hasOwn, isArray, isObject,
  newProxy, ownDescriptor, reflectSet, TypeError, weakMap, weakSet,
} from './natives.js';
import { dead, checkAlive, deny } from './denial.js';
import { isOwn } from './own.js';
import { callForeign, hasTraps, isOpaque, pageHelps, recordOf, v } from './membrane.js';
import { noteAccessor } from './functions.js';
import { assertOpen, isExtensible, isListedProtected, isProtected, protect, writable } from './protection.js';
import { onInheritedSet } from './wrappers.js';
import { toKey } from './keys.js';

export { writable } from './protection.js';
export { toKey } from './keys.js';

// Prototypes above which no foreign setter is: a write to what inherits from them runs nothing of the host.
const settersFree = weakSet();
let lastFree = ArrayPrototype;
let lastWritten;
// The prototype of the own class whose instance was written to last: an instance is no prototype of the host's.
let lastClass;

/** An intrinsic prototype without setters: what inherits from it is written to directly. It is protected itself. */
export function withoutSetters(prototype) {
  settersFree.add(prototype);
  protect(prototype);
}

/** `o`, where a property of any name but `__proto__` may be set; else a Proxy whose [[Set]] is `set`. */
export function ws(o) {
  // A function of the page may have put a native on any object as a setter.
  if (pageHelps && isObject(o)) return target(o, getPrototypeOf(o));
  if (o === lastWritten) return o;
  if (typeof o === 'object' && o !== null) {
    const p = getPrototypeOf(o);
    if (p === lastClass && !dead) return lastWritten = o;
    if (p === ArrayPrototype) {
      if (isArray(o)) return lastWritten = o;
    } else if ((p === ObjectPrototype || p === lastFree) && !hasOwn(o, 'constructor') && !isListedProtected(o) && !dead) return lastWritten = o;
    return target(o, p);
  }
  if (typeof o === 'function' && !dead) return o; // An own function, or a Proxy with traps of its own.
  if (dead) checkAlive();
  // A primitive, or `document.all`.
  return isObject(o) ? target(o, getPrototypeOf(o)) : o;
}

function target(o, p) {
  if (isOpaque(o)) return o;
  // What has no property `constructor` of its own is no prototype of the host's, and what inherits from one is the host's.
  if (p !== lastHostPrototype || dead || hasOwn(o, 'constructor') || isListedProtected(o)) {
    if (isExtensible(o)) return newProxy({ __proto__: null, o }, writer);
    writable(o);
    if (!pageHelps && (p === null || isFree(p))) return o;
    if (exotic !== undefined && exotic.isDirect(p)) {
      withoutSetters(p);
      return o;
    }
    if (isProtected(p)) lastHostPrototype = p;
  }
  if (o !== lastHost) {
    lastHost = o;
    lastWriter = newProxy({ __proto__: null, o }, writer);
  }
  return lastWriter;
}

// The host object that was written to last, the Proxy for it, and the host's prototype that it inherits from.
let lastHost;
let lastWriter;
let lastHostPrototype;

/** Whether `p` and all above it are prototypes of own classes, or intrinsics without setters. */
function isFree(p) {
  for (let q = p, depth = 0; ; depth++) {
    if (depth > 100) return false;
    if (q === null || q === ObjectPrototype || q === ArrayPrototype || settersFree.has(q)) break;
    const property = ownDescriptor(q, 'constructor');
    if (property === undefined || !hasOwn(property, 'value') || typeof property.value !== 'function' || !isOwn(property.value)) return false;
    const prototype = ownDescriptor(property.value, 'prototype');
    if (prototype === undefined || prototype.value !== q) return false;
    q = getPrototypeOf(q);
  }
  if (p !== ObjectPrototype && p !== ArrayPrototype && !settersFree.has(p)) lastClass = p;
  settersFree.add(p);
  lastFree = p;
  return true;
}

const writer = {
  __proto__: null,
  get: ({ o }, key) => v(get(o, key)),
  has: ({ o }, key) => has(o, key),
  deleteProperty: ({ o }, key) => remove(o, key),
  set({ o }, key, value) {
    const p = getPrototypeOf(o);
    const known = p === lastPrototype ? lastSetters : knownSetters(p);
    const setter = known === undefined ? undefined : known[key];
    if (setter === undefined || hasOwn(o, key)) return set(o, key, value, o);
    callForeign(setter, o, [value]);
    return true;
  },
};

// The setters of host prototypes that were found before, by name. A payload can change neither such a prototype nor those
// above it; an own property comes first, also the named control of a form.
const settersOf = weakMap();
let lastPrototype;
let lastSetters;

function knownSetters(p) {
  const known = settersOf.get(p);
  if (known !== undefined) {
    lastPrototype = p;
    lastSetters = known;
  }
  return known;
}

/** Remember what a write to `key` of an object that inherits from `p` calls, if all prototypes up to `holder` are the host's. */
function remember(p, holder, key, record) {
  for (let q = p; ; q = getPrototypeOf(q)) {
    if (!isProtected(q)) return;
    if (q === holder) break;
  }
  let known = settersOf.get(p);
  if (known === undefined) {
    known = { __proto__: null };
    settersOf.set(p, known);
  }
  known[key] = record;
}

/**
 * [[Set]] (ECMA-262 §10.1.9) of safe values: own setters and setters of the host are called as functions are.
 * @returns {boolean} whether the property was set
 */
export function set(o, key, value, self) {
  if (dead) checkAlive();
  if (exotic !== undefined) {
    const done = exotic.set(o, key, value, self);
    if (done !== undefined) return done;
  }
  for (let q = o; q !== null; q = getPrototypeOf(q)) {
    if (hasTraps(q)) return reflectSet(q, key, value, self);
    const property = ownDescriptor(q, key);
    if (property === undefined) continue;
    if (hasOwn(property, 'value')) {
      if (!property.writable) return false;
      break;
    }
    const setter = property.set;
    if (setter === undefined) return false;
    if (isOwn(setter)) apply(setter, self, [value]);
    else {
      const record = recordOf(setter);
      if (self === o && q !== o) remember(getPrototypeOf(o), q, key, record);
      callForeign(record, self, [value]);
    }
    return true;
  }
  if (!isObject(self)) return false;
  if (self !== o || !isExtensible(o) || !isExpando(o, key)) assertOpen(self);
  // Without a setter in the way the engine's own [[Set]] may run: named and indexed setters of the DOM are in it.
  return self === o ? reflectSet(o, key, value, o) : setOwn(self, key, value);
}

/** The end of OrdinarySet (ECMA-262 §10.1.9.2): `self` gets the value as a property of its own. @returns {boolean} */
export function setOwn(self, key, value) {
  const present = ownDescriptor(self, key);
  if (present === undefined) {
    return define(self, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  }
  return hasOwn(present, 'value') && present.writable && define(self, key, { __proto__: null, value });
}

let isNew;
/** Which names mean nothing to the language, the host and the run-time of another program; intrinsics/install.js provides it. */
export const onExpando = (judge) => { isNew = judge; };

/** Whether the payload may add `key` to the object or function `o`, which is not its own: nobody looks for such a property. */
export const isExpando = (o, key) => !dead && typeof key === 'string' && !has(o, key) && isNew(key);

onInheritedSet(set);

let exotic;
/** A profile's objects whose own properties do not say what a write does: {set(o, key, value, self),
 *  define(o, key, descriptor), isList(o), isDirect(prototype)}, the last for prototypes whose setters keep a text and do no more. */
export const onExotic = (rules) => { exotic = rules; };

// The prototype of own instances on which fields were defined last.
let lastFields;

/** Make sure that the engine may define properties on `o` by itself, such as the fields of a class. @throws a denial */
export function assertDefinable(o) {
  if (!isObject(o)) return;
  assertOpen(o);
  if (exotic === undefined || isOpaque(o)) return;
  const p = getPrototypeOf(o);
  if (p === null || p === lastFields || p === ObjectPrototype || p === ArrayPrototype) return;
  if (exotic.isList(o)) deny('dom-script-injection');
  const made = ownDescriptor(p, 'constructor');
  if (made !== undefined && typeof made.value === 'function' && isOwn(made.value)) lastFields = p;
}

let defineGlobal;
let facade;
/** How a property of the global object is defined; global.js provides it. */
export const onGlobalDefine = (global, define) => { facade = global; defineGlobal = define; };

/** [[DefineOwnProperty]] of a safe descriptor that has no prototype. @returns {boolean} */
export function define(o, key, property) {
  if (o === facade) return defineGlobal(key, property);
  if (exotic !== undefined) {
    const done = exotic.define(o, key, property);
    if (done !== undefined) return done;
  }
  if (!isOpaque(o)) assertOpen(o);
  if (isArray(o) && (property.get !== undefined || property.set !== undefined)) noteAccessor();
  return defineProperty(o, key, property);
}

/** [[Delete]]. @returns {boolean} */
export function remove(o, key) {
  if (!isOpaque(o)) assertOpen(o);
  return deleteProperty(o, key);
}

/** `delete o[key]`. */
export function del(o, key, strict) {
  if (o === undefined || o === null) throw new TypeError('Cannot convert undefined or null to object');
  key = toKey(key);
  const done = remove(isObject(o) ? o : ObjectCtor(o), key);
  if (strict && !done) throw new TypeError('Cannot delete property');
  return done;
}

/** `super.key = value`: [[Set]] of the prototype of `home` with `self` as the receiver. */
export function sw(home, key, value, self, strict) {
  key = toKey(key);
  if (key === '__proto__') deny('__proto__');
  const parent = getPrototypeOf(home);
  if (parent === null) throw new TypeError('Cannot set properties of null');
  if (!set(parent, key, value, self) && strict) throw new TypeError('Cannot assign to read only property');
  return value;
}
