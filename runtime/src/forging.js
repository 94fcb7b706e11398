// Which globals of this payload a later run-time must know of.
import { apply, defineProperty, G, includes } from './natives.js';
import { FORGED, forgedNames } from './forged.js';

const tests = { __proto__: null, length: 0 };
/** A run-time takes something from the globals for whose names `test` is true. */
export const onName = (test) => { tests[tests.length++] = test; };

function hasMeaning(name) {
  for (let i = 0; i < tests.length; i++) if (tests[i](name)) return true;
  return false;
}

/** Remember that a payload makes the global `name`, if a run-time takes anything from it. */
export function forge(name) {
  if (typeof name !== 'string' || apply(includes, name, [' ']) || !hasMeaning(name)) return;
  const now = forgedNames();
  if (apply(includes, now, [' ' + name + ' '])) return;
  defineProperty(G, FORGED, { __proto__: null, value: now + name + ' ', writable: false, enumerable: false, configurable: true });
}
