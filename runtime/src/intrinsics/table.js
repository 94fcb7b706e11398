/**
 * Handlers of intrinsics as tables. A family has the paths of holders ('' is the global object); a holder has names of its
 * members, divided by `|`, and what is done: a function is a handler of calls, an object a handler as membrane.js takes it, a
 * string the construct with which a use is denied. `get x` is the getter of `x`, `@@x` the property whose key is Symbol.x.
 */

import { apply, ownDescriptor, ownKeys, split, TypeError } from '../natives.js';
import { denied, handler } from '../membrane.js';

const notConstructor = () => { throw new TypeError('not a constructor'); };

/** Make known what `how` says about the function or object `real`. */
export const behave = (real, how) => {
  if (typeof how === 'string') denied(real, how, undefined, how === 'Function()' ? 'new Function()' : how);
  else handler(real, typeof how === 'function' ? { __proto__: null, call: how, construct: notConstructor } : how);
};

/** What the table `family` says about the member `name` of the holder at `path`, or undefined. */
export const lookUp = (family, path, name) => {
  const table = ownDescriptor(family, path);
  if (table === undefined) return undefined;
  const groups = ownKeys(table.value);
  for (let i = 0; i < groups.length; i++) {
    const names = apply(split, groups[i], ['|']);
    for (let j = 0; j < names.length; j++) if (names[j] === name) return table.value[groups[i]];
  }
  return undefined;
};
