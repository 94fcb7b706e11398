/** `JSON` (ECMA-262 §25.5). */

import { apply, create, createDataProperty, G, getPrototypeOf, isArray, isObject, StringCtor } from '../natives.js';
import { pageHelps, v, whileReading } from '../membrane.js';
import { asPrototype } from '../protection.js';
import { assertDefinable, writable } from '../writes.js';
import { at } from './arguments.js';
import { readsDeep } from './deep.js';

let treeOf;
/** How the tree of a value is made, where functions of the page may be called; page/serialising.js provides it. */
export const onSerialising = (make) => { treeOf = make; };

/** What a native has read under `key`: once an own `__proto__` is deleted, that is what the object inherits from. */
const safeValue = (key, value) => (key === '__proto__' ? asPrototype(v(value)) : v(value));

const { Number: NumberCtor, Boolean: BooleanCtor } = G;
const BOXES = [NumberCtor.prototype, StringCtor.prototype, BooleanCtor.prototype];

/** Whether `x` is an object for a primitive, which is written as that. */
const isBox = (x) => {
  const above = getPrototypeOf(x);
  return above === BOXES[0] || above === BOXES[1] || above === BOXES[2];
};

/** The names in a replacer that is a list (§25.5.2.1, step 5). */
const namesIn = (list) => {
  const known = create(null);
  const names = [];
  for (let i = 0; i < list.length; i++) {
    const x = v(list[i]);
    if (typeof x !== 'string' && typeof x !== 'number' && !(isObject(x) && isBox(x))) continue;
    const name = StringCtor(x);
    if (known[name] !== true) createDataProperty(names, names.length, name);
    known[name] = true;
  }
  return names;
};

/** A replacer for a list of names: objects have those alone, in the list's order. */
const picking = (list) => {
  const names = namesIn(list);
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
      if (treeOf !== undefined && isObject(at(args, 0))) {
        if (!pageHelps && typeof replacer !== 'function') return whileReading(() => apply(real, undefined, args));
        const names = isArray(replacer) ? namesIn(replacer) : undefined;
        return apply(real, undefined, [treeOf(args[0], typeof replacer === 'function' ? replacer : undefined, names), names, at(args, 2)]);
      }
      if (typeof replacer !== 'function') {
        if (readsDeep() && isObject(at(args, 0))) args[1] = isArray(replacer) ? picking(replacer) : safeValue;
        return apply(real, undefined, args);
      }
      args[1] = function (key, value) { // eslint-disable-line object-shorthand -- the holder is its receiver
        return apply(replacer, v(this), [key, safeValue(key, value)]);
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
        given[1] = safeValue(given[0], given[1]);
        return apply(reviver, this, given);
      }]);
    },
  },
};
