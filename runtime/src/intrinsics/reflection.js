/**
 * `Reflect` and the reflective functions of `Object` (ECMA-262 §20.1.2, §28.1). What moves a value to a name that the
 * payload chooses moves the safe value, and what changes an object is checked as a write of the payload's.
 */

import { apply, assertObject, create, deleteProperty, G, getPrototypeOf, hasOwn, isObject, ownDescriptor, ownKeys, setPrototypeOf, ToObject, TypeError }
  from '../natives.js';
import { deny } from '../denial.js';
import { own, receiver, unwrap, v } from '../membrane.js';
import { asPrototype, assertOpen } from '../protection.js';
import { define, remove, set, toKey } from '../writes.js';
import { read } from '../reads.js';
import { at } from './arguments.js';
import { isHidden } from './symbols.js';

const FIELDS = ['value', 'get', 'set', 'enumerable', 'configurable', 'writable'];

/** ToPropertyDescriptor (§6.2.6.5) with safe values. */
const descriptor = (x) => {
  if (!isObject(x)) throw new TypeError('Property description must be an object');
  const made = create(null);
  for (let i = 0; i < 6; i++) if (FIELDS[i] in x) made[FIELDS[i]] = v(x[FIELDS[i]]);
  return made;
};

/** The first argument, which must be an object. */
const target = (args, name) => assertObject(at(args, 0), name + ' called on non-object');

/** A descriptor whose values are safe, as the payload gets it. */
const shown = (property) => {
  if (property) for (let i = 0; i < 3; i++) if (hasOwn(property, FIELDS[i])) property[FIELDS[i]] = v(property[FIELDS[i]]);
  return property;
};

/** What is behind a wrapper or the facade of the global object, which may not say itself that a property is not configurable. */
const behind = (x) => (unwrap(x) === G ? G : receiver(x));

/** [[GetOwnProperty]]. */
const shownOf = (self, args, real) => shown(apply(real, undefined, [behind(at(args, 0)), at(args, 1)]));

/** CreateListFromArrayLike of an object's own enumerable properties, as pairs of key and safe value. */
const each = (from, visit) => {
  const keys = ownKeys(from);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(from, keys[i]);
    if (property && property.enumerable) visit(keys[i], v(from[keys[i]]));
  }
};

const mustDefine = (o, k, property) => {
  if (!define(o, k, property)) throw new TypeError('Cannot redefine property: ' + (typeof k === 'symbol' ? 'Symbol()' : k));
};

/** ObjectDefineProperties (§20.1.2.3.1): all descriptors are read before the first is used. */
const defineAll = (o, properties) => {
  const made = create(null);
  each(ToObject(properties), (k, x) => { made[k] = descriptor(x); });
  const keys = ownKeys(made);
  for (let i = 0; i < keys.length; i++) mustDefine(o, keys[i], made[keys[i]]);
  return o;
};

/**
 * Another prototype for an object. Only compiled classes may: `_inherits` and `__extends` let a constructor of the payload
 * inherit from another constructor. Everything else may put a facade or a host object above an object.
 */
export const reparent = (o, above) => {
  if (isObject(o) && getPrototypeOf(o) !== above) {
    if (!own(o) || typeof above !== 'function') deny('prototype-tampering');
    return setPrototypeOf(o, above);
  }
  return true;
};

const reparents = (args, real) => {
  const above = at(args, 1);
  return isObject(at(args, 0)) && (above === null || isObject(above)) ? reparent(args[0], above) : apply(real, undefined, args);
};

/** An operation on `args[0]` that counts as a write to it. */
const written = (self, args, real) => {
  if (isObject(at(args, 0))) assertOpen(args[0]);
  return apply(real, undefined, args);
};

const above = (self, args, real) => asPrototype(apply(real, undefined, args));

const mapped = (self, args, real) => {
  const list = apply(real, undefined, args);
  for (let i = 0; i < list.length; i++) list[i] = v(list[i]);
  return list;
};

