/** `JSON` (ECMA-262 §25.5). */

import { apply, create, createDataProperty, G, getPrototypeOf, isArray, isObject, StringCtor } from '../natives.js';
import { v } from '../membrane.js';
import { assertDefinable, writable } from '../writes.js';
import { at } from './arguments.js';
import { readsDeep } from './deep.js';

const safeValue = (key, value) => v(value);

const { Number: NumberCtor, Boolean: BooleanCtor } = G;
const BOXES = [NumberCtor.prototype, StringCtor.prototype, BooleanCtor.prototype];

/** Whether `x` is an object for a primitive, which is written as that. */
const isBox = (x) => {
  const above = getPrototypeOf(x);
  return above === BOXES[0] || above === BOXES[1] || above === BOXES[2];
};

/** A replacer for a list of names (§25.5.2.1, step 5): objects have those alone, in the list's order. */
const picking = (list) => {
  const known = create(null);
  const names = [];
  for (let i = 0; i < list.length; i++) {
    const x = v(list[i]);
    if (typeof x !== 'string' && typeof x !== 'number' && !(isObject(x) && isBox(x))) continue;
    const name = StringCtor(x);
    if (known[name] !== true) createDataProperty(names, names.length, name);
    known[name] = true;
  }
  return (key, value) => {
    const safe = v(value);
    if (!isObject(safe) || typeof safe === 'function' || isArray(safe) || isBox(safe)) return safe;
    return picked(safe, names);
  };
};

const picked = (from, names) => {
  const made = {};
  for (let i = 0; i < names.length; i++) {
    const held = v(from[names[i]]);
    if (held !== undefined) createDataProperty(made, names[i], held);
  }
  return made;
};

export const json = {
  JSON: {
    // SerializeJSONProperty (§25.5.2.2) gives the replacer what lies in the object.
    stringify(self, args, real) {
      const replacer = at(args, 1);
      if (typeof replacer !== 'function') {
        if (readsDeep() && isObject(at(args, 0))) args[1] = isArray(replacer) ? picking(replacer) : safeValue;
        return apply(real, undefined, args);
      }
      args[1] = function (key, value) { // eslint-disable-line object-shorthand -- the holder is its receiver
        return apply(replacer, v(this), [key, v(value)]);
      };
      return apply(real, undefined, args);
    },
    // InternalizeJSONProperty (§25.5.1.1) writes to the holder, which the reviver may have replaced by any object.
    parse(self, args, real) {
      const reviver = at(args, 1);
      if (typeof reviver !== 'function') return apply(real, undefined, args);
      return apply(real, undefined, [args[0], function (...given) {
        if (isObject(this)) {
          writable(this);
          assertDefinable(this);
        }
        return apply(reviver, this, given);
      }]);
    },
  },
};
