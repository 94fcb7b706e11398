/** Arrays and typed arrays (ECMA-262 §23.1, §23.2). */

import { apply, ArrayCtor, ArrayPrototype, construct, createDataProperty, get, getPrototypeOf, hasOwn, isArray, isObject, isView, newProxy,
  ownDescriptor, speciesSymbol, then, TypeError } from '../natives.js';
import { alias, deny, isOfThePage, isOpaque, isRuled, pageHelps, recordOf, unwrap, v } from '../membrane.js';
import { isOwn } from '../own.js';
import { define, set, writable, ws } from '../writes.js';
import { withTexts } from '../functions.js';
import { intrinsicConstructor } from './constructors.js';
import { safeView } from './views.js';

/** A method that changes its receiver: the receiver is written to by the payload. */
const changes = (self, args, real) => {
  const target = isObject(self) ? ws(self) : self;
  const result = apply(real, target, args);
  return result === target ? self : result;
};

const must = (done) => {
  if (!done) throw new TypeError('Cannot add property, or assign to read only property');
};

/** `list` as the array that a constructor of the payload's made: written with safe values, as the payload would. */
const fill = (made, list) => {
  writable(made);
  for (let i = 0; i < list.length; i++) {
    // A hole stays one: what the constructor has put there shows.
    if (!hasOwn(list, i)) continue;
    must(define(made, '' + i, { __proto__: null, value: v(list[i]), writable: true, enumerable: true, configurable: true }));
  }
  must(set(made, 'length', list.length, made));
  return made;
};

/** An array without a `constructor`: ArraySpeciesCreate (§23.1.3.1.1) makes an ordinary array for it. */
const withoutSpecies = (self) => {
  const view = newProxy(self, {
    __proto__: null,
    get: (target, key) => (key === 'constructor' ? undefined : get(target, key)),
    set: (target, key, value) => set(target, key, value, target),
  });
  alias(view, self);
  return view;
};

/** Whether `self` is an array that does not choose a constructor, and of which no trap of the payload's is asked. */
const isOrdinary = (self) => !isOpaque(self) && getPrototypeOf(self) === ArrayPrototype && !ownDescriptor(self, 'constructor');

/**
 * A method whose result is made by ArraySpeciesCreate: the payload may have chosen the constructor. Nothing of the payload's
 * may run between the question and the method's own.
 */
const species = (self, args, real, isWritten = false) => {
  if (!isObject(self) || !isArray(self) || !isWritten && isOrdinary(self)) return apply(real, self, args);
  let C = v(self.constructor);
  if (isObject(C)) {
    C = v(C[speciesSymbol]);
    if (C === null) C = undefined;
  }
  if (C !== undefined && !isConstructor(C)) throw new TypeError('object.constructor[Symbol.species] is not a constructor');
  const list = apply(real, withoutSpecies(self), args);
  if (C === undefined || unwrap(C) === ArrayCtor) return list;
  return fill(v(construct(C, [list.length])), list);
};

/** The same, after the first `count` arguments were converted as the method does before it asks for the constructor. */
const converting = (count) => (self, args, real, isWritten) => {
  for (let i = 0; i < count && i < args.length; i++) if (isObject(args[i])) args[i] = +args[i];
  return species(self, args, real, isWritten);
};

/** The property `key` of `o`, which a native reads once more: it is the payload's or the realm's. */
const certain = (o, key) => {
  for (let q = o; q !== null; q = getPrototypeOf(q)) {
    const property = ownDescriptor(q, key);
    if (property === undefined) continue;
    const getter = property.get;
    if (typeof getter === 'function' && !isOwn(getter) && isOfThePage(recordOf(getter))) deny('function-constructor', 'a class that the page chooses');
    break;
  }
  const value = get(o, key);
  if (isRuled(value)) deny('function-constructor', 'a native as a class');
  return value;
};

/** A method that constructs what SpeciesConstructor (§7.3.22) finds, with the receiver's buffer. */
const kindred = (self, args, real) => {
  const C = pageHelps && isView(self) ? certain(self, 'constructor') : undefined;
  if (isObject(C)) certain(C, speciesSymbol);
  return apply(real, self, args);
};

const probe = newProxy(function () {}, { __proto__: null, construct: () => ({ __proto__: null }) });

/** IsConstructor (§7.2.4): asked of a new target, of which nothing is read. */
const isConstructor = (C) => {
  if (typeof C !== 'function') return false;
  try {
    construct(probe, [], C);
    return true;
  } catch {
    return false;
  }
};

/** `Array.from` and `Array.of` for a constructor of the payload's; `counts` says that it gets the length. */
const maker = (counts) => (self, args, real) => {
  const C = intrinsicConstructor(self);
  const list = () => apply(real, ArrayCtor, args);
  if (!isConstructor(C) || C === ArrayCtor) return list();
  return fill(v(construct(C, counts ? [args.length] : [])), list());
};

/** A static method that makes an instance of its receiver, where an intrinsic checks what is made. */
export const statics = (self, args, real) => apply(real, intrinsicConstructor(self), args);

/** `toLocaleString(locales, options)` passes both on to the method of each element, which may be a function that the page has put there. */
const localised = (self, args, real) => {
  if (args.length === 0 || !isObject(self) || isView(self)) return apply(real, self, args);
  const list = [];
  for (let i = 0; i < self.length; i++) {
    const element = v(self[i]);
    createDataProperty(list, i, isObject(element) ? safeView(element) : element);
  }
  return apply(real, list, args);
};

export const arrays = {
  'Array.prototype': {
    'push|pop|shift|unshift|reverse|sort|fill|copyWithin': changes,
    splice(self, args, real) {
      // Its elements are written to as the payload would, and its class says what is made.
      const isWritten = pageHelps && isArray(self);
      return converting(2)(isWritten ? writable(self) : isObject(self) ? ws(self) : self, args, real, isWritten);
    },
    slice: converting(2),
    flat: converting(1),
    'concat|map|filter|flatMap': species,
    toLocaleString: localised,
    'join|toString': (self, args, real) => apply(real, isObject(self) ? withTexts(self) : self, args),
  },
  '%TypedArray%.prototype': { 'map|filter|slice|subarray': kindred },
  Array: {
    from: maker(false),
    of: maker(true),
    fromAsync(self, args, real) {
      const C = intrinsicConstructor(self);
      const list = apply(real, ArrayCtor, args);
      return typeof C !== 'function' || C === ArrayCtor ? list : apply(then, list, [(x) => fill(v(construct(C, [])), x)]);
    },
    'get @@species': (self) => self,
  },
};
