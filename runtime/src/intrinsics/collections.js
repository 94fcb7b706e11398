/** Maps and sets (ECMA-262 §24): constructors and set operations call methods that the payload may have chosen. */

import { apply, construct, getPrototypeOf, isObject, ownKeys, SetPrototype, TypeError } from '../natives.js';
import { invoke, isOpaque, v } from '../membrane.js';
import { it } from '../patterns.js';
import { at } from './arguments.js';
import { safeView } from './views.js';

/** Key and value of an entry. */
const pair = (x) => {
  if (!isObject(x)) throw new TypeError('Iterator value is not an entry object');
  return [v(x[0]), v(x[1])];
};

/** The constructor of a collection: what a subclass adds its elements with is called as the payload would call it. */
const collection = (name, parts) => ({
  construct(args, newTarget, real) {
    const source = at(args, 0);
    if (newTarget === real || source === undefined || source === null) return construct(real, args, newTarget);
    const made = construct(real, [], newTarget);
    const add = v(made[name]);
    if (typeof add !== 'function') throw new TypeError(`'${name}' is not a function`);
    const elements = it(source);
    for (;;) {
      const element = elements.n();
      if (elements.done) return made;
      try {
        invoke(add, made, parts(element));
      } catch (error) {
        try {
          elements.c();
        } catch {
          // The first error counts (ECMA-262 §7.4.11).
        }
        throw error;
      }
    }
  },
});

/** A set operation: GetSetRecord (§24.2.1.2) reads methods of its argument, which are called. */
const combines = (self, args, real) => {
  const other = at(args, 0);
  if (!isObject(other) || !isOpaque(other) && getPrototypeOf(other) === SetPrototype && ownKeys(other).length === 0) return apply(real, self, args);
  return apply(real, self, [safeView(other)]);
};

const single = (x) => [x];

export const collections = {
  '': {
    'Map|WeakMap': collection('set', pair),
    'Set|WeakSet': collection('add', single),
  },
  'Set.prototype': {
    'union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom': combines,
  },
};
