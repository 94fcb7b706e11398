/** `Proxy` (ECMA-262 §28.2). */

import { apply, create, isArray, isObject, newProxy, ownDescriptor, reflect, TypeError } from '../natives.js';
import { keep, listed, v } from '../membrane.js';
import { read } from '../reads.js';
import { writable } from '../protection.js';
import { noteProxy } from '../shared.js';
import { define, remove, set } from '../writes.js';
import { at } from './arguments.js';
import { reparent } from './reflection.js';
import { isHidden } from './symbols.js';

/** What a proxy does where its handler has no trap: the operation on the target, checked as the payload's own. */
const changes = {
  __proto__: null,
  set,
  defineProperty: define,
  deleteProperty: remove,
  setPrototypeOf: reparent,
  preventExtensions: (target) => reflect.preventExtensions(writable(target)),
};

const NAMES = ['get', 'set', 'has', 'deleteProperty', 'defineProperty', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'setPrototypeOf',
  'isExtensible', 'preventExtensions', 'ownKeys', 'apply', 'construct'];

const isAbsent = (trap) => trap === undefined || trap === null;

/**
 * Whether the length of an array is set through its own proxy. That would come back to the target by way of the traps that
 * define it, which QuickJS takes for inconsistent.
 */
const setsLength = (args, about, handler) => args[1] === 'length' && args[3] === about.proxy && isArray(args[0]) &&
  isAbsent(handler.getOwnPropertyDescriptor) && isAbsent(handler.defineProperty);

/** The handler that the engine sees: all its traps are safe, also where a foreign object is the payload's handler. */
const traps = (handler, about) => {
  const made = create(null);
  for (let i = 0; i < NAMES.length; i++) {
    const name = NAMES[i];
    made[name] = (...args) => {
      const trap = name !== 'apply' && isHidden(args[1]) ? undefined : v(handler[name]);
      if (isAbsent(trap) && name === 'set' && setsLength(args, about, handler)) args[3] = args[0];
      if (isAbsent(trap) && name !== 'get') return apply(changes[name] || reflect[name], undefined, args);
      const result = v(isAbsent(trap) ? read(args[0], args[1], args[2]) : apply(trap, handler, args));
      if (name === 'get') {
        // The invariant of [[Get]] (§10.5.8) compares with the value that the target holds.
        const property = ownDescriptor(args[0], args[1]);
        if (property && !property.configurable && !property.writable && v(property.value) === result) return property.value;
      }
      return result;
    };
  }
  return made;
};

/** ProxyCreate (§10.5.14). A proxy is a safe value: what it does is done by safe functions. */
const make = (args, maker) => {
  const target = at(args, 0);
  const handler = at(args, 1);
  if (!isObject(target) || !isObject(handler)) throw new TypeError('Cannot create proxy with a non-object as target or handler');
  const about = { __proto__: null, proxy: undefined, made: undefined };
  about.made = maker(target, traps(handler, about));
  return about;
};

export const proxies = {
  '': { Proxy: { construct(args) {
    const about = make(args, newProxy);
    noteProxy(about.made);
    return keep(about.proxy = about.made);
  } } },
  Proxy: {
    revocable(self, args, real) {
      const about = make(args, real);
      noteProxy(about.made.proxy);
      keep(about.proxy = about.made.proxy);
      listed(about.made.revoke);
      return about.made;
    },
  },
};
