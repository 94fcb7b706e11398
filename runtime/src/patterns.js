// Iteration and destructuring as P′ prints them. What an iterator or a property gives is made safe at once.
import {
  ArrayIteratorPrototype, ArrayPrototype, arrayIteratorNext, arrayValues, createDataProperty, getPrototypeOf, hasOwn, isArray, isObject, isView,
  iteratorSymbol, ownDescriptor, ownKeys, symbols, ToObject, TypeError,
} from './natives.js';
import { checkAlive } from './denial.js';
import { v } from './membrane.js';
import { c0, c1 } from './calls.js';

/** Whether the iterators of arrays are those of the engine. */
const areOriginal = () => ArrayIteratorPrototype.next === arrayIteratorNext;

/** Whether iterating `x` reads its elements one by one and nothing else. */
function isPlainArray(x) {
  return isArray(x) && getPrototypeOf(x) === ArrayPrototype && !hasOwn(x, iteratorSymbol) &&
    ArrayPrototype[iteratorSymbol] === arrayValues && areOriginal();
}

/**
 * A new array of what is left of `record`. The engine makes it from an iterator without a prototype: that defines the elements
 * as `defineProperty` does, and costs a tenth.
 */
function rest(record) {
  const step = { __proto__: null, done: false, value: undefined };
  const next = () => {
    step.value = record.n();
    step.done = record.done;
    return step;
  };
  return [...{ __proto__: null, [iteratorSymbol]: () => ({ __proto__: null, next }) }];
}

/** The elements of an array, or of a list that iterates as arrays do: `n` is the next one, `r` the rest, `c` closes. */
class Elements {
  list;
  at = 0;
  constructor(list) { this.list = list; }
  get done() { return this.list === undefined; }
  n() {
    const { list } = this;
    if (list === undefined) return undefined;
    if (this.at < v(list.length)) return v(list[this.at++]);
    this.list = undefined;
    return undefined;
  }
  r() { return rest(this); }
  c() {}
}

/** An iterator record (ECMA-262 §7.4.1). */
class Iteration {
  iterator;
  next;
  done = false;
  constructor(iterator, next) {
    this.iterator = iterator;
    this.next = next;
  }
  n() {
    if (this.done) return undefined;
    // An iterator that throws is not closed.
    this.done = true;
    const result = c0(this.next, this.iterator);
    if (!isObject(result)) refuse(result);
    if (result.done) return undefined;
    const value = v(result.value);
    this.done = false;
    return value;
  }
  r() { return rest(this); }
  c() {
    if (this.done) return;
    this.done = true;
    const close = this.iterator.return;
    if (close === undefined || close === null) return;
    const result = c0(close, this.iterator);
    if (!isObject(result)) refuse(result);
  }
}

/** Throws what the engine throws for a result of an iterator that is no object. */
function refuse(result) {
  for (const each of { __proto__: null, [iteratorSymbol]: () => ({ __proto__: null, next: () => result }) }) return each;
}

/** GetIterator (ECMA-262 §7.4.4). */
export function it(x) {
  if (isPlainArray(x)) return new Elements(x);
  const method = x[iteratorSymbol];
  if (typeof method !== 'function') throw new TypeError('object is not iterable');
  // Lists of the DOM, for one.
  if (method === arrayValues && isObject(x) && !isView(x) && areOriginal()) return new Elements(x);
  const iterator = c0(method, x);
  if (!isObject(iterator)) throw new TypeError('Result of the Symbol.iterator method is not an object');
  return new Iteration(iterator, iterator.next);
}

/** What `...x` spreads in arguments and arrays: a new array, which is iterated as the engine's own. */
export function sp(x) {
  const list = it(x).r();
  if (isPlainArray(list)) return list;
  // The page has changed how arrays iterate; this one does as before.
  createDataProperty(list, iteratorSymbol, () => {
    let at = 0;
    return {
      __proto__: null,
      next: () => (at < list.length ? { __proto__: null, done: false, value: list[at++] } : { __proto__: null, done: true, value: undefined }),
    };
  });
  return list;
}

/** CopyDataProperties (ECMA-262 §7.3.26) of safe values, to an object without a prototype: an assignment defines. */
function copy(from, excluded) {
  const into = { __proto__: null };
  const keys = ownKeys(from);
  outer: for (let i = 0; i < keys.length; i++) {
    for (let j = 0; j < excluded.length; j++) if (excluded[j] === keys[i]) continue outer;
    const property = ownDescriptor(from, keys[i]);
    if (property !== undefined && property.enumerable) into[keys[i]] = v(from[keys[i]]);
  }
  return into;
}

const NONE = { __proto__: null, length: 0 };

/**
 * What `yield*` iterates instead of `x`. The engine passes on to its methods what the generator is given, so that a raw function among
 * them would be called with the payload's text.
 */
export function ye(x) {
  if (isPlainArray(x)) return x;
  return {
    __proto__: null,
    get [iteratorSymbol]() { return opens(x, iteratorSymbol); },
    get [symbols.asyncIterator]() { return opens(x, symbols.asyncIterator); },
  };
}

const opens = (x, key) => {
  const method = x[key];
  if (method === undefined || method === null) return undefined;
  if (typeof method !== 'function') throw new TypeError('object is not iterable');
  return () => steps(c0(method, x));
};

function steps(iterator) {
  if (!isObject(iterator)) return iterator;
  const { next } = iterator;
  const closing = (key) => {
    const method = iterator[key];
    return method === undefined || method === null ? undefined : (x) => c1(method, iterator, v(x));
  };
  return {
    __proto__: null,
    next: (x) => c1(next, iterator, v(x)),
    get return() { return closing('return'); },
    get throw() { return closing('throw'); },
  };
}

/** What `...x` copies in an object literal. The engine copies a primitive, whose properties are its characters. */
export function os(x) {
  return isObject(x) ? copy(x, NONE) : x;
}

/** What the engine disposes of instead of `x`, which `using` declares (CreateDisposableResource of explicit resource management). */
export function us(x) {
  if (x === undefined || x === null) return x;
  const method = isObject(x) ? v(x[symbols.dispose]) : undefined;
  if (typeof method !== 'function') throw new TypeError('the value is not disposable');
  const resource = { __proto__: null };
  createDataProperty(resource, symbols.dispose, () => {
    checkAlive();
    c0(method, x);
  });
  return resource;
}

/** RequireObjectCoercible (ECMA-262 §7.2.1), before a pattern takes anything. */
export function need(x) {
  if (x === undefined || x === null) throw new TypeError(`Cannot destructure '${x}' as it is ${x}.`);
  return x;
}

/** The rest of an object pattern: all but `keys`, which may be numbers. */
export function om(x, keys) {
  for (let i = 0; i < keys.length; i++) if (typeof keys[i] === 'number') keys[i] = '' + keys[i];
  return { ...copy(ToObject(x), keys) };
}
