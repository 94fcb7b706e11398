// Which globals of this payload a later run-time must know of.
import { shared } from './shared.js';

const tests = { __proto__: null, length: 0 };
/** A run-time takes something from the globals for whose names `test` is true. */
export const onName = (test) => { tests[tests.length++] = test; };

/** Remember that a payload makes the global `name`, if a run-time takes anything from it. */
export function forge(name) {
  if (typeof name !== 'string') return;
  for (let i = 0; i < tests.length; i++) if (tests[i](name)) shared.names[name] = true;
}
