/** `JSON` (ECMA-262 §25.5). */

import { apply, isObject } from '../natives.js';
import { writable } from '../writes.js';
import { at } from './arguments.js';

export const json = {
  JSON: {
    // InternalizeJSONProperty (§25.5.1.1) writes to the holder, which the reviver may have replaced by any object.
    parse(self, args, real) {
      const reviver = at(args, 1);
      if (typeof reviver !== 'function') return apply(real, undefined, args);
      return apply(real, undefined, [args[0], function (...given) {
        if (isObject(this)) writable(this);
        return apply(reviver, this, given);
      }]);
    },
  },
};
