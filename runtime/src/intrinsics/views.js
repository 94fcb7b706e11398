/** Views: what a native gets instead of an object whose methods it calls. What it reads of them is safe. */

import { get, newProxy } from '../natives.js';
import { alias, v } from '../membrane.js';

/** A view of `o` for a native, which reads `constructor` as `kind`, if one is given. */
export const safeView = (o, kind) => {
  const view = newProxy(o, {
    __proto__: null,
    get: (target, key) => (kind !== undefined && key === 'constructor' ? kind : v(get(target, key))),
  });
  alias(view, o);
  return view;
};
