/** Functions that run a function later, and the few others that every realm has beside ECMA-262's. */

import {
  apply, create, createDataProperty, freeze, G, get, getPrototypeOf, has, isArray, isObject, ObjectPrototype, symbols, TypeError, weakMap, weakSet,
} from '../natives.js';
import { deny } from '../denial.js';
import { keep, keepPlain, labelOf, own, standIn, unwrap } from '../membrane.js';
import { isForged } from '../shared.js';
import { onName } from '../forging.js';
import { protect } from '../protection.js';
import { at } from './arguments.js';
import { assertSafeInside, copiedData } from './deep.js';
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
  if (!isObject(made)) return made;
  madeTimers.add(made);
  const kind = getPrototypeOf(made);
  if (kind !== null && kind !== ObjectPrototype) return keepPlain(standIn(made, view(made), null));
  protect(made);
  return made;
};

const timersOf = weakMap();
let kindOfView;

/**
 * What the payload holds instead of Node's object for a timer. The host chains those by properties, writes to what it finds
 * there, and its methods do so with any receiver: no object of the payload's may inherit from one.
 */
function view(made) {
  if (kindOfView === undefined) {
    const kind = create(ObjectPrototype);
    for (let i = 0; i < METHODS.length; i++) if (METHODS[i] !== undefined) createDataProperty(kind, METHODS[i], method(METHODS[i]));
    protect(freeze(kind));
    kindOfView = kind;
  }
  const safe = create(kindOfView);
  timersOf.set(safe, made);
  return freeze(safe);
}

const METHODS = ['close', 'ref', 'unref', 'hasRef', 'refresh', symbols.toPrimitive, symbols.dispose];

/** A method of the views: the host's own, of a timer that the run-time has made. */
function method(key) {
  const { call } = { call() {
    const real = isObject(this) ? timersOf.get(this) : undefined;
    const f = real === undefined ? undefined : get(real, key);
    if (typeof f !== 'function') throw new TypeError('not a timer');
    const result = apply(f, real, []);
    return isObject(result) ? this : result;
  } };
  return keepPlain(keep(freeze(call)));
}

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
    structuredClone(self, args, real) {
      if (typeof at(args, 0) !== 'object' || !isObject(args[0])) return free(self, args, real);
      if (!isObject(at(args, 1))) {
        args[0] = copiedData(args[0]);
        return free(self, args, real);
      }
      // What is transferred has to be in the data itself.
      const given = get(args[1], 'transfer');
      const transfer = [];
      for (let i = 0; isArray(given) && i < given.length; i++) createDataProperty(transfer, i, get(given, i));
      args[1] = { __proto__: null, transfer };
      assertSafeInside(args[0]);
      return free(self, args, real);
    },
    'atob|btoa': free,
  },
};

const NAMES = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask',
  'structuredClone', 'atob', 'btoa'];

/** Make known by their global names what a host has made itself, which no name of a function tells. */
export const installTimers = () => {
  onName((name) => {
    for (let i = 0; i < NAMES.length; i++) if (NAMES[i] === name) return true;
    return false;
  });
  for (let i = 0; i < NAMES.length; i++) {
    const real = has(G, NAMES[i]) && !isForged(NAMES[i]) ? get(G, NAMES[i]) : undefined;
    if (typeof real === 'function' && !own(real)) behave(real, lookUp(timers, '', NAMES[i]));
  }
};
