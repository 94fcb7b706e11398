// What the realm has is replaced, by name and by identity: host objects by facades, denied ones by stand-ins, and the
// functions of harmless classes are known.
import {
  apply, construct, FunctionPrototype, G, get, getPrototypeOf, has, hasOwn, isObject, ObjectPrototype, ownDescriptor, ownKeys, symbols, weakSet,
} from '../natives.js';
import { addClassifier, denied, handler, onMeeting, own, receiver, unwrap } from '../membrane.js';
import { hideSymbols } from '../intrinsics/symbols.js';
import { protect, writable } from '../protection.js';
import { isForged } from '../forged.js';
import { onName } from '../forging.js';
import { isIntrinsicName, valueOf } from '../intrinsics/roots.js';
import { addHarmless, classify, isHarmless } from './classify.js';
import { facadeOf } from './behind.js';
import './facade.js';
import { bindings, deniedNames, harmless, names } from './tables.js';

const MAX_DEPTH = 6;

/** Apply `see` to the value of each global that `table` names, where the realm has it. */
function eachGlobal(table, see) {
  const found = ownKeys(table);
  for (let i = 0; i < found.length; i++) {
    if (!has(G, found[i]) || isForged(found[i])) continue;
    const real = get(G, found[i]);
    // A host may have put an object of its own in the place of an intrinsic.
    if (isIntrinsicName(found[i]) && valueOf(real, symbols.toStringTag) === found[i]) continue;
    if (isObject(real) && !own(real)) see(real, table[found[i]]);
  }
}

const seen = weakSet();

const wellKnown = { __proto__: null };
{
  const names = ownKeys(symbols);
  for (let i = 0; i < names.length; i++) wellKnown[symbols[names[i]]] = true;
}

// Harmless objects that are globals themselves, such as `performance`: their methods are called on nothing else.
const singletons = weakSet();

/** What the host writes to must not be a prototype or namespace of the realm. Its own classes and objects keep what they like. */
const assertNoneProtected = (self, args) => {
  if (isObject(self) && !(typeof self === 'function' ? isHarmless(unwrap(self)) : singletons.has(self))) writable(self);
  for (let i = 0; i < args.length; i++) if (isObject(args[i]) && typeof args[i] === 'object') writable(args[i]);
};

/** A function of a harmless class, which the host has written in JavaScript: it may write to its receiver and arguments. */
const harmlessFunction = {
  __proto__: null,
  call(self, args, real) {
    assertNoneProtected(self, args);
    return apply(real, receiver(self), args);
  },
  construct(args, newTarget, real) {
    assertNoneProtected(undefined, args);
    return construct(real, args, newTarget);
  },
};

/** Make every function of a harmless class or object known: statics, methods, accessors, and those that it inherits. */
function listAll(x, depth) {
  if (!isObject(x) || depth === 0 || x === ObjectPrototype || x === FunctionPrototype || x === G || seen.has(x)) return;
  seen.add(x);
  if (typeof x === 'function') handler(x, harmlessFunction);
  else protect(x);
  addHarmless(x);
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

/** Registers the facades of host objects, and what the names of the configuration say. */
export function installHosts() {
  hideSymbols();
  onName((name) => harmless[name] !== undefined || names[name] !== undefined || bindings[name] !== undefined);
  eachGlobal(harmless, (real) => {
    if (typeof real === 'object') singletons.add(real);
    listAll(real, MAX_DEPTH);
  });
  addClassifier(classify);
  onMeeting((f) => classify(f) !== undefined);
  eachGlobal(deniedNames, (real, label) => denied(real, label));
  eachGlobal(names, (real, path) => facadeOf(real, path));
  eachGlobal(bindings, (real, path) => facadeOf(real, path));
}
