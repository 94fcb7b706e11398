/** Where the intrinsics of the realm are: the objects that only syntax leads to, and the holders of all others. */

import { apply, ArrayIteratorPrototype, createDataProperty, FunctionPrototype, G, getPrototypeOf, hasOwn, includes, isObject, iteratorSymbol, ownDescriptor, ownKeys,
  split, symbols } from '../natives.js';
import { isForged } from '../shared.js';
import { iteratorConcat, iteratorFrom, mapIterator } from './captured.js';

/** The value of an own data property. */
export const valueOf = (o, key) => {
  const property = ownDescriptor(o, key);
  return property && property.value;
};

const generator = getPrototypeOf(function* () {});
const asyncGenerator = getPrototypeOf(async function* () {});
const iteratorOf = (x) => getPrototypeOf(x[iteratorSymbol]());

/** Intrinsics that no name leads to (ECMA-262 §6.1.7.4), and the paths under which handlers are for some of them. */
const hidden = [
  FunctionPrototype, getPrototypeOf(async () => 0), generator, generator.prototype, asyncGenerator, asyncGenerator.prototype,
  getPrototypeOf(ArrayIteratorPrototype), getPrototypeOf(asyncGenerator.prototype), ArrayIteratorPrototype,
  iteratorOf(new Map()), iteratorOf(new Set()), iteratorOf(''), getPrototypeOf(/x/[symbols.matchAll]('')),
  getPrototypeOf(Uint8Array), getPrototypeOf(Uint8Array.prototype),
];
if (iteratorFrom) {
  createDataProperty(hidden, hidden.length, getPrototypeOf(apply(mapIterator, [][iteratorSymbol](), [() => 0])));
  createDataProperty(hidden, hidden.length, getPrototypeOf(iteratorFrom({ next() {} })));
}
// QuickJS gives it a prototype of its own.
if (iteratorConcat) createDataProperty(hidden, hidden.length, getPrototypeOf(iteratorConcat()));
const paths = { __proto__: null, 0: 'Function.prototype', 6: '%IteratorPrototype%', 13: '%TypedArray%', 14: '%TypedArray%.prototype' };

/** Call `visit` with each of them. */
export const eachHidden = (visit) => {
  for (let i = 0; i < hidden.length; i++) visit(hidden[i], paths[i] || '%');
};

/** The globals among the words of `text` that the realm has now. */
function names(text) {
  const words = apply(split, text, [' ']);
  const found = { __proto__: null, length: 0 };
  for (let i = 0; i < words.length; i++) if (hasOwn(G, words[i]) && !isForged(words[i])) found[found.length++] = words[i];
  return found;
}

// In the order of use; reading a rare one makes the engine build it.
const COMMON = 'Object Array String Promise Map Set Math JSON Number Date RegExp Symbol';
const RARE = 'Boolean BigInt Error Reflect Proxy WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer SharedArrayBuffer DataView Uint8Array'
  + ' Atomics Iterator DisposableStack AsyncDisposableStack Intl Temporal';
// A payload may define what the realm lacks: that is no intrinsic.
const common = names(COMMON);
const rare = names(RARE);
/** Whether the global called `name` is one that ECMA-262 or ECMA-402 defines: the audit says what its members are. */
export const isIntrinsicName = (name) => apply(includes, ` ${COMMON} ${RARE} `, [` ${name} `]);

let next = -1;
let holders = [{ object: G, path: '' }];

const append = (list, object, path) => {
  if (!isObject(object)) return;
  createDataProperty(list, list.length, { object, path });
  const prototype = valueOf(object, 'prototype');
  if (isObject(prototype)) createDataProperty(list, list.length, { object: prototype, path: path + '.prototype' });
};

/** Find more holders. All of a step are kept or none: a stack may overflow in the middle of one. */
const findMore = () => {
  const found = [];
  for (let j = 0; j < holders.length; j++) createDataProperty(found, j, holders[j]);
  const add = (object, path) => append(found, object, path);
  if (next < 0) {
    for (let j = 0; j < common.length; j++) add(valueOf(G, common[j]), common[j]);
    eachHidden(add);
  } else {
    const path = rare[next];
    const namespace = valueOf(G, path);
    add(namespace, path);
    // Intl and Temporal hold constructors. What an earlier program has put there is enumerable.
    const keys = typeof namespace === 'object' ? ownKeys(namespace) : [];
    for (let j = 0; j < keys.length; j++) {
      const property = typeof keys[j] === 'string' ? ownDescriptor(namespace, keys[j]) : undefined;
      if (property !== undefined && !property.enumerable) add(property.value, path + '.' + keys[j]);
    }
  }
  holders = found;
  next++;
};

/** The namespace, constructor or prototype at index `i`, and its path; undefined past the last. */
export const holderAt = (i) => {
  while (i >= holders.length && next < rare.length) findMore();
  return holders[i];
};
