// What the payload must not write to.
import { ObjectPrototype, ArrayPrototype, ownDescriptor, weakSet, hasOwn, isObject } from './natives.js';
import { deny, dead, checkAlive } from './denial.js';
import { isOwn } from './own.js';
import { isKept, unwrap } from './membrane.js';

const protectedObjects = weakSet();

/** The payload must not write to `object`. */
export const protect = (object) => { protectedObjects.add(object); };

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

/** `o`, if the payload may write to it. @throws a denial */
export function writable(o) {
  if (dead) checkAlive();
  if (isObject(o) && isProtected(o)) deny('prototype-tampering');
  return o;
}

protect(ObjectPrototype);
protect(ArrayPrototype);
