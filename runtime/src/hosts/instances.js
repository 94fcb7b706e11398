// Instances of the language's classes, renewed for a host: a host that reads an object twice gets the same both times, and none of the
// properties that a payload has added.
import {
  apply, construct, create, defineProperty, ErrorCtor, G, get, getPrototypeOf, hasOwn, isView, making, ownDescriptor, ownKeys, RegExpCtor,
  RegExpPrototype, weakMap,
} from '../natives.js';
import { own, v } from '../membrane.js';
import { settle } from './captured.js';

const MAX_DEPTH = 50;
const { Date: DateCtor, Map: MapCtor, Set: SetCtor } = G;
const { getTime } = DateCtor.prototype;
const { forEach: eachOfMap, set: addToMap } = MapCtor.prototype;
const { forEach: eachOfSet, add: addToSet } = SetCtor.prototype;
const accessor = (prototype, key) => ownDescriptor(prototype, key).get;
const source = accessor(RegExpPrototype, 'source');
const flags = accessor(RegExpPrototype, 'flags');
const TypedArrayPrototype = getPrototypeOf(G.Uint8Array.prototype);
const nameOfView = accessor(TypedArrayPrototype, G.Symbol.toStringTag);
const VIEW = ['buffer', 'byteOffset', 'length'];
const partsOfView = [];
for (let i = 0; i < VIEW.length; i++) partsOfView[i] = accessor(TypedArrayPrototype, VIEW[i]);

// By the prototype of a class of the language: what tells an instance of it, and how that is renewed, with `copy` for what it holds.
const renewals = weakMap();
const views = create(null);

const when = (name, slot, renew) => {
  const made = G[name];
  if (typeof made === 'function') renewals.set(made.prototype, { __proto__: null, slot, renew });
};

when('Date', getTime, (x, copy, remember, time) => construct(DateCtor, [time]));
when('RegExp', source, (x, copy, remember, text) => construct(RegExpCtor, [text, apply(flags, x, [])]));
when('Map', accessor(MapCtor.prototype, 'size'), (x, copy, remember) => {
  const made = remember(construct(MapCtor, []));
  apply(eachOfMap, x, [(value, key) => { apply(addToMap, made, [copy(key), copy(value)]); }]);
  return made;
});
when('Set', accessor(SetCtor.prototype, 'size'), (x, copy, remember) => {
  const made = remember(construct(SetCtor, []));
  apply(eachOfSet, x, [(value) => { apply(addToSet, made, [copy(value)]); }]);
  return made;
});
when('Promise', undefined, (x, copy) => settle(x, copy, (error) => { throw copy(error); }));

const BOXED = ['String', 'Number', 'Boolean', 'BigInt', 'Symbol'];
for (let i = 0; i < BOXED.length; i++) when(BOXED[i], G[BOXED[i]].prototype.valueOf, (x, copy, remember, value) => value);

const ERRORS = ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError', 'AggregateError', 'SuppressedError'];
for (let i = 0; i < ERRORS.length; i++) {
  const kind = G[ERRORS[i]]?.prototype;
  when(ERRORS[i], undefined, (x, copy, remember) => {
    const made = remember(construct(ErrorCtor, [], making(kind)));
    const keys = ownKeys(x);
    for (let k = 0; k < keys.length; k++) keepValue(x, made, keys[k], copy);
    if (!hasOwn(x, 'name')) keepValue(x, made, 'name', copy);
    return made;
  });
}

function keepValue(x, made, key, copy) {
  if (typeof key === 'symbol') return;
  const value = copy(v(get(x, key)));
  defineProperty(made, key, { __proto__: null, value, writable: true, enumerable: ownDescriptor(x, key)?.enumerable === true, configurable: true });
}

// Names of TypedArray constructors are those of their instances' `@@toStringTag`.
const VIEWS = ownKeys(G);
for (let i = 0; i < VIEWS.length; i++) {
  const property = ownDescriptor(G, VIEWS[i]);
  const made = property !== undefined && hasOwn(property, 'value') && typeof property.value === 'function' ? property.value : undefined;
  if (made !== undefined && getPrototypeOf(made) === TypedArrayPrototype.constructor) views[VIEWS[i]] = made;
}

/** A view of the same bytes, of the same class of the language's or the host's. */
function renewedView(x) {
  const name = apply(nameOfView, x, []);
  if (name === undefined) return undefined; // a DataView, which has no names
  const parts = [];
  for (let i = 0; i < partsOfView.length; i++) parts[i] = apply(partsOfView[i], x, []);
  let kind = getPrototypeOf(x);
  for (let depth = 0; kind !== null && depth < MAX_DEPTH && isOfPayload(kind); depth++) kind = getPrototypeOf(kind);
  return construct(views[name], parts, kind === null ? views[name] : making(kind));
}

const isOfPayload = (prototype) => {
  const maker = ownDescriptor(prototype, 'constructor');
  return maker === undefined || own(maker.value);
};

/**
 * A new instance like `x`, or undefined where `x` is no instance of a class of the language's.
 * @param {function} copy what a host gets for what lies in `x`
 * @param {function} remember is told of the new instance before what lies in it is copied, and gives it back
 */
export function renewed(x, copy, remember) {
  if (isView(x)) return renewedView(x);
  for (let prototype = getPrototypeOf(x), depth = 0; prototype !== null && depth < MAX_DEPTH; prototype = getPrototypeOf(prototype), depth++) {
    const found = renewals.get(prototype);
    if (found === undefined) continue;
    let held;
    try {
      held = found.slot === undefined ? undefined : apply(found.slot, x, []);
    } catch {
      return undefined; // it only inherits from an instance or a class
    }
    return found.renew(x, copy, remember, held);
  }
  return undefined;
}
