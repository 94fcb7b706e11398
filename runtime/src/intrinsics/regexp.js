/** Regular expressions and the methods of strings that use them (ECMA-262 §22.1.3, §22.2). */

import { apply, assertObject, construct, get, getPrototypeOf, hasOwn, includes, isObject, ownDescriptor, ownKeys, RegExpCtor, RegExpPrototype, speciesSymbol, symbols } from '../natives.js';
import { isOpaque, unwrap, v } from '../membrane.js';
import { safeView } from './views.js';
import { p } from '../functions.js';
import { onMatchRead } from '../reads.js';
import { assertOpen } from '../protection.js';
import { at } from './arguments.js';

/** An ordinary regular expression: nothing of the payload's is asked while it is used. */
const ordinary = (x) => !isOpaque(x) && getPrototypeOf(x) === RegExpPrototype && ownKeys(x).length === 1;

// The texts in which the payload has looked last, and has found something last: `RegExp.$1` and its kin tell nothing of other texts.
let last = '';
let found = '';

/** Call `real`, which looks in `text`. */
const looking = (real, self, args, text) => {
  if (typeof text === 'number') text = '' + text;
  if (typeof text !== 'string') return apply(real, self, args);
  last = text;
  const result = apply(real, self, args);
  if (result !== null && result !== false && result !== -1 && result !== text) found = text;
  return result;
};

/** A method that calls `exec` of its receiver, and writes `lastIndex` to it. */
const executes = (self, args, real) => {
  if (args.length > 0) args[0] = p(args[0]);
  if (!isObject(self)) return apply(real, self, args);
  if (ordinary(self)) {
    if (isObject(args[0])) args[0] = `${args[0]}`;
    return looking(real, self, args, args[0]);
  }
  assertOpen(self);
  return looking(real, safeView(self), args, args[0]);
};

/** A method that writes `lastIndex` to its receiver. */
const moves = (self, args, real) => {
  if (isObject(self)) assertOpen(self);
  if (args.length > 0) args[0] = p(args[0]);
  return looking(real, self, args, args[0]);
};

const statics = (name) => {
  const property = ownDescriptor(RegExpCtor, name);
  return () => (property?.get === undefined ? '' : apply(property.get, RegExpCtor, []));
};
const [before, match, after] = [statics('leftContext'), statics('lastMatch'), statics('rightContext')];

/** What an accessor of `RegExp` says of the last match, if that was in a text of the payload's. */
const told = (self, args, real) => {
  const text = before() + match() + after();
  const value = text === last || text === found ? apply(real, self, args) : '';
  // `input` may be set apart from a match.
  return value.length > text.length ? '' : value;
};

onMatchRead((o, key, self) => {
  const native = ownDescriptor(RegExpCtor, key)?.get;
  for (let q = o; native !== undefined && q !== null; q = getPrototypeOf(q)) {
    if (unwrap(q) === RegExpCtor) return told(self, [], native);
    if (isOpaque(q) || hasOwn(q, key)) break;
  }
  return get(o, key, self);
});

/** A method that writes `lastIndex` to what the constructor makes that SpeciesConstructor (§7.3.22) finds. */
const species = (self, args, real) => {
  // The conversion runs code of the payload's, which may change the receiver. The method converts before it asks, too.
  if (isObject(self) && isObject(at(args, 0))) args[0] = `${p(args[0])}`;
  if (!isObject(self) || ordinary(self)) return looking(real, self, args, args[0]);
  assertOpen(self);
  let C = v(self.constructor);
  if (C !== undefined) C = v(assertObject(C, 'The .constructor property is not an object')[speciesSymbol]);
  if (C === undefined || C === null) C = RegExpCtor;
  const kind = { [speciesSymbol]: function (_, flags) { // eslint-disable-line object-shorthand -- a method has no [[Construct]]
    const made = v(construct(C, [self, flags]));
    assertOpen(made);
    return ordinary(made) ? made : safeView(made); // its `exec` is called with the payload's text
  } };
  return apply(real, safeView(self, kind), args);
};

/** A method of strings that hands over to the method of its first argument. */
const delegates = (key, all) => (self, args, real) => {
  const pattern = at(args, 0);
  if (self === undefined || self === null || !isObject(pattern) || ordinary(pattern) && !isObject(self)) return looking(real, self, args, self);
  if (all && pattern[symbols.match] !== undefined && !apply(includes, '' + pattern.flags, ['g'])) {
    return apply(real, '', [/a/]); // throws in the engine's words
  }
  const method = v(pattern[key]);
  if (method === undefined || method === null) return apply(real, self, args);
  return apply(method, pattern, args.length > 1 ? [self, args[1]] : [self]);
};

const STATICS = 'get $1|get $2|get $3|get $4|get $5|get $6|get $7|get $8|get $9|get input|get $_|get lastMatch|get $&|get lastParen|get $+|get leftContext|'
  + 'get $`|get rightContext|get $\'';

export const regexps = {
  RegExp: { [STATICS]: told },
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
