/**
 * How the page's natives are found: by the name in their source text, then by identity among the interfaces that have a
 * member of that name. A function is looked up when the payload first meets it, so that the list costs nothing at the start.
 */
import {
  apply, construct, createDataProperty, FunctionPrototype, functionToString, G, getPrototypeOf, isObject, ownDescriptor, ownKeys, stringIndexOf,
  stringSlice, symbols, weakSet,
} from '../natives.js';
import { denied, handler, listed, receiver, unwrap } from '../membrane.js';
import { deny } from '../denial.js';
import { isAudited } from '../intrinsics/recognise.js';
import { valueOf } from '../intrinsics/roots.js';
import { creation } from './creation.js';
import { INTERFACES } from './interfaces.js';
import { LINKING, PARTS, RUNNING } from './elements.js';
import { insertion } from './insertion.js';
import { markup } from './markup.js';
import { reflection } from './reflection.js';
import { requests } from './requests.js';
import { meetUnnamed } from './unnamed.js';
import { words } from './words.js';

const behaviourOf = (word, member) => {
  const make = markup[word] ?? insertion[word] ?? reflection[word] ?? requests[word] ?? creation[word];
  const made = make(member);
  return typeof made === 'function' ? { __proto__: null, call: made, construct: refuseConstruct(made) } : made;
};

/** What is denied when it is called is denied when it is constructed; a method is no constructor anyway. */
const refuseConstruct = (call) => (args, newTarget, real) => call(undefined, args, real);

/** Where an interface's members are: its prototype, its constructor (`!`), or an object that holds them itself (`@`). */
const holderOf = (word) => {
  const kind = word[0];
  if (word === '@' || word === '*') return G;
  const name = kind === '@' || kind === '!' ? apply(stringSlice, word, [1]) : word;
  const property = ownDescriptor(G, name);
  if (property === undefined) return undefined;
  if (kind === '@') return property.get === undefined ? property.value : apply(property.get, G, []);
  return kind === '!' ? property.value : property.value?.prototype;
};

const split = (name) => {
  const start = apply(stringSlice, name, [0, 4]);
  return start === 'set ' || start === 'get '
    ? { __proto__: null, member: apply(stringSlice, name, [4]), part: start === 'set ' ? 'set' : 'get' }
    : { __proto__: null, member: name, part: 'value' };
};

/** The rule in `row` for the first holder that `fits`; '' for none. A row is a rule, its holders, `|`, the next rule, … */
const ruleOf = (row, fits) => {
  let rule = '';
  let word = '';
  for (let i = 0; i <= row.length; i++) {
    const letter = i < row.length ? row[i] : ' ';
    if (letter !== ' ' && letter !== '|') {
      word += letter;
      continue;
    }
    if (rule === '') rule = word;
    else if (fits(word, rule)) return rule;
    word = '';
    if (letter === '|') rule = '';
  }
  return '';
};

/**
 * The places of all rules, for what has no name of its own: key, part, rule, holder, … A page may have put functions or proxies
 * of its own where the natives were; what stands at the place of a member is called by the member's rule.
 */
let places;

const placesOfRules = () => {
  const list = [];
  for (const name in INTERFACES) {
    const { member, part } = split(name);
    ruleOf(INTERFACES[name], (word, rule) => {
      const holder = holderOf(word);
      if (isObject(holder)) createDataProperty(list, list.length, { __proto__: null, holder, member, part, rule });
      return false;
    });
  }
  ruleOf(SETTERS, (word, rule) => {
    const holder = holderOf(word);
    const keys = isObject(holder) ? ownKeys(holder) : [];
    for (let i = 0; i < keys.length; i++) {
      if (isRuled(rule, keys[i])) createDataProperty(list, list.length, { __proto__: null, holder, member: keys[i], part: 'set', rule });
    }
    return false;
  });
  return list;
};

/** The place of a rule at which `f` is, or undefined. */
const placeOf = (f) => {
  places ??= placesOfRules();
  for (let i = 0; i < places.length; i++) {
    const property = ownDescriptor(places[i].holder, places[i].member);
    if (property !== undefined && property[places[i].part] === f) return places[i];
  }
  return undefined;
};

const isMember = (f, word, member, part) => {
  // A window has its members itself; in a worker they are above the global object.
  for (let holder = holderOf(word); isObject(holder); holder = word === '@' ? getPrototypeOf(holder) : null) {
    const property = ownDescriptor(holder, member);
    if (property !== undefined) return property[part] === f;
  }
  return false;
};

// Rules for all setters of some interfaces, whatever these are called.
const SETTERS = `reflect ${RUNNING}|part ${LINKING}`;
const isRuled = (rule, member) => typeof member === 'string' && (rule === 'reflect' || PARTS[member]);

