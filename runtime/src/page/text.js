/** Conversions to strings, each made once: what is judged is the very string that is passed on. */
import { apply, stringIndexOf, stringToLowerCase } from '../natives.js';

/** ECMA-262 ToString. */
export const string = (x) => `${x}`;

/** A `[LegacyNullToEmptyString] DOMString`. */
export const stringOrEmpty = (x) => (x === null ? '' : `${x}`);

/** A string in lower case. */
export const lower = (text) => apply(stringToLowerCase, text, []);

/** Whether a string is part of another. */
export const includes = (text, part) => apply(stringIndexOf, text, [part]) >= 0;

/** The argument at a place, without a look at the prototype of the list. */
export const at = (args, i) => (i < args.length ? args[i] : undefined);
