// Reads that the run-time is asked about: `__proto__`, the window of a frame, which no read may reach, and the last match.
// Reads of `__proto__`: the realm's accessor of that name is never called: a page may have replaced it, and what it
// answers is known.
import { apply, get, getPrototypeOf, hasOwn, isObject, newProxy, ownDescriptor, ToObject } from './natives.js';
import { p } from './functions.js';
import { isOwn } from './own.js';
import { hasTraps } from './membrane.js';
import { asPrototype } from './protection.js';

const NAME = '__proto__';

/**
 * `o.__proto__` for the receiver `self`: a property of that name, as far as the realm's accessor, which gives the prototype
 * of the receiver.
 */
export function prototypeRead(o, self = o) {
  for (let q = ToObject(o); q !== null; q = getPrototypeOf(q)) {
    // What a Proxy answers may be the prototype that the realm's accessor gives.
    if (hasTraps(q)) return asPrototype(get(q, NAME, self));
    const property = ownDescriptor(q, NAME);
    if (property === undefined) continue;
    if (hasOwn(property, 'value')) return property.value;
    const getter = property.get;
    if (getter === undefined) return undefined;
    return isOwn(getter) ? apply(getter, self, []) : asPrototype(getPrototypeOf(ToObject(self)));
  }
  return undefined;
}

/** [[Get]] of a key that may be `__proto__`. */
export const read = (o, key, self) => {
  if (key === NAME) return prototypeRead(o, self);
  if (isWindowKey(key)) windowRead(self);
  return readOfFunction(o, key, self);
};

const isWindowKey = (key) => key === 'contentWindow' || key === 'contentDocument';

let windowRead = () => {};
/** A profile's test of an object whose `contentWindow` or `contentDocument` is about to be read. */
export const onWindowRead = (judge) => { windowRead = judge; };

// Accessors of RegExp that tell of the realm's last match.
const MATCHES = { __proto__: null, input: true, lastMatch: true, lastParen: true, leftContext: true, rightContext: true };
for (let i = 0; i < 14; i++) MATCHES['$' + '123456789_&+`\''[i]] = true;

let matchRead = get;
/** How such a name is read of an object for a receiver. */
export const onMatchRead = (how) => { matchRead = how; };

/** [[Get]] of what stands for a foreign function: no spelling of a read, and no receiver, tells of another's match. */
export const readOfFunction = (o, key, self) => (MATCHES[key] === true ? matchRead(o, key, self) : get(o, key, self));

const reader = {
  __proto__: null,
  get({ o, key }, name) {
    // The engine's text of an own function is that of P′.
    const text = p(key);
    return read(ToObject(o), text === key ? name : text, o);
  },
};

/** `o`, if reading `key` of it calls no accessor `__proto__`; else an object that answers in its place. */
export function r(o, key) {
  if (typeof key === 'string') {
    if (key === NAME && o !== undefined && o !== null) return { __proto__: null, [NAME]: prototypeRead(o) };
    if (isWindowKey(key)) windowRead(o);
    return MATCHES[key] === true && o !== undefined && o !== null ? { __proto__: null, [key]: matchRead(ToObject(o), key, o) } : o;
  }
  // An object is converted to a key once, by the read itself, and after `o` was found to be an object.
  return o === undefined || o === null || !isObject(key) ? o : newProxy({ __proto__: null, o, key }, reader);
}
