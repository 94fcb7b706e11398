// `x instanceof F`: the engine calls the method Symbol.hasInstance of F (ECMA-262 §13.10.2).
import { FunctionPrototype, get, isObject, newProxy, symbols } from './natives.js';
import { isOwn } from './own.js';
import { v } from './membrane.js';

const { hasInstance } = symbols;
const ordinary = FunctionPrototype[hasInstance];

/** `F`, if the method is safe to call; else an object that has a safe one. */
export function io(F) {
  if (!isObject(F)) return F;
  const method = F[hasInstance];
  if (method === ordinary || typeof method !== 'function' || isOwn(method) || v(method) === method) return F;
  return newProxy(F, { __proto__: null, get: (target, key) => v(get(target, key)) });
}
