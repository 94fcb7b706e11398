// What the payload must not write to.
import { ObjectPrototype, ArrayPrototype, getPrototypeOf, isView, ownDescriptor, ownKeys, weakSet, hasOwn, isObject } from './natives.js';
import { deny, dead, checkAlive } from './denial.js';
import { isOwn } from './own.js';
import { isKept, isOpaque, unwrap } from './membrane.js';

const protectedObjects = weakSet();

/** The payload must not write to `object`. */
export const protect = (object) => { protectedObjects.add(object); };

const extensibles = weakSet();

/** The payload must not write to `namespace`, but may add a property whose name means nothing (`onExpando` of writes.js). */
export const extensible = (namespace) => {
  protect(namespace);
  extensibles.add(namespace);
};

/** Whether `o` may get properties whose names mean nothing. */
export const isExtensible = (o) => extensibles.has(o);

/**
 * Whether the payload must not write to `o`: what was protected, a foreign function, and what is the `prototype` of a
 * foreign constructor.
 */
export function isProtected(o) {
  if (typeof o === 'function') return !isOwn(o) && !isKept(o);
  if (protectedObjects.has(o)) return true;
  if (isKept(o)) return false;
  const property = ownDescriptor(o, 'constructor');
  if (property === undefined || !hasOwn(property, 'value') || typeof property.value !== 'function' || isOwn(property.value)) return false;
  const prototype = ownDescriptor(unwrap(property.value), 'prototype');
  return prototype !== undefined && hasOwn(prototype, 'value') && prototype.value === o;
}

/** Whether a list protects `o`; a quick test that misses prototypes of host constructors. */
export const isListedProtected = (o) => protectedObjects.has(o);

// Prototypes of the host's whose instances may be shared with it.
const hostKinds = weakSet();
/** The payload must not give instances of the host's class with this prototype properties of their own. */
export const addHostKind = (prototype) => { hostKinds.add(prototype); };

/** Make sure that `o` may get a property of its own, or lose one. @throws a denial */
export function assertOpen(o) {
  writable(o);
  if (isObject(o) && !isOpaque(o) && !isView(o)) {
    const above = getPrototypeOf(o);
    if (above !== null && hostKinds.has(above)) deny('prototype-tampering');
  }
}

/**
 * `p`, which the payload gets as the prototype of something. One that holds a function of the host's or of the language's is
 * theirs, although it has no constructor: those of iterators, for example. What the payload puts into an object is safe.
 */
export function asPrototype(p) {
  if (!isObject(p) || typeof p !== 'object' || isOpaque(p) || protectedObjects.has(p)) return p;
  const keys = ownKeys(p);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(p, keys[i]);
    if (property === undefined || keys[i] === 'constructor') continue;
    if (isForeign(property.value) || isForeign(property.get) || isForeign(property.set)) {
      protect(p);
      break;
    }
  }
  return p;
}

const isForeign = (f) => typeof f === 'function' && !isOwn(f) && !isOpaque(f);

/** `o`, if the payload may write to it. @throws a denial */
export function writable(o) {
  if (dead) checkAlive();
  if (isObject(o) && isProtected(o)) deny('prototype-tampering');
  return o;
}

protect(ObjectPrototype);
protect(ArrayPrototype);
