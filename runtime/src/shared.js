// What the run-times of a realm know in common. Each program has one of its own, but what one payload has made, another may meet.
// The object is at a place of the global object that no payload sees.
import { apply, create, defineProperty, G, hasOwn, isObject, ownDescriptor, weakMap, weakSet } from './natives.js';

const { Symbol: SymbolCtor } = G;
const { for: symbolFor } = SymbolCtor;

/** Where it is. No payload reads or writes this property. */
export const SHARED = apply(symbolFor, SymbolCtor, ['evalward']);

const make = () => {
  const value = create(null);
  value.names = create(null); // globals that a payload has made
  value.proxies = undefined; // Proxies that a payload has made, once there is one
  value.page = undefined; // what page/trees.js notes
  defineProperty(G, SHARED, { __proto__: null, value, writable: false, enumerable: false, configurable: false });
  return value;
};

const found = ownDescriptor(G, SHARED);
export const shared = found !== undefined && hasOwn(found, 'value') && isObject(found.value) ? found.value : make();

/** Whether a payload has made the global `name`: it is no intrinsic, timer or host object. */
export const isForged = (name) => shared.names[name] === true;

/** Note that a payload has made the Proxy `x`. */
export const noteProxy = (x) => {
  shared.proxies ??= weakSet();
  shared.proxies.add(x);
};

/** Whether a payload, of this program or another, has made `x` as a Proxy. */
export const isProxy = (x) => shared.proxies !== undefined && shared.proxies.has(x);

/** The sets in which the rules of the page note nodes. */
export const pageNotes = () => (shared.page ??= {
  __proto__: null, depth: 0, isListening: false, isUnjudged: false, isAnyReleased: false, released: weakSet(), roots: weakMap(),
});
