/** `Function.prototype` (ECMA-262 §20.2.3, annex B.2) and the conversion of a function to text. */

import { apply, functionBind, functionToString, isObject, TypeError } from '../natives.js';
import { io, boundTo, targetOf } from '../instance.js';
import { invoke, keep, keepPlain, own, unwrap, v } from '../membrane.js';
import { p, textOf } from '../functions.js';
import { at } from './arguments.js';

const assertCallable = (f) => {
  if (typeof f !== 'function') throw new TypeError('Function.prototype method called on what is not callable');
  return f;
};

// Rest parameters make a new array of own properties at the speed of the engine, whatever the realm's prototypes hold.
const gather = (...list) => list;
const gatherRest = (_, ...list) => list;

/** CreateListFromArrayLike (§7.3.19). The elements may lie raw in a foreign list. */
const listOf = (from) => {
  if (from === undefined || from === null) return [];
  if (!isObject(from)) throw new TypeError('CreateListFromArrayLike called on non-object');
  const list = apply(gather, undefined, from);
  for (let i = 0; i < list.length; i++) list[i] = v(list[i]);
  return list;
};

const text = (f) => (own(f) ? textOf(f) : apply(functionToString, unwrap(f), []));

export const functions = {
  'Function.prototype': {
    call: (self, args) => invoke(assertCallable(self), at(args, 0), apply(gatherRest, undefined, args)),
    apply: (self, args) => invoke(assertCallable(self), at(args, 0), listOf(at(args, 1))),
    // A function bound to safe values may be called by anybody, as what it is bound to may.
    bind: (self, args) => keepPlain(keep(boundTo(self, apply(functionBind, assertCallable(self), args)))),
    '@@hasInstance': (self, args, real) => (targetOf(self) === undefined ? apply(real, self, args) : at(args, 0) instanceof io(targetOf(self))),
    toString: (self) => text(self),
    'get caller|set caller|get arguments|set arguments': 'arguments.callee',
  },
  Reflect: {
    apply(self, args) {
      const given = at(args, 2);
      if (!isObject(given)) throw new TypeError('CreateListFromArrayLike called on non-object');
      return invoke(assertCallable(at(args, 0)), at(args, 1), listOf(given));
    },
  },
  '': {
    // The engine would print a function as it stands in P′.
    String: {
      call(self, args, real) {
        if (args.length > 0) args[0] = p(args[0]);
        return apply(real, undefined, args);
      },
    },
  },
};
