// What the realm has is replaced, by name and by identity: host objects by facades, denied ones by stand-ins, and the
// functions of harmless classes are listed.
import { FunctionPrototype, G, get, getPrototypeOf, has, hasOwn, isObject, ObjectPrototype, ownDescriptor, ownKeys, weakSet } from '../natives.js';
import { addClassifier, denied, listed, onMeeting, own } from '../membrane.js';
import { protect } from '../protection.js';
import { addHarmless, classify } from './classify.js';
import { facadeOf } from './behind.js';
import './facade.js';
import { bindings, deniedNames, harmless, names } from './tables.js';

const MAX_DEPTH = 6;

/** Apply `see` to the value of each global that `table` names, where the realm has it. */
function eachGlobal(table, see) {
  const found = ownKeys(table);
  for (let i = 0; i < found.length; i++) {
    if (!has(G, found[i])) continue;
    const real = get(G, found[i]);
    if (isObject(real) && !own(real)) see(real, table[found[i]]);
  }
}

const seen = weakSet();

/** List every function of a harmless class or object: statics, methods, accessors, and those that it inherits. */
function listAll(x, depth) {
  if (!isObject(x) || depth === 0 || x === ObjectPrototype || x === FunctionPrototype || x === G || seen.has(x)) return;
  seen.add(x);
  if (typeof x === 'function') listed(x);
  else protect(x);
  addHarmless(x);
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(x, keys[i]);
    if (property === undefined || keys[i] === 'constructor') continue;
    if (!hasOwn(property, 'value')) {
      if (property.get !== undefined) listed(property.get);
      if (property.set !== undefined) listed(property.set);
    } else if (isObject(property.value)) {
      listAll(property.value, depth - 1);
    }
  }
  listAll(getPrototypeOf(x), depth - 1);
}

/** Registers the facades of host objects, and what the names of the configuration say. */
export function installHosts() {
  eachGlobal(harmless, (real) => listAll(real, MAX_DEPTH));
  addClassifier(classify);
  onMeeting((f) => classify(f) !== undefined);
  eachGlobal(deniedNames, (real, label) => denied(real, label));
  eachGlobal(names, (real, path) => facadeOf(real, path));
  eachGlobal(bindings, (real, path) => facadeOf(real, path));
}
