// `x instanceof F`: the engine calls the method Symbol.hasInstance of F (ECMA-262 §13.10.2).
import { FunctionPrototype, get, isObject, newProxy, symbols, weakMap } from './natives.js';
import { isOwn } from './own.js';
import { v } from './membrane.js';

const { hasInstance } = symbols;
const ordinary = FunctionPrototype[hasInstance];

// What functions are bound to: the engine asks that, without a look at the one that is bound.
const targets = weakMap();

/** `bound`, a function that is bound to `target`. */
export const boundTo = (target, bound) => {
  targets.set(bound, target);
  return bound;
};

/** What `f` is bound to; undefined for what is not bound. */
export const targetOf = (f) => targets.get(f);

/** `F`, if the method is safe to call; else an object that has a safe one. */
export function io(F) {
  if (!isObject(F)) return F;
  const method = F[hasInstance];
  if (method === ordinary && targets.get(F) !== undefined) return io(targets.get(F));
  if (method === ordinary || typeof method !== 'function' || isOwn(method) || v(method) === method) return F;
  return newProxy(F, { __proto__: null, get: (target, key) => v(get(target, key)) });
}
