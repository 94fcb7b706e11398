// What the realm has is replaced, by name and by identity: host objects by facades, denied ones by stand-ins, and the
// functions of harmless classes are known.
import {
  apply, construct, FunctionPrototype, G, get, getPrototypeOf, has, hasOwn, isObject, ObjectPrototype, ownDescriptor, ownKeys, symbols, weakMap, weakSet,
} from '../natives.js';
import { addClassifier, denied, handler, onMeeting, own, receiver, unwrap } from '../membrane.js';
import { assertMute, assertSafeInside, copiedData, onCopy, readDeep } from '../intrinsics/deep.js';
import { json } from '../intrinsics/json.js';
import { hideSymbols } from '../intrinsics/symbols.js';
import { protect, writable } from '../protection.js';
import { isForged } from '../shared.js';
import { onName } from '../forging.js';
import { isIntrinsicName, valueOf } from '../intrinsics/roots.js';
import { addHarmless, classify, isHarmless } from './classify.js';
import { asData } from './arguments.js';
import { facadeOf } from './behind.js';
import { dataOfText } from './captured.js';
import './facade.js';
import {
  bindings, classOfSingleton, deniedNames, eachWord, familyOf, harmless, isHarmlessName, isUntagged, iteratorMakers, names, tableOf,
} from './tables.js';

const MAX_DEPTH = 6;
const { stringify } = G.JSON;

/**
 * Whether `real` is what a list means by the harmless global `name`: the interface of that name, its only instance, or one of those
 * without a tag. Under the same name a host may have a module (`node:crypto`), or a class of its own.
 */
function isOfName(real, name) {
  const isFunction = typeof real === 'function';
  const holder = isFunction ? valueOf(real, 'prototype') : getPrototypeOf(real);
  const tag = isObject(holder) ? valueOf(holder, symbols.toStringTag) : undefined;
  if (typeof tag === 'string' && tag === (isFunction ? name : classOfSingleton(name))) return true;
  return isFunction && isUntagged(name) && valueOf(real, 'name') === name;
}

/** Apply `see` to the value of the global called `name`, if the realm has it. */
function seeGlobal(name, see, said) {
  if (!has(G, name) || isForged(name)) return;
  const real = get(G, name);
  // A host may have put an object of its own in the place of an intrinsic.
  if (isIntrinsicName(name) && valueOf(real, symbols.toStringTag) === name) return;
  if (isObject(real) && !own(real)) see(real, said);
}

/** Apply `see` to the value of each global that `table` names, and to what the table says. */
function eachGlobal(table, see) {
  const found = ownKeys(table);
  for (let i = 0; i < found.length; i++) seeGlobal(found[i], see, table[found[i]]);
}

const seen = weakSet();

const wellKnown = { __proto__: null };
{
  const names = ownKeys(symbols);
  for (let i = 0; i < names.length; i++) wellKnown[symbols[names[i]]] = true;
}

// Harmless objects that are globals themselves, such as `performance`: their methods are called on nothing else.
const singletons = weakSet();

/** Whether an object inherits from a harmless class or object. */
const isInstance = (x) => {
  for (let q = getPrototypeOf(x); q !== null; q = getPrototypeOf(q)) if (isHarmless(q)) return true;
  return false;
};

/** What the host writes to must not be a prototype or namespace of the realm. Its own classes and objects keep what they like. */
const assertNoneProtected = (self, args) => {
  if (isObject(self) && !(typeof self === 'function' ? isHarmless(unwrap(self)) : singletons.has(self))) {
    writable(self);
    if (typeof self !== 'function' && !isInstance(self)) assertSafeInside(self); // its methods are called by name
  }
  for (let i = 0; i < args.length; i++) {
    if (!isObject(args[i])) continue;
    if (typeof args[i] !== 'object') {
      assertMute(args[i]);
      continue;
    }
    writable(args[i]);
    assertSafeInside(args[i]);
  }
};

// Natives that read data at any depth, which get a copy: with whether what they read first is written as JSON.
const reading = weakMap();
{
  const readers = [[G.performance, 'mark', false], [G.performance, 'measure', false], [G.Response, 'json', true]];
  for (let i = 0; i < readers.length; i++) {
    const f = isObject(readers[i][0]) ? get(readers[i][0], readers[i][1]) : undefined;
    if (typeof f === 'function') reading.set(f, readers[i][2]);
  }
}

/** What such a native gets. */
function copiedArguments(args, isJson) {
  if (isJson && isObject(args[0])) {
    const text = json.JSON.stringify(undefined, [args[0]], stringify);
    args[0] = text === undefined ? undefined : dataOfText(text);
  }
  for (let i = 0; i < args.length; i++) args[i] = copiedData(args[i]);
  return args;
}

