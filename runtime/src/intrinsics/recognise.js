/**
 * Intrinsic functions of the realm, recognised when they are first seen: by their own name among the names that the audit
 * lists, then by identity among the members of intrinsic objects. One that a page has taken away is a native that no list
 * names, and is denied.
 */

import { apply, charCodeAt, ownDescriptor, stringIndexOf, stringSlice, symbols } from '../natives.js';
import { listed } from '../membrane.js';
import { GLOBALS, NAMES } from './names.js';
import { holderAt } from './roots.js';
import { arrays } from './array.js';
import { fromCharCode } from './captured.js';
import { collections } from './collections.js';
import { functions } from './function.js';
import { intl } from './intl.js';
import { iteration } from './iteration.js';
import { json } from './json.js';
import { proxies } from './proxy.js';
import { reflection } from './reflection.js';
import { regexps } from './regexp.js';
import { symbolKeys } from './symbols.js';
import { behave, lookUp } from './table.js';
import { timers } from './timers.js';

/** Three characters for a name: a number in base 86, the last digit first. */
const nameCode = (name) => {
  let number = 0;
  for (let i = 0; i < name.length; i++) number = (number * 31 + apply(charCodeAt, name, [i])) % 636056;
  return fromCharCode(40 + number % 86, 40 + (number / 86 | 0) % 86, 40 + (number / 7396 | 0));
};

/** Whether the audit lists functions under the key `name`; `codes` is NAMES, or GLOBALS for the global object's own. */
const isName = (name, codes) => {
  const code = nameCode(name);
  let at = -1;
  do at = apply(stringIndexOf, codes, [code, at + 1]); while (at % 3 > 0);
  return at >= 0;
};

const starts = (text, start) => apply(stringIndexOf, text, [start]) === 0;

/** The key that the name of a built-in function says (ECMA-262 §10.2.9): `get size`, `[Symbol.iterator]`. */
const keyOf = (name) => {
  if (starts(name, 'get ') || starts(name, 'set ')) name = apply(stringSlice, name, [4]);
  return starts(name, '[Symbol.') ? '@@' + apply(stringSlice, name, [8, -1]) : name;
};

/** Whether the audit lists functions under the name that a native's text shows. */
export const isAudited = (name) => isName(keyOf(name), NAMES);

const FAMILIES = [reflection, functions, arrays, collections, regexps, json, proxies, iteration, intl, timers, symbolKeys];

/** Make known what is done about `f`, a member of the holder at `path`. */
const note = (f, path, name) => {
  for (let i = 0; i < FAMILIES.length; i++) {
    const how = lookUp(FAMILIES[i], path, name);
    if (how !== undefined) return behave(f, how);
  }
  return listed(f);
};

/** Make the foreign function `f` known, if the audit lists it. @returns {boolean} whether it does */
export const recognise = (f) => {
  const property = ownDescriptor(f, 'name');
  if (property === undefined || typeof property.value !== 'string') return false;
  const name = keyOf(property.value);
  if (name === '' || !isName(name, NAMES)) return false;
  const key = name[0] === '@' ? symbols[apply(stringSlice, name, [2])] : name;
  for (let i = 0, holder; (holder = holderAt(i)) !== undefined; i++) {
    // A host's own global may have the name of any method.
    if (holder.path === '' && !isName(name, GLOBALS)) continue;
    const at = ownDescriptor(holder.object, key);
    if (at === undefined || at.value !== f && at.get !== f && at.set !== f) continue;
    note(f, holder.path, at.get === f ? 'get ' + name : at.set === f ? 'set ' + name : name);
    return true;
  }
  return false;
};
