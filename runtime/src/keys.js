// Property keys. A key is converted once; what is used and what was checked are the same value.
import { ownKeys, symbols } from './natives.js';
import { deny } from './denial.js';
import { p } from './functions.js';

/** ToPropertyKey (ECMA-262 §7.1.19): the engine's own conversion, done by making a property of that name. */
export function toKey(key) {
  if (typeof key === 'string' || typeof key === 'symbol') return key;
  if (typeof key === 'number') return '' + key;
  return ownKeys({ __proto__: null, [p(key)]: 0 })[0];
}

/** The key of a write. `__proto__` would give the object another prototype. Numbers stay numbers, which is faster. */
export function k(key) {
  if (typeof key === 'number' || typeof key === 'symbol') return key;
  if (typeof key !== 'string') key = toKey(key);
  if (key === '__proto__') deny('__proto__');
  return key;
}

/**
 * The key of a write to a member. An object is converted, once, when the engine asks for the key: after it has looked at the
 * base, and after the value of an assignment (ECMA-262 §13.15.2).
 */
export function kw(key) {
  if (typeof key === 'object' ? key === null : typeof key !== 'function') return k(key);
  let known;
  return { __proto__: null, [symbols.toPrimitive]: () => (known === undefined ? (known = k(key)) : known) };
}
