// The natives that the run-time needs, captured before anything else runs. Later changes of the realm do not matter:
// nothing here is read twice, and a method is called through `apply` or as an own property of our own instance.
// Literals have no prototype (`__proto__: null`) where the language would look a missing property up.

export const G = globalThis;

/** The captured functions of Reflect, by name; an own property of ours, so that the realm cannot change it. */
export const reflect = { __proto__: null };
{
  const names = Reflect.ownKeys(Reflect);
  for (let i = 0; i < names.length; i++) reflect[names[i]] = Reflect[names[i]];
}
export const {
  apply, construct, getPrototypeOf, getOwnPropertyDescriptor, defineProperty, ownKeys, get, has, isExtensible,
  deleteProperty, preventExtensions, setPrototypeOf, set: reflectSet,
} = reflect;
export const ownDescriptor = getOwnPropertyDescriptor;
export const { Object: ObjectCtor, Array: ArrayCtor, RegExp: RegExpCtor, String: StringCtor, Proxy: ProxyCtor, Error: ErrorCtor } = G;
export const { TypeError, ReferenceError } = G;
export const { create, freeze, hasOwn } = ObjectCtor;
export const { isArray } = ArrayCtor;
export const { isView } = G.ArrayBuffer;
export const { get: viewLength } = ownDescriptor(getPrototypeOf(G.Uint8Array.prototype), 'length');
export const ObjectPrototype = ObjectCtor.prototype;
export const ArrayPrototype = ArrayCtor.prototype;
export const RegExpPrototype = RegExpCtor.prototype;
export const { exec: regexpExec } = RegExpPrototype;
export const FunctionPrototype = getPrototypeOf(function () {});
export const symbols = { __proto__: null };
{
  const names = ownKeys(Symbol);
  for (let i = 0; i < names.length; i++) if (typeof Symbol[names[i]] === 'symbol') symbols[names[i]] = Symbol[names[i]];
}
export const { iterator: iteratorSymbol, species: speciesSymbol } = symbols;
export const SetPrototype = G.Set.prototype;
export const PromiseCtor = G.Promise;
export const PromisePrototype = PromiseCtor.prototype;
export const { then } = PromisePrototype;
export const { bind: functionBind, toString: functionToString } = FunctionPrototype;
export const {
  slice: stringSlice, charCodeAt, indexOf: stringIndexOf, lastIndexOf: stringLastIndexOf, toLowerCase: stringToLowerCase, includes, split,
} = StringCtor.prototype;
export const arrayValues = ArrayPrototype[iteratorSymbol];
export const { join: arrayJoin, toString: arrayToString } = ArrayPrototype;
export const ArrayIteratorPrototype = getPrototypeOf(apply(arrayValues, [], []));
export const { next: arrayIteratorNext } = ArrayIteratorPrototype;

const { WeakMap: WeakMapCtor, WeakSet: WeakSetCtor } = G;
const { get: weakMapGet, set: weakMapSet } = WeakMapCtor.prototype;
const { has: weakSetHas, add: weakSetAdd, delete: weakSetDelete } = WeakSetCtor.prototype;

/** CreateDataProperty (ECMA-262 §7.3.5) without a look at any prototype. */
export function createDataProperty(object, key, value) {
  return defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

/** A constructor of which only the prototype counts: as the new target of a native, it makes objects that inherit `methods` alone. */
export const making = (methods) => {
  const target = function () {};
  target.prototype = methods;
  return target;
};
const MAP = making({ __proto__: null, get: weakMapGet, set: weakMapSet });
const SET = making({ __proto__: null, has: weakSetHas, add: weakSetAdd, delete: weakSetDelete });

/** A WeakMap with methods of its own: calling them does not read WeakMap.prototype. */
export const weakMap = () => construct(WeakMapCtor, [], MAP);

/** A WeakSet with methods of its own. */
export const weakSet = () => construct(WeakSetCtor, [], SET);

export const newProxy = (target, handler) => new ProxyCtor(target, handler);

/** Whether `x` is an object; `document.all` is one, although `typeof` denies it (ECMA-262 annex B.3.6). */
export const isObject = (x) => (typeof x === 'object' ? x !== null : typeof x === 'function' || typeof x === 'undefined' && x !== undefined);

/** ToObject (ECMA-262 §7.1.18). */
export function ToObject(x) {
  if (x === undefined || x === null) throw new TypeError('Cannot convert undefined or null to object');
  return isObject(x) ? x : ObjectCtor(x);
}

/** `x`, if it is an object. @throws {TypeError} */
export function assertObject(x, message) {
  if (!isObject(x)) throw new TypeError(message);
  return x;
}

const NATIVE = '[native code]';
const isBlank = (char) => char === ' ' || char === '\n';

/** Whether the text of `f` is that of a native function, of a bound function or of a Proxy: an own function may hold these words. */
export const isNative = (f) => {
  if (typeof f !== 'function') return false;
  const text = apply(functionToString, f, []);
  const at = apply(stringIndexOf, text, [NATIVE]);
  if (at < 0) return false;
  let before = at - 1;
  let after = at + NATIVE.length;
  while (isBlank(text[before])) before--;
  while (isBlank(text[after])) after++;
  return text[before] === '{' && text[after] === '}' && after === text.length - 1;
};

/** Whether `f` looks like a function that the engine makes for one operation, such as those that settle a promise. */
export const isUnnamedNative = (f) => isNative(f) && ownDescriptor(f, 'name')?.value === '' && ownKeys(f).length === 2;

/**
 * Whether what every check rests on is the engine's own. A page that has replaced one of these sees, and may change, what
 * the run-time asks itself.
 */
export const isSound = isNative(apply) && isNative(functionToString) && isNative(stringIndexOf) && isNative(construct) && isNative(get) &&
  isNative(reflectSet) && isNative(getPrototypeOf) && isNative(getOwnPropertyDescriptor) && isNative(defineProperty) && isNative(ownKeys) &&
  isNative(weakMapGet) && isNative(weakMapSet) && isNative(weakSetHas) && isNative(weakSetAdd) && isNative(ProxyCtor) && isNative(hasOwn) &&
  isNative(functionBind) && isNative(isArray);
