/**
 * What a native gets for an argument that it reads members of: an object of the page's would give it raw natives, and so would one of the
 * payload's on which a function of the page has put one, before the native reads it or as long as it is kept.
 */
import { createDataProperty, get, getPrototypeOf, isObject, isView, iteratorSymbol, newProxy, ObjectPrototype, ownDescriptor, ownKeys, weakMap }
  from '../natives.js';
import { alias, v } from '../membrane.js';
import { sp } from '../patterns.js';
import { isProtected } from '../protection.js';

const views = weakMap();

/** The view of `x`, always the same one: a listener is removed by its identity. */
export const viewed = (x) => {
  if (typeof x === 'function' || !isObject(x)) return x;
  let view = views.get(x);
  if (view !== undefined) return view;
  // The target has no properties, so that a frozen object may have views in it (ECMA-262 §10.5.8).
  view = newProxy({ __proto__: null }, {
    __proto__: null,
    get: (target, key) => dictionary(v(get(x, key))),
    ownKeys: () => ownKeys(x),
    getOwnPropertyDescriptor: (target, key) => ({
      __proto__: null, value: undefined, writable: true, enumerable: ownDescriptor(x, key)?.enumerable === true, configurable: true,
    }),
  });
  views.set(x, view);
  alias(view, x);
  return view;
};

/** Whether `x` is what the engine has made: nothing of the payload's lies in it or above it. */
const isOfEngine = (x) => {
  const above = getPrototypeOf(x);
  return above !== null && above !== ObjectPrototype && ownKeys(x).length === 0 && isProtected(above);
};

/** A dictionary as its view, a list of such as a list of views, whatever else lies in them as it is. */
export const dictionary = (x) => {
  if (typeof x === 'function' || !isObject(x) || isView(x)) return x;
  if (typeof x[iteratorSymbol] !== 'function') return isOfEngine(x) ? x : viewed(x);
  const list = sp(x);
  for (let i = 0; i < list.length; i++) createDataProperty(list, i, dictionary(list[i]));
  return list;
};