/** The rule for `f` as the setter `member` of an element that runs something or is a link; '' for none. */
const ruleOfSetter = (f, member) => ruleOf(SETTERS, (word, rule) => isRuled(rule, member) && isMember(f, word, member, 'set'));

/** Whether `f` is what `self` inherits under its own name: then it is a member of an interface that the list leaves out. */
const isInherited = (f, self, member, part) => {
  const key = member[0] === '[' ? symbols[apply(stringSlice, member, [8, -1])] : member;
  for (let q = isObject(self) ? self : null, depth = 0; q !== null && q !== undefined && depth < 20; q = getPrototypeOf(q), depth++) {
    const property = ownDescriptor(q, key);
    if (property !== undefined && property[part] === f) return true;
  }
  return false;
};

/** Whether a member of the console, which needs no receiver. */
const isOfConsole = (f, member) => {
  const console = valueOf(G, 'console');
  return isObject(console) && valueOf(console, member) === f;
};

/**
 * A native with a listed name that is no listed member. Many interfaces have members called `value` or `append`. But where
 * an object's interface inherits a listed one, the list's rule is the object's, too; and what the object does not inherit
 * is the original of a member that the page has replaced, which is denied. So is that of a built-in function of the language. A
 * constructor is called by the rule of its name.
 */
const stranger = (name, row) => {
  const { member, part } = split(name);
  const plain = weakSet(); // prototypes of which the native is a member without a rule
  return {
    __proto__: null,
    call(self, args, real) {
      const target = isGlobal(self) ? G : receiver(self);
      const above = isObject(target) ? getPrototypeOf(target) : null;
      if (above !== null && plain.has(above)) return apply(real, target, args);
      if (!isInherited(real, target, member, part)) deny('dom-script-injection', 'a native of the page that was replaced');
      const rule = ruleOf(row, (word) => isAbove(holderOf(word), target));
      if (rule !== '') return behaviourOf(rule, member).call(self, args, real);
      if (isInherited(real, above, member, part)) plain.add(above);
      return apply(real, target, args);
    },
    construct(args, newTarget, real) {
      const rule = ruleOf(row, (word) => word === '*');
      return rule === '' ? construct(real, args, newTarget) : behaviourOf(rule, member).construct(args, newTarget, real);
    },
  };
};

const isAbove = (prototype, object) => {
  for (let q = getPrototypeOf(object), depth = 0; q !== null && depth < 20; q = getPrototypeOf(q), depth++) {
    if (q === prototype) return true;
  }
  return false;
};

const isFromHere = (f) => {
  for (let above = getPrototypeOf(f), i = 0; above !== null && i < 50; above = getPrototypeOf(above), i++) {
    if (above === FunctionPrototype) return true;
  }
  return false;
};

const nativeName = (f) => {
  const text = apply(functionToString, f, []);
  const end = apply(stringIndexOf, text, ['() { [native code] }']);
  return end < 9 || text.length !== end + 20 ? '' : apply(stringSlice, text, [9, end]);
};

/** Say how a foreign function that is new is called. @returns {boolean} whether this profile knows it */
export const meetFunction = (f) => {
  if (!isFromHere(f)) {
    denied(f, 'dom-script-injection', 'a function of another window');
    return true;
  }
  const name = nativeName(f);
  if (name === 'eval') return false;
  if (name === '') {
    const place = placeOf(f);
    if (place === undefined) return meetUnnamed(f);
    handler(f, behaviourOf(place.rule, place.member));
    return true;
  }
  const row = INTERFACES[name];
  const { member, part } = split(name);
  const listedRule = row === undefined ? '' : ruleOf(row, (word) => isMember(f, word, member, part));
  const rule = listedRule === '' && part === 'set' ? ruleOfSetter(f, member) : listedRule;
  if (rule !== '') handler(f, behaviourOf(rule, member));
  else if (COMMANDS[name] && !isOfConsole(f, member)) denied(f, 'nested-evaluation', 'a command of the developer tools');
  else if (isOfWindow(f, name)) handler(f, ofWindow);
  else if (row === undefined && (!isAudited(name) || isOfConsole(f, member))) listed(f);
  else handler(f, stranger(name, row ?? ''));
  return true;
};

const isGlobal = (self) => self === undefined || self === null || unwrap(self) === G;

/** A member of the global object: called with its facade, or with nothing, it gets the real one. */
const ofWindow = {
  __proto__: null,
  call: (self, args, real) => apply(real, isGlobal(self) ? G : self, args),
};

const isOfWindow = (f, name) => {
  const { member, part } = split(name);
  return isMember(f, '@', member, part) && !(part === 'value' && ownDescriptor(f, 'prototype') !== undefined);
};

// What the console of developer tools adds to the global object, also for a driver that asks for it; some of it runs text.
const COMMANDS = words('debug undebug monitor unmonitor monitorEvents unmonitorEvents queryObjects inspect');
