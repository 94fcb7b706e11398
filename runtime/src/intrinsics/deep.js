/**
 * Natives that read what lies in an object at any depth: a host's own data may hold what a payload may not. The membrane makes
 * safe what the payload reads itself; for these natives the data is made safe, or looked through, before.
 */

import { apply, G, getPrototypeOf, hasOwn, isArray, isObject, isView, ArrayPrototype, ObjectPrototype, ownDescriptor, ownKeys, viewLength, weakSet }
  from '../natives.js';
import { deny } from '../denial.js';
import { isKept, isListed, isOpaque, labelOf, own, v } from '../membrane.js';

const { forEach: eachOfMap } = G.Map.prototype;
const { forEach: eachOfSet } = G.Set.prototype;
const MAX_DEPTH = 100;
const MAX_BYTES = 65536;

let deep = false;
/** A profile whose host has data of its own reads through the membrane at any depth. */
export const readDeep = () => { deep = true; };
export const readsDeep = () => deep;

/** Deny data that holds, at any depth, what the payload would not get as it is. */
export const assertSafeInside = (data) => {
  if (deep) look(data, weakSet(), 0);
};

let copy = (x) => x;
/** How a native that reads deep gets a copy of data, which nobody else can change; the profile of a host provides it. */
export const onCopy = (make) => { copy = make; };

/** What a native gets instead of data that it reads at any depth. */
export const copiedData = (x) => (deep && isObject(x) ? copy(x) : x);

/** Deny a function of the payload's that a native would ask for data (`toJSON`). */
export const assertMute = (f) => {
  if (deep && (own(f) || isKept(f)) && ownDescriptor(f, 'toJSON') !== undefined) refuse();
};

function look(x, seen, depth) {
  if (isKept(x)) refuse(); // its traps may give a native what they have not given here
  // What inherits from anything else is asked by its own methods, or is copied by its own rules.
  if (isOpaque(x) || seen.has(x)) return;
  if (isView(x)) {
    assertBare(x);
    return;
  }
  if (depth > MAX_DEPTH) deny('analysis-limit', 'data nested too deeply');
  seen.add(x);
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    // None of these natives reads what lies under a symbol.
    const property = typeof keys[i] === 'symbol' ? undefined : ownDescriptor(x, keys[i]);
    if (property === undefined) continue;
    // What it gives is looked through by nobody.
    if (keys[i] === 'toJSON' && typeof property.value === 'function' && (own(property.value) || isKept(property.value))) refuse();
    if (hasOwn(property, 'value')) judge(property.value, seen, depth);
    else if (property.enumerable && property.get !== undefined) {
      if (own(property.get)) refuse();
      judge(property.get, seen, depth);
    }
  }
  const above = getPrototypeOf(x);
  if (above === ObjectPrototype || above === ArrayPrototype && isArray(x)) return;
  if (above !== null) judge(above, seen, depth); // a native reads what is inherited, too
  // The elements of a collection; another object has none.
  const see = (value, key) => {
    judge(value, seen, depth);
    judge(key, seen, depth);
  };
  for (let i = 0; i < 2; i++) {
    try {
      apply(i === 0 ? eachOfMap : eachOfSet, x, [see]);
    } catch (error) {
      if (!(error instanceof TypeErrorCtor)) throw error;
    }
  }
}

const { TypeError: TypeErrorCtor } = G;

const refuse = () => deny('global-object', 'data that may hold more than data');

/** Deny bytes with properties, which a payload has put there; of many bytes the keys are not listed. */
function assertBare(bytes) {
  let count = 0;
  try {
    count = apply(viewLength, bytes, []);
  } catch (error) {
    if (!(error instanceof TypeErrorCtor)) throw error; // a DataView, which has no elements
  }
  if (count <= MAX_BYTES && ownKeys(bytes).length !== count) refuse();
}

function judge(x, seen, depth) {
  if (!isObject(x)) return;
  if (typeof x === 'function' && (own(x) || isKept(x))) {
    assertMute(x);
    return;
  }
  if (typeof x === 'function' ? !isListed(x) : v(x) !== x) deny(labelOf(v(x)) || 'global-object', 'data that holds more than data');
  if (typeof x !== 'function') look(x, seen, depth + 1);
}
