// What a host gives becomes what the payload gets: a facade, a promise of one, or data.
import { apply, createDataProperty, getPrototypeOf, hasOwn, isArray, isObject, ObjectPrototype, ArrayPrototype, ownDescriptor, ownKeys, stringSlice } from '../natives.js';
import { deny, isKept, isListed, own, v } from '../membrane.js';
import { eachElement, match, settle } from './captured.js';
import { facadeOf } from './behind.js';
import { pathOfClass, tableOf } from './tables.js';

const MAX_DEPTH = 12;
const DENIAL = /evalward denied ([^\s:]+)/;

/** What `type` says behind `prefix`, or undefined where it does not begin with that. */
const behind = (type, prefix) =>
  (apply(stringSlice, type, [0, prefix.length]) === prefix ? apply(stringSlice, type, [prefix.length]) : undefined);

/**
 * The payload's view of what a host gave.
 * @param x the value
 * @param {string} type the path of a host object behind `promise:`, `array:` or `map:`, or '' for data
 */
export function given(x, type) {
  if (!isObject(x)) return x;
  if (type === '') return v(x);
  let inner = behind(type, 'promise:');
  if (inner !== undefined) return isThenable(x) ? settle(x, (y) => given(y, inner)) : given(x, inner);
  inner = behind(type, 'array:') || behind(type, 'map:');
  if (inner !== undefined) return contained(x, inner);
  // A promise, an error, a Map: what is inert stays what it is, whatever a list says.
  if (typeof x === 'object' && !isPlain(x) && v(x) === x) return x;
  // A class does not tell on which side of Electron a handle is.
  return facadeOf(x, tableOf(type).route === 'main' ? type : classOf(x) || type);
}

/** An array or a Map of host objects: each element becomes a facade now, whichever way it is read later. */
function contained(x, type) {
  if (typeof x === 'function') return facadeOf(x, '', undefined, type);
  if (!isArray(x) && isThenable(x)) return settle(x, (y) => given(y, 'array:' + type));
  if (isArray(x)) {
    const list = [];
    for (let i = 0; i < x.length; i++) createDataProperty(list, i, given(x[i], type));
    return list;
  }
  eachElement(x, (element) => given(element, type));
  return v(x);
}

/** What a realm gives that a program was sent to; a denial there ends the program here, too. */
export function fromRealm(x) {
  return isObject(x) && isThenable(x) ? settle(x, undefined, failed) : x;
}

function failed(error) {
  const message = isObject(error) ? ownDescriptor(error, 'message') : undefined;
  const told = message !== undefined && typeof message.value === 'string' ? match(DENIAL, message.value) : null;
  if (told !== null) deny(told[1], 'in the realm that a program was sent to');
  throw error;
}

const isThenable = (x) => typeof x.then === 'function';

/** The path of the host object of whose class `x` is an instance, by the name of its class. */
export function classOf(x) {
  let prototype = getPrototypeOf(x);
  for (let depth = 0; depth < MAX_DEPTH && prototype !== null && prototype !== ObjectPrototype; depth++) {
    const path = pathOfClass(classNameOf(prototype));
    if (path !== undefined) return path;
    prototype = getPrototypeOf(prototype);
  }
  return undefined;
}

/** The name of the class whose prototype this is, '' for none. Bundlers put `_` before a name or a number behind it. */
export function classNameOf(prototype) {
  const made = ownDescriptor(prototype, 'constructor');
  if (made === undefined || !hasOwn(made, 'value') || typeof made.value !== 'function' || own(made.value)) return '';
  if (v(made.value) === made.value && !isListed(made.value)) return ''; // the payload's, as in classify.js
  const named = ownDescriptor(made.value, 'name');
  const name = named === undefined || !hasOwn(named, 'value') ? '' : named.value;
  if (typeof name !== 'string') return '';
  let end = name.length;
  while (end > 1 && name[end - 1] >= '0' && name[end - 1] <= '9') end--;
  return apply(stringSlice, name, [name[0] === '_' ? 1 : 0, end]);
}

/** Whether `x` is a plain object or array of this realm, and no Proxy of the payload's. */
export function isPlain(x) {
  if (typeof x === 'function' || isKept(x)) return false;
  const prototype = getPrototypeOf(x);
  return prototype === ObjectPrototype || prototype === ArrayPrototype || prototype === null;
}

/** Data that lives on in the host: plain objects and arrays are copied, so that the host's own stay as they are. */
export function copied(x, depth = 0) {
  if (!isObject(x)) return x;
  const safe = v(x);
  if (safe !== x || !isPlain(x) || depth > MAX_DEPTH) return safe;
  const copy = isArray(x) ? [] : {};
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(x, keys[i]);
    if (typeof keys[i] === 'symbol' || property === undefined || !property.enumerable) continue;
    createDataProperty(copy, keys[i], copied(x[keys[i]], depth + 1));
  }
  return copy;
}