/** A function of a harmless class, which the host has written in JavaScript: it may write to its receiver and arguments. */
const harmlessFunction = {
  __proto__: null,
  call(self, args, real) {
    const isJson = reading.get(real);
    if (isJson !== undefined) return apply(real, receiver(self), copiedArguments(args, isJson));
    assertNoneProtected(self, args);
    return apply(real, receiver(self), args);
  },
  construct(args, newTarget, real) {
    assertNoneProtected(undefined, args);
    return construct(real, args, newTarget);
  },
};

// What a host's class may inherit from, and what is known as the language's.
const ofLanguage = weakSet();
{
  const classes = ['Uint8Array', 'Error', 'TypeError', 'RangeError', 'Array', 'Map', 'Set', 'Promise'];
  for (let i = 0; i < classes.length; i++) {
    for (let made = G[classes[i]]; typeof made === 'function' && made !== FunctionPrototype; made = getPrototypeOf(made)) {
      ofLanguage.add(made);
      ofLanguage.add(made.prototype);
    }
  }
}

/** Make every function of a harmless class or object known: statics, methods, accessors, and those that it inherits. */
function listAll(x, depth) {
  if (!isObject(x) || depth === 0 || x === ObjectPrototype || x === FunctionPrototype || x === G || ofLanguage.has(x) || seen.has(x)) return;
  seen.add(x);
  if (typeof x === 'function') handler(x, harmlessFunction);
  addHarmless(x);
  if (typeof x === 'object') protect(x);
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(x, keys[i]);
    // Under symbols of its own the host has what only it calls.
    if (property === undefined || keys[i] === 'constructor' || typeof keys[i] === 'symbol' && !wellKnown[keys[i]]) continue;
    if (!hasOwn(property, 'value')) {
      if (property.get !== undefined) handler(property.get, harmlessFunction);
      if (property.set !== undefined) handler(property.set, harmlessFunction);
    } else if (isObject(property.value)) {
      listAll(property.value, depth - 1);
    }
  }
  listAll(getPrototypeOf(x), depth - 1);
}

let iteratorsListed = false;

/** List the prototypes of the iterators of harmless classes: no property leads to them, an iterator has one. */
function listIterators() {
  iteratorsListed = true;
  const makers = iteratorMakers();
  const found = ownKeys(makers);
  for (let i = 0; i < found.length; i++) {
    const maker = has(G, found[i]) ? get(G, found[i]) : undefined;
    // What a host has put there instead is not constructed.
    if (typeof maker !== 'function' || !seen.has(maker) || valueOf(maker.prototype, symbols.toStringTag) !== found[i]) continue;
    listAll(getPrototypeOf(apply(get(maker.prototype, makers[found[i]]), construct(maker, []), [])), MAX_DEPTH);
  }
}

/** Whether `f` is a function of such an iterator, which is looked for when the first is met. */
function isOfIterator(f) {
  const name = ownDescriptor(f, 'name');
  if (iteratorsListed || name === undefined || name.value !== 'next' && name.value !== 'return') return false;
  listIterators();
  return seen.has(f);
}

/** Make the facade of a host object, and know the objects that it holds: the host's own data may hold them, too. */
function hold(real, path) {
  facadeOf(real, path);
  const { values, others } = tableOf(path);
  if (others !== 'deny') return;
  const keys = ownKeys(real);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(real, keys[i]);
    const held = property !== undefined && hasOwn(property, 'value') ? property.value : undefined;
    if (typeof held !== 'object' || held === null || held === G) continue;
    const type = values[keys[i]];
    if (type === undefined) denied(held, familyOf(path));
    else if (type !== '') facadeOf(held, type);
  }
}

/** Registers the facades of host objects, and what the names of the configuration say. */
export function installHosts() {
  hideSymbols();
  onName((name) => isHarmlessName(name) || names[name] !== undefined || bindings[name] !== undefined);
  const list = (real) => {
    if (typeof real === 'object') singletons.add(real);
    listAll(real, MAX_DEPTH);
  };
  eachWord(harmless, (name) => seeGlobal(name, (real) => { if (isOfName(real, name)) list(real); }));
  addClassifier(classify);
  onMeeting((f) => isOfIterator(f) || classify(f) !== undefined);
  eachGlobal(deniedNames, (real, label) => denied(real, label));
  eachGlobal(names, (real, path) => { if (!seen.has(real)) hold(real, path); });
  eachGlobal(bindings, hold);
  readDeep();
  onCopy(asData);
}
