// Where control leaves: a denial is thrown again, and no capability leaves with the completion value.
import {
  apply, ArrayPrototype, create, defineProperty, functionToString, hasOwn, isArray, isObject, getPrototypeOf, ObjectPrototype, ownDescriptor,
  ownKeys, PromiseCtor, PromisePrototype, stringIndexOf, then, weakMap,
} from './natives.js';
import { checkAlive, dead, deny, onDenial } from './denial.js';
import { registerOwn } from './functions.js';
import { invoke, isListed, labelOf, outside, v } from './membrane.js';

const DEPTH = 4;
const MOST = 500;

/** The value of `catch`. */
export function ca(error) {
  if (dead) checkAlive();
  return v(error);
}

/** The start of `finally`. */
export const fi = checkAlive;

// Other engines begin a new line before these words.
const isV8 = apply(stringIndexOf, apply(functionToString, apply, []), [' { [native code] }']) > 0;

/** The completion value after a function in a block, which ECMA-262 §B.3.2.2 leaves as it was. For V8 its assignment is a statement. */
export const bf = (before, f) => (isV8 ? f : before);

const ignore = () => {};

/** The completion value. A promise is checked when it is fulfilled. */
export function end(value) {
  if (dead) {
    // The host hears of the denial from here; a rejection that nothing handles would end its process.
    if (typeof value === 'object' && value !== null && isPromise(value)) apply(then, value, [undefined, ignore]);
    checkAlive();
  }
  value = v(value);
  if (!isObject(value)) return value;
  if (typeof value === 'object' && isPromise(value)) return settled(value);
  return look(value, DEPTH, { __proto__: null, left: MOST }) ? leaving(value, DEPTH, weakMap()) : value;
}

/** A promise of the realm that settles as `promise` does, if its value may leave. */
function settled(promise) {
  return new PromiseCtor((resolve, reject) => {
    const finish = (settle, check) => (value) => {
      try {
        settle(check(value));
      } catch (error) {
        reject(error);
      }
    };
    onDenial(reject);
    const fulfilled = finish(resolve, end);
    const rejected = finish(reject, ca);
    // The host asks for the method, which may be the payload's.
    const method = v(promise.then);
    if (method === v(then) || typeof method !== 'function') apply(then, promise, [fulfilled, rejected]);
    else invoke(method, promise, [registerOwn(fulfilled), registerOwn(rejected)]);
  });
}

function isPromise(value) {
  for (let q = value, depth = 0; q !== null && depth < 20; depth++) {
    if (labelOf(q) !== undefined) return false;
    if (q === PromisePrototype) return true;
    q = getPrototypeOf(q);
  }
  return false;
}

/** Whether `value` is data: a list or a record. */
function isData(value) {
  const above = getPrototypeOf(value);
  return typeof value === 'object' && (above === null || above === ObjectPrototype || above === ArrayPrototype);
}

/**
 * Deny a facade or a stand-in among the own properties of `value`, some levels deep. No getter runs.
 * @returns {boolean} whether there is a host's object among them that leaves as itself
 */
function look(value, depth, budget) {
  const label = labelOf(value);
  if (label !== undefined) deny(label, 'the completion value');
  if (outside(value) !== value) return true;
  if (depth === 0 || budget.left-- <= 0) return false;
  let found = false;
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length && budget.left > 0; i++) {
    const inner = dataAt(value, keys[i]);
    if (isObject(inner) && look(inner, depth - 1, budget)) found = true;
  }
  return found;
}

/** The safe value of an own data property. */
function dataAt(value, key) {
  const property = ownDescriptor(value, key);
  return property !== undefined && hasOwn(property, 'value') && key !== 'constructor' ? v(property.value) : undefined;
}

/**
 * What leaves for `value`: data with the host's objects instead of facades. It is a copy, since the program may run on, and
 * what it holds must stay safe.
 */
function leaving(value, depth, copies) {
  const real = outside(value);
  // A function of the host's would lie under a name that the payload has chosen, `then` for example, and be called.
  if (typeof real === 'function' && real !== value && depth < DEPTH && !isListed(value)) return value;
  if (real !== value || depth < 0 || !isObject(value) || !isData(value)) return real;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const made = isArray(value) ? [] : create(getPrototypeOf(value));
  copies.set(value, made);
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(value, keys[i]);
    if (property === undefined) continue;
    const { enumerable, configurable, writable, get, set } = property;
    defineProperty(made, keys[i], hasOwn(property, 'value')
      ? { __proto__: null, value: leaving(v(property.value), depth - 1, copies), enumerable, configurable, writable }
      : { __proto__: null, get, set, enumerable, configurable });
  }
  return made;
}
