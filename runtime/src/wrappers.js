// What the payload holds instead of a foreign function: a Proxy that calls and reads it through the membrane.
import {
  apply, getPrototypeOf, deleteProperty, ownDescriptor, ownKeys, defineProperty, has, newProxy, reflectSet, weakMap,
  functionBind, hasOwn,
} from './natives.js';
import { readOfFunction } from './reads.js';
import { deny } from './denial.js';
import { a, v, above, callForeign, instantiate, invoke, isOfThePage, onWrapping, pageValue } from './membrane.js';

const wrapped = weakMap();

/** A wrapper of the function of `record`. */
function wrapper(record) {
  const bound = apply(functionBind, record.real, [undefined]);
  wrapped.set(bound, record);
  return newProxy(bound, traps);
}

/** Make the elements of a list that the engine has just made safe. */
function safeList(list) {
  for (let i = 0; i < list.length; i++) list[i] = a(list[i]);
  return list;
}

const tampering = () => deny('prototype-tampering');

/** Whether a payload may write to a foreign function: one of the page's is an object of the page, all others are the realm's. */
const isWritable = (record, key) => isOfThePage(record) && key !== 'prototype' && key !== 'constructor';

function setOnFunction(record, key, value) {
  if (!isWritable(record, key)) tampering();
  for (let q = record.real; q !== null; q = getPrototypeOf(q)) {
    const property = ownDescriptor(q, key);
    if (property === undefined) continue;
    if (hasOwn(property, 'value')) break;
    if (property.set === undefined) return false;
    invoke(property.set, record.safe, [value]);
    return true;
  }
  return reflectSet(record.real, key, pageValue(value), record.real);
}

const traps = {
  __proto__: null,
  apply(bound, self, args) { return callForeign(wrapped.get(bound), v(self), safeList(args)); },
  construct(bound, args, newTarget) {
    const record = wrapped.get(bound);
    return instantiate(record.safe, safeList(args), v(newTarget));
  },
  get(bound, key, self) {
    if (key === 'caller' || key === 'arguments') deny('arguments.callee');
    const record = wrapped.get(bound);
    if (key === '__proto__') return v(getPrototypeOf(record.real));
    // An accessor above a native is the page's own, and gets what the payload has.
    return v(readOfFunction(record.real, key, self === record.safe && isOfThePage(record) ? record.real : self));
  },
  set(bound, key, value, self) {
    const record = wrapped.get(bound);
    if (self === record.safe) return setOnFunction(record, key, value);
    return inheritedSet(record.real, key, value, self);
  },
  has: (bound, key) => has(wrapped.get(bound).real, key),
  ownKeys: (bound) => ownKeys(wrapped.get(bound).real),
  getOwnPropertyDescriptor(bound, key) {
    const property = ownDescriptor(wrapped.get(bound).real, key);
    if (property === undefined) return undefined;
    // The target has no such property, so that only a configurable one may be reported (ECMA-262 §10.5.5).
    return safeDescriptor(property, true);
  },
  getPrototypeOf: (bound) => above(wrapped.get(bound).real),
  defineProperty(bound, key, property) {
    const record = wrapped.get(bound);
    if (!isWritable(record, key)) tampering();
    const fields = ownKeys(property);
    const copy = { __proto__: null };
    for (let i = 0; i < fields.length; i++) copy[fields[i]] = property[fields[i]];
    return defineProperty(record.real, key, copy);
  },
  deleteProperty(bound, key) {
    const record = wrapped.get(bound);
    if (!isWritable(record, key)) tampering();
    return deleteProperty(record.real, key);
  },
  setPrototypeOf: tampering,
  preventExtensions: tampering,
};

/** A property descriptor that the engine has made, with safe values. */
export function safeDescriptor(property, configurable = property.configurable) {
  const { enumerable } = property;
  return hasOwn(property, 'value')
    ? { __proto__: null, value: v(property.value), writable: property.writable, enumerable, configurable }
    : { __proto__: null, get: v(property.get), set: v(property.set), enumerable, configurable };
}

let inheritedSet;
/** How [[Set]] goes on at a foreign parent; writes.js provides it. */
export const onInheritedSet = (set) => { inheritedSet = set; };

onWrapping(wrapper);
