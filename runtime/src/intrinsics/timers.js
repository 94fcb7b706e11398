/** Functions that run a function later, and the few others that every realm has beside ECMA-262's. */

import { apply, G, get, getPrototypeOf, has, isObject, ObjectPrototype, ownKeys, ownDescriptor, weakSet } from '../natives.js';
import { deny } from '../denial.js';
import { labelOf, listed, own, unwrap } from '../membrane.js';
import { addHostKind, protect } from '../protection.js';
import { at } from './arguments.js';
import { behave, lookUp } from './table.js';

/** A timer takes a function. Text is not recognised by exclusion: an array or object becomes text, too. */
const assertFunction = (f) => {
  if (typeof f !== 'function') deny('string-timer');
  const label = labelOf(f);
  if (label !== undefined) deny(label);
};

const madeTimers = weakSet();

const timer = (self, args, real) => {
  assertFunction(at(args, 0));
  const made = apply(real, undefined, args);
  // Node's timers are objects whose methods (`unref`, `refresh`) no name leads to.
  // The host chains them by properties of their own, which are not the payload's to write.
  if (isObject(made)) {
    protect(made);
    madeTimers.add(made);
  }
  const kind = isObject(made) ? getPrototypeOf(made) : null;
  if (kind !== null && kind !== ObjectPrototype) {
    // One timer leads to those of the host.
    addHostKind(kind);
    const keys = ownKeys(kind);
    for (let i = 0; i < keys.length; i++) {
      const property = ownDescriptor(kind, keys[i]);
      if (typeof property.value === 'function') listed(property.value);
    }
  }
  return made;
};

/** A function of the global object that does not look at its receiver, which may be the facade. */
const free = (self, args, real) => apply(real, undefined, args);

/** A host that keeps timers in objects writes to what it clears: it gets only those that it has made. */
const clear = (self, args, real) => {
  const timer = unwrap(at(args, 0));
  return isObject(timer) && !madeTimers.has(timer) ? undefined : apply(real, undefined, [timer]);
};

export const timers = {
  '': {
    'setTimeout|setInterval|setImmediate': timer,
    'clearTimeout|clearInterval|clearImmediate': clear,
    queueMicrotask(self, args, real) {
      assertFunction(at(args, 0));
      return apply(real, undefined, args);
    },
    'structuredClone|atob|btoa': free,
  },
};

const NAMES = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask',
  'structuredClone', 'atob', 'btoa'];

/** Make known by their global names what a host has made itself, which no name of a function tells. */
export const installTimers = () => {
  for (let i = 0; i < NAMES.length; i++) {
    const real = has(G, NAMES[i]) ? get(G, NAMES[i]) : undefined;
    if (typeof real === 'function' && !own(real)) behave(real, lookUp(timers, '', NAMES[i]));
  }
};
