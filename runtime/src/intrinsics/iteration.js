/** Iterators (ECMA-262 §27.1), promises (§27.2) and errors (§20.5). */

import { apply, ownDescriptor, isObject, ownKeys, createDataProperty } from '../natives.js';
import { v } from '../membrane.js';
import { writable } from '../writes.js';
import { iteratorFrom, mapIterator } from './captured.js';
import { at } from './arguments.js';
import { statics } from './array.js';

/** An operation that defines a property of its receiver. */
const defines = (self, args, real) => {
  if (isObject(self)) writable(self);
  return apply(real, self, args);
};

export const iteration = {
  // SetterThatIgnoresPrototypeProperties (§7.3.34) defines a property of whatever it is called on.
  '%IteratorPrototype%': { 'set constructor': defines, 'set @@toStringTag': defines },
  Iterator: {
    // Values become properties under names that the payload chooses.
    zipKeyed(self, args, real) {
      const given = at(args, 0);
      if (!isObject(given)) return apply(real, undefined, args);
      const safe = { __proto__: null };
      const keys = ownKeys(given);
      for (let i = 0; i < keys.length; i++) {
        const property = ownDescriptor(given, keys[i]);
        if (!property || !property.enumerable) continue;
        const x = v(given[keys[i]]);
        createDataProperty(safe, keys[i], isObject(x) ? apply(mapIterator, apply(iteratorFrom, undefined, [x]), [v]) : x);
      }
      return apply(real, undefined, args.length > 1 ? [safe, args[1]] : [safe]);
    },
  },
  Promise: { 'all|allSettled|any|race|reject|resolve|try|withResolvers': statics },
  Error: {
    captureStackTrace(self, args, real) {
      if (isObject(at(args, 0))) writable(args[0]);
      return apply(real, undefined, args);
    },
    'get prepareStackTrace': 'call-sites',
    'set prepareStackTrace': 'call-sites',
  },
};
