// What a foreign object is that no list has led to: the payload's own, data, or an instance of a class of the host's.
import {
  apply, createDataProperty, functionToString, getPrototypeOf, hasOwn, isArray, ObjectPrototype, ownDescriptor, ownKeys, get,
  stringIndexOf, weakMap, weakSet,
} from '../natives.js';
import { isListed, own, v } from '../membrane.js';
import { addHostKind, isListedProtected } from '../protection.js';
import { behind, facadeOf } from './behind.js';
import { classOf } from './results.js';

const MAX_DEPTH = 100;
const harmlessPrototypes = weakSet();
const copies = weakMap();

/** Whether `x` is one of the host's harmless classes, or a part of one. */
export const isHarmless = (x) => harmlessPrototypes.has(x);

/** Instances of the class whose prototype this is are what they are: their methods are listed one by one. */
export const addHarmless = (prototype) => {
  harmlessPrototypes.add(prototype);
  // What the language itself protects is above the payload's own instances, too: above its async functions and its errors.
  if (!isListedProtected(prototype)) addHostKind(prototype);
};

/**
 * A prototype of the host's has the host's own constructor; one whose `constructor` is a facade or a function of the
 * run-time's was made by the payload, which holds no other.
 *
 * The stand-in for a foreign function or for an instance of a class of the host's, undefined for what the payload may hold
 * as it is. Plain data of another realm of `vm` is copied: it is data, but its methods are natives of that realm.
 */
export function classify(x) {
  if (typeof x === 'function') return facadeOf(x, '');
  let prototype = getPrototypeOf(x);
  for (let depth = 0; prototype !== null && prototype !== ObjectPrototype && depth < MAX_DEPTH; depth++) {
    if (harmlessPrototypes.has(prototype) || behind(prototype) !== undefined) return undefined;
    const maker = makerOf(prototype);
    const above = getPrototypeOf(prototype);
    if (maker !== undefined && !own(maker) && !isListed(maker) && v(maker) !== maker) {
      if (above === null || !harmlessPrototypes.has(above) || ownKeys(prototype).length > 1) return foreign(x, prototype, maker);
      // A subclass that adds nothing to a harmless class.
      addHarmless(prototype);
    }
    prototype = above;
  }
  return undefined;
}

function makerOf(prototype) {
  const property = ownDescriptor(prototype, 'constructor');
  return property !== undefined && hasOwn(property, 'value') && typeof property.value === 'function' ? property.value : undefined;
}

function foreign(x, prototype, maker) {
  if (prototype === getPrototypeOf(x) && (isArray(x) || isRootOfRealm(prototype, maker))) return copyOf(x);
  return facadeOf(x, classOf(x) || '');
}

/** Whether this is the Object.prototype of another realm. */
const isRootOfRealm = (prototype, maker) =>
  getPrototypeOf(prototype) === null && apply(stringIndexOf, apply(functionToString, maker, []), ['function Object() {']) === 0;

/** Plain data of another realm as data of this one. Its parts are copied when they are met. */
function copyOf(x) {
  let copy = copies.get(x);
  if (copy !== undefined) return copy;
  copies.set(x, copy = isArray(x) ? [] : {});
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(x, keys[i]);
    if (property !== undefined && property.enumerable) createDataProperty(copy, keys[i], v(get(x, keys[i])));
  }
  if (isArray(x)) copy.length = x.length;
  return copy;
}
