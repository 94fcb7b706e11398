/** Iterators (ECMA-262 §27.1), promises (§27.2) and errors (§20.5). */

import { apply, construct, get, getPrototypeOf, isUnnamedNative, newProxy, ownDescriptor, isObject, ownKeys, createDataProperty, PromisePrototype } from '../natives.js';
import { alias, invoke, isListed, isOpaque, listed, own, pageHelps, unwrap, v } from '../membrane.js';
import { safeView } from './views.js';
import { assertOpen } from '../protection.js';
import { iteratorFrom, mapIterator } from './captured.js';
import { at } from './arguments.js';
import { statics } from './array.js';
import { intrinsicConstructor } from './constructors.js';

/** An operation that defines a property of its receiver. */
const defines = (self, args, real) => {
  if (isObject(self)) assertOpen(self);
  return apply(real, self, args);
};

/** A method that calls `then` of its receiver. */
const continues = (self, args, real) => {
  const isPlain = !isObject(self) || !isOpaque(self) && getPrototypeOf(self) === PromisePrototype && !ownDescriptor(self, 'then');
  return apply(real, isPlain ? self : safeView(self), args);
};

/** A static method that calls the method `resolve` of its receiver, which a function of the page may have put there. */
const combines = (self, args, real) => {
  const C = intrinsicConstructor(self);
  if (!pageHelps || C !== self || typeof C !== 'function') return apply(real, C, args);
  const view = newProxy(C, { __proto__: null, get: (_, key) => v(get(C, key)), construct: (_, list) => construct(C, list) });
  alias(view, C);
  return apply(real, view, args);
};

/** An executor's functions to settle a promise, made by the engine, are called by whoever has them. */
const settling = (executor) => (resolve, reject) => {
  listed(resolve);
  listed(reject);
  invoke(executor, undefined, [v(resolve), v(reject)]);
};

/** `new Promise(executor)`. A subclass that the engine constructs passes on the executor that the engine has made. */
const promise = (args, newTarget, real) => {
  const executor = at(args, 0);
  if (typeof executor !== 'function') return construct(real, args, newTarget);
  const inner = unwrap(executor);
  const ofTheEngine = inner !== executor && isListed(executor) && isUnnamedNative(inner);
  return construct(real, [ofTheEngine ? inner : settling(executor)], newTarget);
};

/** What `zip` gives: QuickJS makes its methods anew for each iterator. */
const stepping = (iterator) => {
  for (let i = 0; i < 2; i++) {
    const method = ownDescriptor(iterator, i ? 'next' : 'return')?.value;
    if (typeof method === 'function' && !own(method)) listed(method);
  }
  return iterator;
};

export const iteration = {
  '': { Promise: { construct: promise } },
  // SetterThatIgnoresPrototypeProperties (§7.3.34) defines a property of whatever it is called on.
  '%IteratorPrototype%': { 'set constructor': defines, 'set @@toStringTag': defines },
  Iterator: {
    zip: (self, args, real) => stepping(apply(real, undefined, args)),
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
      return stepping(apply(real, undefined, args.length > 1 ? [safe, args[1]] : [safe]));
    },
  },
  Promise: {
    'all|allSettled|any|race|allKeyed|allSettledKeyed': combines,
    withResolvers(self, args, real) {
      const made = statics(self, args, real);
      if (!own(made.resolve)) listed(made.resolve);
      if (!own(made.reject)) listed(made.reject);
      return made;
    },
  },
  'Promise.prototype': { 'catch|finally': continues },
  Error: {
    captureStackTrace(self, args, real) {
      if (isObject(at(args, 0))) assertOpen(args[0]);
      return apply(real, undefined, args);
    },
    'get prepareStackTrace': 'call-sites',
    'set prepareStackTrace': 'call-sites',
  },
};
