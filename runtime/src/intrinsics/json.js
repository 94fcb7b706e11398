/** `JSON` (ECMA-262 §25.5). */

import { apply, isObject } from '../natives.js';
import { v } from '../membrane.js';
import { assertDefinable, writable } from '../writes.js';
import { at } from './arguments.js';

export const json = {
  JSON: {
    // SerializeJSONProperty (§25.5.2.2) gives the replacer what lies in the object.
    stringify(self, args, real) {
      const replacer = at(args, 1);
      if (typeof replacer !== 'function') return apply(real, undefined, args);
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
