// The global object: a facade with which a payload reads every global through the membrane, and writes only its own.
import {
  G, apply, createDataProperty, defineProperty, deleteProperty, get, getPrototypeOf, has, hasOwn, newProxy, ownDescriptor, ownKeys,
  ReferenceError, reflectSet, stringIndexOf,
} from './natives.js';
import { deny } from './denial.js';
import { SHARED, shared } from './shared.js';
import { forge } from './forging.js';
import { callForeign, denied, isRuled, recordOf, standIn, unlisted, v } from './membrane.js';
import { safeDescriptor } from './wrappers.js';
import { onGlobalDefine, setOwn } from './writes.js';

const { keyFor } = G.Symbol;

// The globals that this payload has made.
const made = { __proto__: null };

function make(key) {
  if (made[key] === 1) return;
  made[key] = 1;
  forge(key);
}

/** Whether the payload has made the global `name`. */
export const isMade = (name) => made[name] === 1;

/** Whether a property above the global object is a named element of the page: a declaration hides those, and nothing else. */
const isNamed = (property) => hasOwn(property, 'value') && typeof property.value === 'object' && property.configurable && !property.enumerable;

/** Whether the realm has a global `key` that is no named element. */
function isTaken(key) {
  for (let q = G; q !== null; q = getPrototypeOf(q)) {
    const property = ownDescriptor(q, key);
    if (property !== undefined) return q === G || !isNamed(property);
  }
  return has(G, key);
}

// The head of a P′ in a prepared page looks for its run-time under a name that begins so: no payload makes such a global.
const RESERVED = '__evalward_';
// Node's own `fetch` and its like look for what programs share under names that begin so.
const OF_NODE = ['undici.', 'nodejs.'];
const refuseReserved = (key) => {
  const isReserved = typeof key === 'string' ? apply(stringIndexOf, key, [RESERVED]) === 0 : key === SHARED || isOfNode(apply(keyFor, undefined, [key]));
  if (isReserved) deny('prototype-tampering', 'a reserved global');
};

const isOfNode = (name) => {
  if (name === undefined) return false;
  for (let i = 0; i < OF_NODE.length; i++) if (apply(stringIndexOf, name, [OF_NODE[i]]) === 0) return true;
  return false;
};

/** Set a global: one that the payload has made, one with a setter, or a new one. @returns {boolean} */
function setGlobal(key, value) {
  refuseReserved(key);
  if (made[key] === 1) return reflectSet(G, key, value, G);
  for (let q = G; q !== null; q = getPrototypeOf(q)) {
    const property = ownDescriptor(q, key);
    if (property === undefined) continue;
    if (q !== G && isNamed(property)) break;
    if (hasOwn(property, 'value')) deny('global-object', 'a global is not written to');
    if (property.set === undefined) return false;
    // `var self = this` replaces a global of the page's, which is to stay the page's own.
    callForeign(recordOf(property.set), globalFacade, [value === globalFacade ? G : value]);
    return true;
  }
  make(key);
  return reflectSet(G, key, value, G);
}

/** Define a global that does not exist, or that the payload has made. @returns {boolean} */
function defineGlobal(key, property) {
  refuseReserved(key);
  if (made[key] !== 1 && isTaken(key)) deny('global-object', 'a global is not written to');
  make(key);
  return defineProperty(G, key, property);
}

function deleteGlobal(key) {
  if (made[key] !== 1) {
    if (ownDescriptor(G, key) === undefined) return true;
    deny('global-object', 'a global is not deleted');
  }
  return deleteProperty(G, key);
}

/** The global object's keys without the one under which the run-times keep what they share: no payload sees it. */
const withoutShared = (keys) => {
  const list = [];
  for (let i = 0; i < keys.length; i++) if (keys[i] !== SHARED) createDataProperty(list, list.length, keys[i]);
  return list;
};

// A function of the page may give it to a payload all the same.
denied(shared, 'global-object');

let see = () => {};
/** A profile's look at each global that is read, before the payload gets it: (key, value). */
export const onGlobalRead = (look) => { see = look; };

const seen = (key, value) => {
  see(key, value);
  return v(value);
};

const readGlobal = (key) => {
  if (key === SHARED) return undefined;
  return key === '__proto__' ? v(getPrototypeOf(G)) : seen(key, get(G, key, G));
};

// Code of the page may be what writes to the facade.
const safely = (x) => (isRuled(x) ? v(x) : x);

export const globalFacade = standIn(G, newProxy({ __proto__: null }, {
  __proto__: null,
  get: (_, key) => readGlobal(key),
  has: (_, key) => key !== SHARED && has(G, key),
  ownKeys: () => withoutShared(ownKeys(G)),
  getPrototypeOf: () => v(getPrototypeOf(G)),
  getOwnPropertyDescriptor(_, key) {
    const property = key === SHARED ? undefined : ownDescriptor(G, key);
    if (property !== undefined) seen(key, property.value);
    return property && safeDescriptor(property, true);
  },
  set(_, key, value, self) {
    if (self === globalFacade) return setGlobal(key, safely(value));
    // An object that inherits from the global object gets a property of its own.
    if (has(G, key)) deny('global-object', 'a global is not written to');
    return setOwn(self, key, value);
  },
  defineProperty: (_, key, property) => defineGlobal(key, property),
  deleteProperty: (_, key) => deleteGlobal(key),
  setPrototypeOf() { deny('prototype-tampering'); },
  preventExtensions() { deny('global-object'); },
}), 'global-object');

onGlobalDefine(globalFacade, defineGlobal);

/** `name = value` of a free name. */
export function gs(name, value, strict) {
  if (strict && !has(G, name)) throw new ReferenceError(name + ' is not defined');
  setGlobal(name, value);
  return value;
}

/** `delete name` of a free name. */
export const gd = (name) => deleteGlobal(name);

/** `this` of sloppy code. */
export const t = (self) => (self === undefined || self === null ? globalFacade : v(self));

/**
 * GlobalDeclarationInstantiation (ECMA-262 §16.1.7): `names` are those of `var`, `functions` is a list of name, function, … A page
 * runs a script, whose variables cannot be redefined; other hosts evaluate, or have a context of Node's `vm`, where they can be.
 */
export function hd(names, functions) {
  const configurable = unlisted === 'deny';
  for (let i = 0; i < names.length; i++) {
    refuseReserved(names[i]);
    if (isTaken(names[i])) continue;
    make(names[i]);
    defineProperty(G, names[i], { __proto__: null, value: undefined, writable: true, enumerable: true, configurable });
  }
  for (let i = 0; i < functions.length; i += 2) {
    refuseReserved(functions[i]);
    if (made[functions[i]] !== 1 && isTaken(functions[i])) deny('global-object', 'a global is not written to');
    make(functions[i]);
    defineProperty(G, functions[i], { __proto__: null, value: functions[i + 1], writable: true, enumerable: true, configurable });
  }
}

// What a CommonJS function has as its variables: no property of the global object, and never printed as a name.
const hostNames = {
  __proto__: null,
  require: 'require()',
  module: 'module-loading',
  exports: 'module-loading',
  __filename: 'module-loading',
  __dirname: 'module-loading',
  arguments: 'module-loading',
  __pwClock: 'nested-evaluation',
  eval: 'eval()',
  ['__proto__']: '__proto__',
};

/** A free name that is denied whatever it is. */
export const d = (name) => deny(hostNames[name] || 'global-object');