/** Annex B.2.2.2 and B.2.2.3. */
const accessor = (part) => (self, args) => {
  if (typeof at(args, 1) !== 'function') throw new TypeError('Object.prototype.__defineGetter__: Expecting function');
  mustDefine(ToObject(self), toKey(args[0]), { __proto__: null, [part]: args[1], enumerable: true, configurable: true });
};

/** Annex B.2.2.4 and B.2.2.5. */
const lookup = (part) => (self, args) => {
  const k = toKey(at(args, 0));
  for (let o = ToObject(self); o !== null; o = getPrototypeOf(o)) {
    const property = ownDescriptor(o, k);
    if (property !== undefined) return property[part];
  }
  return undefined;
};

export const reflection = {
  Object: {
    assign(self, args) {
      const to = ToObject(at(args, 0));
      for (let i = 1; i < args.length; i++) {
        if (args[i] === undefined || args[i] === null) continue;
        each(ToObject(args[i]), (k, x) => {
          if (!set(to, k, x, to)) throw new TypeError('Cannot assign to read only property');
        });
      }
      return to;
    },
    create(self, args, real) {
      const made = apply(real, undefined, [at(args, 0)]);
      return at(args, 1) === undefined ? made : defineAll(made, args[1]);
    },
    defineProperty(self, args) {
      const o = target(args, 'Object.defineProperty');
      mustDefine(o, toKey(at(args, 1)), descriptor(at(args, 2)));
      return o;
    },
    defineProperties: (self, args) => defineAll(target(args, 'Object.defineProperties'), at(args, 1)),
    getPrototypeOf: above,
    'freeze|seal|preventExtensions': written,
    getOwnPropertyDescriptor: shownOf,
    getOwnPropertyDescriptors(self, args, real) {
      const all = apply(real, undefined, [behind(at(args, 0))]);
      const keys = ownKeys(all);
      for (let i = 0; i < keys.length; i++) {
        if (isHidden(keys[i])) deleteProperty(all, keys[i]);
        else shown(all[keys[i]]);
      }
      return all;
    },
    values: mapped,
    entries(self, args, real) {
      const list = apply(real, undefined, args);
      for (let i = 0; i < list.length; i++) list[i][1] = v(list[i][1]);
      return list;
    },
    fromEntries(self, args, real) {
      const made = apply(real, undefined, args);
      each(made, (k, x) => { made[k] = x; });
      return made;
    },
    setPrototypeOf(self, args, real) {
      reparents(args, real);
      return args[0];
    },
  },
  Reflect: {
    get(self, args) {
      const o = target(args, 'Reflect.get');
      const k = toKey(at(args, 1));
      return read(o, k, args.length > 2 ? args[2] : o);
    },
    set(self, args) {
      const o = target(args, 'Reflect.set');
      return set(o, toKey(at(args, 1)), at(args, 2), args.length > 3 ? args[3] : o);
    },
    defineProperty(self, args) {
      const o = target(args, 'Reflect.defineProperty');
      const k = toKey(at(args, 1));
      return define(o, k, descriptor(at(args, 2)));
    },
    deleteProperty: (self, args) => remove(target(args, 'Reflect.deleteProperty'), toKey(at(args, 1))),
    getOwnPropertyDescriptor: shownOf,
    getPrototypeOf: above,
    preventExtensions: written,
    setPrototypeOf: (self, args, real) => reparents(args, real),
  },
  'Object.prototype': {
    __defineGetter__: accessor('get'),
    __defineSetter__: accessor('set'),
    __lookupGetter__: lookup('get'),
    __lookupSetter__: lookup('set'),
    'get __proto__': (self) => asPrototype(getPrototypeOf(ToObject(self))),
    'set __proto__': (self, args) => {
      ToObject(self);
      const above = at(args, 0);
      if (isObject(self) && (above === null || isObject(above))) reparent(self, above);
    },
  },
};
