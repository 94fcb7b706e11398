/** Regular expressions and the methods of strings that use them (ECMA-262 §22.1.3, §22.2). */

import { apply, assertObject, construct, getPrototypeOf, includes, isObject, ownKeys, RegExpCtor, RegExpPrototype, speciesSymbol, symbols } from '../natives.js';
import { isOpaque, v } from '../membrane.js';
import { safeView } from './views.js';
import { p } from '../functions.js';
import { writable } from '../writes.js';
import { at } from './arguments.js';

/** An ordinary regular expression: nothing of the payload's is asked while it is used. */
const ordinary = (x) => !isOpaque(x) && getPrototypeOf(x) === RegExpPrototype && ownKeys(x).length === 1;

/** A method that calls `exec` of its receiver, and writes `lastIndex` to it. */
const executes = (self, args, real) => {
  if (args.length > 0) args[0] = p(args[0]);
  if (!isObject(self) || ordinary(self)) return apply(real, self, args);
  writable(self);
  return apply(real, safeView(self), args);
};

/** A method that writes `lastIndex` to its receiver. */
const moves = (self, args, real) => {
  if (isObject(self)) writable(self);
  if (args.length > 0) args[0] = p(args[0]);
  return apply(real, self, args);
};

/** A method that writes `lastIndex` to what the constructor makes that SpeciesConstructor (§7.3.22) finds. */
const species = (self, args, real) => {
  // The conversion runs code of the payload's, which may change the receiver. The method converts before it asks, too.
  if (isObject(self) && isObject(at(args, 0))) args[0] = `${p(args[0])}`;
  if (!isObject(self) || ordinary(self)) return apply(real, self, args);
  writable(self);
  let C = v(self.constructor);
  if (C !== undefined) C = v(assertObject(C, 'The .constructor property is not an object')[speciesSymbol]);
  if (C === undefined || C === null) C = RegExpCtor;
  const kind = { [speciesSymbol]: function (_, flags) { // eslint-disable-line object-shorthand -- a method has no [[Construct]]
    const made = v(construct(C, [self, flags]));
    writable(made);
    return ordinary(made) ? made : safeView(made); // its `exec` is called with the payload's text
  } };
  return apply(real, safeView(self, kind), args);
};

/** A method of strings that hands over to the method of its first argument. */
const delegates = (key, all) => (self, args, real) => {
  const pattern = at(args, 0);
  if (self === undefined || self === null || !isObject(pattern) || ordinary(pattern) && !isObject(self)) return apply(real, self, args);
  if (all && pattern[symbols.match] !== undefined && !apply(includes, '' + pattern.flags, ['g'])) {
    return apply(real, '', [/a/]); // throws in the engine's words
  }
  const method = v(pattern[key]);
  if (method === undefined || method === null) return apply(real, self, args);
  return apply(method, pattern, args.length > 1 ? [self, args[1]] : [self]);
};

export const regexps = {
  'RegExp.prototype': {
    'exec|compile': moves,
    'test|@@match|@@replace|@@search': executes,
    '@@split|@@matchAll': species,
  },
  'String.prototype': {
    concat(self, args, real) {
      for (let i = 0; i < args.length; i++) args[i] = p(args[i]);
      return apply(real, p(self), args);
    },
    match: delegates(symbols.match),
    matchAll: delegates(symbols.matchAll, true),
    replace: delegates(symbols.replace),
    replaceAll: delegates(symbols.replace, true),
    search: delegates(symbols.search),
    split: delegates(symbols.split),
  },
};
