/**
 * What `JSON.stringify` writes (ECMA-262 §25.5.2.2), as a tree without methods. The native calls each `toJSON` that it finds with the name
 * of the property: where a function of the page may have put a raw one there, the run-time calls them.
 */

import { apply, createDataProperty, defineProperty, getPrototypeOf, isArray, isObject, ObjectPrototype, ownDescriptor, ownKeys, StringCtor }
  from '../natives.js';
import { invoke, v } from '../membrane.js';
import { onSerialising } from '../intrinsics/json.js';
import { prototypeRead } from '../reads.js';
import { bigintValue, booleanValue, isRawJSON, numberValue, stringValue } from './captured.js';

const primitiveOf = (read, x) => {
  try {
    return apply(read, x, []);
  } catch {
    return undefined;
  }
};

/** What an object for a primitive is written as; any other object is itself. */
const unboxed = (x) => {
  const above = getPrototypeOf(x);
  if (above === ObjectPrototype || above === null || isArray(x)) return x;
  if (primitiveOf(numberValue, x) !== undefined) return +x;
  if (primitiveOf(stringValue, x) !== undefined) return StringCtor(x);
  return primitiveOf(booleanValue, x) ?? primitiveOf(bigintValue, x) ?? x;
};

/** The own names of `x` that are written. */
const namesOf = (x) => {
  const keys = ownKeys(x);
  const names = [];
  for (let i = 0; i < keys.length; i++) {
    if (typeof keys[i] === 'string' && ownDescriptor(x, keys[i])?.enumerable) createDataProperty(names, names.length, keys[i]);
  }
  return names;
};

/** `list`, in which the native finds no `toJSON` of the page's. */
const withoutMethod = (list) => {
  defineProperty(list, 'toJSON', { __proto__: null, value: undefined });
  return list;
};

/** The tree of `root`; `replacer` is a function or undefined, `picked` the list of names that objects have alone, or undefined. */
export const treeOf = (root, replacer, picked) => {
  const ancestors = { __proto__: null, length: 0 };

  const copyOf = (value) => {
    // The native finds the cycle, and says so.
    for (let i = 0; i < ancestors.length; i++) if (ancestors[i].value === value) return ancestors[i].copy;
    const isList = isArray(value);
    const copy = isList ? withoutMethod([]) : { __proto__: null };
    ancestors[ancestors.length++] = { __proto__: null, value, copy };
    const names = isList ? value : picked ?? namesOf(value);
    const { length } = names;
    for (let i = 0; i < length; i++) {
      const key = isList ? '' + i : names[i];
      createDataProperty(copy, key, written(value, key, key === '__proto__' ? prototypeRead(value) : v(value[key])));
    }
    ancestors.length--;
    return copy;
  };

  const written = (holder, key, held) => {
    let value = held;
    const method = isObject(value) || typeof value === 'bigint' ? v(value.toJSON) : undefined;
    if (typeof method === 'function') value = invoke(method, value, [key]);
    if (replacer !== undefined) value = invoke(replacer, holder, [key, value]);
    if (!isObject(value)) return value;
    if (typeof value === 'function') return undefined;
    if (isRawJSON !== undefined && apply(isRawJSON, undefined, [value])) return value;
    const plain = unboxed(value);
    return plain === value ? copyOf(value) : plain;
  };

  return written({ '': root }, '', root);
};

/** Have `JSON.stringify` write trees once the payload has met a function of the page's. */
export const installSerialising = () => { onSerialising(treeOf); };
