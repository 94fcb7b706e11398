/**
 * Writes to the page's objects that their own properties do not foretell: a form's control called `action` hides nothing
 * from the setter, and an element of a list of options is inserted.
 */
import { createDataProperty, defineProperty, getPrototypeOf, hasOwn, ownDescriptor, reflectSet } from '../natives.js';
import { callForeign, recordOf } from '../membrane.js';
import { prototypeOf } from './captured.js';
import { branded, kindOf, optionCount, optionsOf } from './dom.js';
import { admit, guarded, release } from './trees.js';

const isIndex = (key) => typeof key === 'string' && key !== '' && key[0] >= '0' && key[0] <= '9';

/** Whether a write puts an option into a list: then it is an insertion. */
const isOption = (o, key, value) => isIndex(key) && kindOf(value) !== 0 && isOptionList(o);

/** An option becomes an element of a list by an operation of the engine's, of which `write` is one. */
const insertOption = guarded((o, [key, value], write) => {
  admit(value);
  release(value);
  return write(o, key, value);
});

// The kind of an object is asked last: a brand that fails costs an exception.
const isOptionList = (o) => (kindOf(o) === 0 ? branded(optionCount, o) : branded(optionsOf, o));

// Their setters keep a declaration of a style, or an attribute `data-…`, and nothing else.
const TEXTS = ['CSSStyleProperties', 'CSSStyleDeclaration', 'DOMStringMap'];
let textPrototypes;

const prototypesOfTexts = () => {
  const list = [];
  for (let i = 0; i < TEXTS.length; i++) createDataProperty(list, i, prototypeOf(TEXTS[i]));
  return list;
};

export const exotic = {
  __proto__: null,
  isDirect(p) {
    textPrototypes ??= prototypesOfTexts();
    for (let i = 0; i < textPrototypes.length; i++) if (p === textPrototypes[i]) return true;
    return false;
  },
  /** [[Set]] where it is other than the properties say; undefined where it is not. */
  set(o, key, value, self) {
    if (isOption(self, key, value)) return insertOption(self, [key, value], reflectSet);
    const own = ownDescriptor(o, key);
    if (own === undefined || own.writable !== false || self !== o || kindOf(o) === 0) return undefined;
    // Named controls and images are own properties of a form and a document, but a write to their name goes to the setter.
    for (let q = getPrototypeOf(o); q !== null; q = getPrototypeOf(q)) {
      const property = ownDescriptor(q, key);
      if (property === undefined) continue;
      if (hasOwn(property, 'value') || property.set === undefined) return undefined;
      callForeign(recordOf(property.set), self, [value]);
      return true;
    }
    return undefined;
  },
  /** [[DefineOwnProperty]] where it inserts; undefined where it does not. */
  define(o, key, property) {
    if (!isOption(o, key, property.value)) return undefined;
    return insertOption(o, [key, property.value], () => defineProperty(o, key, property));
  },
  /** Whether what is defined on `o` without a question may be an insertion. */
  isList: isOptionList,
};
