/** What a native gets for an argument whose methods it will read and call: an object of the page's would give it raw natives. */
import { getPrototypeOf, isObject, ObjectPrototype, ownDescriptor, ownKeys, weakMap } from '../natives.js';
import { isOpaque, own } from '../membrane.js';
import { safeView } from '../intrinsics/views.js';

/** Whether nothing but values and own functions is to be read of `x`, and nothing that changes with each read. */
const isPlain = (x) => {
  if (isOpaque(x) || getPrototypeOf(x) !== ObjectPrototype) return false;
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(x, keys[i]);
    if (property === undefined || property.get !== undefined) return false;
    if (typeof property.value === 'function' && !own(property.value) && !isOpaque(property.value)) return false;
  }
  return true;
};

const views = weakMap();

/** The view of `x`, always the same one: a listener is removed by its identity. */
export const viewed = (x) => {
  if (typeof x === 'function' || !isObject(x)) return x;
  const known = views.get(x);
  if (known !== undefined) return known;
  if (isPlain(x)) return x;
  const view = safeView(x);
  views.set(x, view);
  return view;
};
