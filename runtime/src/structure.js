// What the shape of a foreign value says about it, in any realm.
import { apply, getPrototypeOf, ownDescriptor, functionToString, stringIndexOf, hasOwn } from './natives.js';

/** A global object of any realm is a property of itself (ECMA-262 §19.1.1). Another origin's does not say, and counts. */
export function isGlobalObject(x) {
  try {
    const property = ownDescriptor(x, 'globalThis');
    return property !== undefined && hasOwn(property, 'value') && property.value === x;
  } catch {
    return true;
  }
}

/**
 * Whether `f` is a function constructor of any realm: its `prototype` is what it inherits from, or it inherits from such a
 * function, as the constructors of generators and asynchronous functions do.
 */
export function isFunctionConstructor(f) {
  for (let depth = 0; typeof f === 'function' && depth < 9; depth++) {
    const above = getPrototypeOf(f);
    const property = ownDescriptor(f, 'prototype');
    if (property !== undefined && typeof above === 'function' && hasOwn(property, 'value') && property.value === above) return true;
    f = above;
  }
  return false;
}

/** The name in the source text of a native function; '' for what is none, and for bound functions and proxies. */
export function nativeName(f) {
  const text = apply(functionToString, f, []);
  if (apply(stringIndexOf, text, ['[native code]']) < 0 || apply(stringIndexOf, text, ['function ']) !== 0) return '';
  let name = '';
  for (let i = 9; i < text.length && text[i] !== '('; i++) name += text[i];
  // A function of the page may contain these words; natives contain nothing else.
  if (text.length - 9 - name.length > 40) return '';
  // An engine that writes the body on a line of its own reads the name from the property, so that a Proxy may say any.
  if (apply(stringIndexOf, text, ['\n']) < 0) return name;
  const own = ownDescriptor(f, 'name');
  return own !== undefined && own.value === name ? name : '';
}
