// What a payload gives to a host: converted once, judged, and passed on as what was judged.
import {
  apply, create, createDataProperty, defineProperty, FunctionPrototype, G, get, getPrototypeOf, hasOwn, isArray, isObject, ObjectPrototype, ownDescriptor, ownKeys,
  PromisePrototype, StringCtor, stringSlice, weakMap,
} from '../natives.js';
import { deny, isKept, isListed, labelOf, own, unwrap, v } from '../membrane.js';
import { travelling } from '../functions.js';
import { isProtected } from '../protection.js';
import { assertSafeInside } from '../intrinsics/deep.js';
import { behind } from './behind.js';
import { labelled } from './labels.js';
import { judgedAnswer, judgedRequest } from './answers.js';
import { lowerCase, match, settle } from './captured.js';
import { judgeExposed } from './exposed.js';
import { judgeFiles, judgePath, judgeState, snapshotName } from './files.js';
import { renewed } from './instances.js';
import { judgeMarkup, judgeSheet, judgeStyle } from './markup.js';
import { copied, given, isPlain } from './results.js';
import { spread, tableOf, typesOfEvent, wordsOf } from './tables.js';
import { judgeBase, judgedSite, judgeUrl } from './urls.js';

const MAX_DEPTH = 50;

/**
 * The arguments for the host's method `key`.
 * @param {Array} args safe values
 * @param {string} key the method's name, '' for a call of the object itself
 * @param {string} [element] the path of what callbacks get first, where the object is a list
 * @param {object} [real] the host's object that the method is called on
 */
export function listArguments(args, key, table, element, real) {
  if (table.path === 'console') return key === 'dir' ? printed(args) : args;
  if (key === 'nextTick' && typeof args[0] !== 'function') deny('string-timer');
  const types = element === undefined ? callbackTypes(args, key, table) : key === 'reduce' || key === 'reduceRight' ? ['', element] : [element];
  const how = { __proto__: null, types, seen: weakMap(), isSent: table.texts[key] !== undefined, isCompared: table.compares, isPolled: table.compares && key === 'poll' };
  const list = [];
  for (let i = 0; i < args.length; i++) createDataProperty(list, i, argument(args[i], i, key, table, how, real));
  return list;
}

/** What `console.dir` gets: Node would call functions among its options with all that it prints, which is more than a payload may read. */
function printed(args) {
  if (args.length < 2 || !isObject(args[1])) return args;
  const options = {};
  const keys = ownKeys(args[1]);
  for (let i = 0; i < keys.length; i++) {
    const value = ownDescriptor(args[1], keys[i])?.enumerable ? get(args[1], keys[i]) : undefined;
    if (value !== undefined && !isObject(value)) createDataProperty(options, keys[i], value);
  }
  return [args[0], options];
}

// Of which the argument may be an element instead of files.
const DROPS = { __proto__: null, drop: true, dragEnter: true, dragOver: true };

function argument(x, i, key, table, how, real) {
  const at = StringCtor(i);
  if (table.texts[key] === at || table.functions[key] === at && !isSelector(x)) return carried(x, table.route);
  if (table.urls[key] === at && isText(x)) return judgeUrl(StringCtor(x));
  if (table.markup[key] === at) return judgeMarkup(StringCtor(x));
  if (table.globals[key] === at) return judgeExposed(StringCtor(x));
  if (table.keys[key] !== undefined && wordsOf(table.keys[key])[x = StringCtor(x)] !== true) deny(table.family, 'a member that no list names');
  if (table.sites[key || '()'] === at) x = judgedSite(x);
  const passed = copyOut(x, how, 0);
  const files = table.files[key];
  if (files !== undefined && i >= +files[0] && !(DROPS[key] === true && behind(x) !== undefined)) judgeFiles(table.compares ? snapshotName(passed) : passed, apply(stringSlice, files, [2]));
  if (table.states[key] === at) judgeState(passed);
  if (table.styles[key] === at) judgeStyle(passed);
  if (table.bodies[key] === at) return judgedAnswer(passed, real);
  if (table.requests[key] === at) return judgedRequest(passed, real, key === 'fetch');
  if (table.locators[key] === at) return judgedLocator(passed, behind(x) !== undefined);
  if (table.fields[key] === undefined) return passed;
  if (!behind(x)?.table.path) return judgedFields(passed, wordsOf(table.fields[key]));
  // What a payload gave to an object of Electron's may be among its properties.
  return i > 0 && table.family === 'electron' ? deny('electron', 'options are no plain data') : passed;
}

const isText = (x) => typeof x === 'string' || (isObject(x) && behind(x) === undefined);

/** Options of which only those of a list are passed on; the URL among them has to be a site's. */
function judgedFields(options, names) {
  if (!isObject(options) || isArray(options)) return options;
  if (!isPlain(options)) deny('nested-evaluation', 'options are no plain data');
  const keys = ownKeys(options);
  for (let i = 0; i < keys.length; i++) {
    const value = get(options, keys[i]);
    if (names[keys[i]] !== true && value !== undefined) deny('nested-evaluation', 'an option that no list names');
    if (keys[i] === 'baseURL' && value !== undefined) judgeSiteBase(value);
    if (keys[i] === 'name' && names.buffer !== true && value !== undefined && match(NAME, StringCtor(value)) === null) deny('nested-evaluation', 'a name that is a path');
    if (keys[i] === 'storageState') judgeState(value);
    if (keys[i] === 'style') judgeSheet(value);
    if (keys[i] === 'postData') judgePosted(value);
    // A trace would hold the files that a stack names, and a function may be called like a part of a stack.
    if (keys[i] === 'sources') createDataProperty(options, keys[i], false);
    if (keys[i] === 'recordHar' && isObject(value)) judgePath(get(value, 'path'), 'zip');
  }
  return options;
}

/** The parts of a body that Electron sends: bytes, and no file. */
function judgePosted(parts) {
  if (parts === undefined || parts === null) return;
  if (!isArray(parts)) deny('electron', 'a body that is no list');
  for (let i = 0; i < parts.length; i++) if (get(parts[i], 'type') !== 'rawData') deny('electron', 'a body with a part that is no data');
}

/** A URL to which others are relative: they say nothing of a scheme then. */
function judgeSiteBase(url) {
  if (typeof url !== 'string' || match(BASE, lowerCase(url)) === null) deny('nested-evaluation', 'the base of URLs is no site');
  judgeBase(url);
}

const BASE = /^https?:\/\//;
const NAME = /^[\w-]+$/;
const INDEX = /^\d+$/;
const INSPECT = G.Symbol.for('nodejs.util.inspect.custom');

/** How an element is found: by a strategy that a list names, none of which runs what it is given. */
function judgedLocator(locator, isOfHost) {
  if (!isObject(locator) || typeof locator === 'function' || behind(locator) !== undefined) return locator;
  if (!isOfHost && !isPlain(locator)) deny('nested-evaluation', 'a locator is no plain data');
  const { methods } = tableOf('selenium.by');
  const keys = ownKeys(locator);
  for (let i = 0; i < keys.length; i++) {
    const isListed = methods[keys[i]] !== undefined || keys[i] === 'using' || keys[i] === 'value';
    if (!isListed || isObject(get(locator, keys[i]))) deny('nested-evaluation', 'an element is found by a script');
  }
  return locator;
}

/** An argument that is a selector or a function for a page. */
const isSelector = (x) => typeof x !== 'function' && (!isObject(x) || behind(x) !== undefined);

/** What functions among the arguments are called with: object paths, or undefined where no list says. */
function callbackTypes(args, key, table) {
  if (table.events[key] === true && typeof args[0] === 'string') {
    const types = typesOfEvent(table.family, args[0]);
    if (types !== undefined) return split(types);
  }
  return table.callbacks[key] === undefined ? undefined : split(table.callbacks[key]);
}

function split(types) {
  const list = [];
  for (let start = 0, at = 0; at <= types.length; at++) {
    if (at < types.length && types[at] !== ' ') continue;
    createDataProperty(list, list.length, apply(stringSlice, types, [start, at]));
    start = at + 1;
  }
  return list;
}

// What another realm may be given besides data: it refers to what is in that realm.
const REFERENCES = spread('playwright.locator playwright.handle playwright.mainHandle selenium.element', true, create(null));

/** What goes out for the facade `x`, of which `facts` are known; undefined for data of the host's that is copied like other data. */
function behindFacade(x, facts, { isSent, isCompared, isData }) {
  if (facts.table.others !== '') deny(labelOf(x) || facts.family);
  const { path, instance, result } = facts.table;
  const isFunction = typeof x === 'function';
  if (isSent && path !== '' && (isData || REFERENCES[path] !== true)) deny(facts.family, 'a host\'s object is no data');
  if (isSent && path === '' && !isFunction) return undefined;
  // The host would call its own function with what the payload chooses, or give it back as a part of the payload's data.
  if (isCompared) return path === 'expect.matcher' ? facts.real : labelled(x, facts);
  return isFunction && (path === '' || instance !== undefined || result !== undefined) ? x : facts.real;
}

/** A value of the payload's that the host keeps: real host objects, plain data copied once, functions. */
export const outgoing = (x) => copyOut(x, { __proto__: null, types: undefined, seen: weakMap(), isSent: false, isCompared: false }, 0);

/** Data for a native that reads at any depth: no object of the host's is among it. */
export const asData = (x) => copyOut(x, { __proto__: null, types: undefined, seen: weakMap(), isSent: true, isCompared: false, isData: true }, 0);

/** A value of the payload's as the host gets it; `how` says what its functions are called with, and whether it goes to another realm. */
function copyOut(x, how, depth) {
  if (!isObject(x)) return x;
  const facts = behind(x);
  const real = facts === undefined ? undefined : behindFacade(x, facts, how);
  if (real !== undefined) return real;
  if (typeof x === 'function') return how.isCompared ? comparedFunction(x, how) : own(x) || isKept(x) ? typed(x, how.types) : passing(x);
  const known = how.seen.get(x);
  if (known !== undefined) return known;
  if (depth > MAX_DEPTH) return deny('analysis-limit', 'data nested too deeply');
  // A Proxy of the payload's may answer differently each time: it is copied, whatever its prototype is said to be.
  if (facts === undefined && !isKept(x) && !isPlain(x) && !isOwnInstance(x) && (how.isCompared || !isArray(x))) return ofClass(x, how, depth);
  return plainCopy(x, how, depth);
}

/** A plain object or array with the enumerable properties of `x`. */
function plainCopy(x, how, depth) {
  const copy = isArray(x) ? [] : {};
  how.seen.set(x, copy);
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    // A list has elements alone: a driver would read options of it that are not judged.
    if (typeof keys[i] === 'symbol' || isArray(x) && match(INDEX, keys[i]) === null) continue;
    const property = ownDescriptor(x, keys[i]);
    // What lies in the host's own data is made safe here.
    if (property !== undefined && property.enumerable) createDataProperty(copy, keys[i], copyOut(v(get(x, keys[i])), how, depth + 1));
  }
  if (isArray(x)) copy.length = x.length;
  return copy;
}

/** Whether `x` is an instance of a class of the payload's: for a host that is data, too. */
function isOwnInstance(x) {
  for (let prototype = getPrototypeOf(x), depth = 0; prototype !== null && depth < MAX_DEPTH; prototype = getPrototypeOf(prototype), depth++) {
    if (prototype === ObjectPrototype) return true;
    const maker = ownDescriptor(prototype, 'constructor');
    if (maker !== undefined && !own(maker.value)) return false;
  }
  return true;
}

/** What goes out for an instance of a class of the language's or the host's. */
function ofClass(x, how, depth) {
  if (how.isCompared) return compared(x);
  const made = renewed(x, (y) => copyOut(v(y), how, depth + 1), (fresh) => {
    how.seen.set(x, fresh);
    return fresh;
  });
  if (made !== undefined) return made;
  if (isInstanceAlone(x)) return passing(x);
  // Properties of what only inherits from a class of the host's are the payload's: the host gets them as they are now.
  return plainCopy(x, how, depth);
}

/** Whether `x` is an instance of a class of the host's, without a property that the payload may have added. */
function isInstanceAlone(x) {
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) if (typeof keys[i] !== 'symbol') return false;
  return isProtected(getPrototypeOf(x));
}

/** A function or an object that goes as it is; what is denied stays here. */
function passing(x) {
  const label = labelOf(x);
  return label === undefined ? x : deny(label);
}

const isPromise = (x) => {
  for (let q = getPrototypeOf(x), depth = 0; q !== null && depth < MAX_DEPTH; q = getPrototypeOf(q), depth++) if (q === PromisePrototype) return true;
  return false;
};

/** An object that the host compares and prints, as far as the payload may read it. */
function compared(x) {
  if (isPromise(x)) return settle(x, asShown, (error) => { throw asShown(error); });
  const custom = get(x, INSPECT);
  if (typeof custom === 'function' && (own(custom) || isKept(custom))) deny('global-object', 'an object that prints itself');
  assertSafeInside(x);
  assertShowsNoMore(x);
  return passing(x);
}

/** Deny an object or a function that holds objects where a comparison shows them, and nothing else looks. */
function assertShowsNoMore(x) {
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    if (typeof x !== 'function' && typeof keys[i] !== 'symbol' || keys[i] === 'prototype') continue;
    const property = ownDescriptor(x, keys[i]);
    const isShown = property !== undefined && (!hasOwn(property, 'value') || isObject(property.value) && (typeof keys[i] === 'symbol' || !own(property.value)));
    if (isShown) deny('global-object', 'data that may hold more than data');
  }
}

/** A function that is compared, or called with nothing; a constructor of the language by its own identity. */
function comparedFunction(x, how) {
  if (own(x)) {
    assertShowsNoMore(x);
    return how.isPolled ? polled(x) : x;
  }
  const real = unwrap(x);
  return isListed(real) ? real : passing(x);
}

const asShown = (x) => copyOut(x, { __proto__: null, types: undefined, seen: weakMap(), isSent: false, isCompared: true }, 0);

/** A function that the host calls for a value to compare. */
const polled = (f) => () => {
  const value = apply(f, undefined, []);
  return isObject(value) ? asShown(value) : value;
};

const NONE = [];
const listeners = weakMap();

const shown = ['name', 'length'];

function copyProperty(from, to, key) {
  const property = ownDescriptor(from, key);
  if (property !== undefined && hasOwn(property, 'value')) defineProperty(to, key, { __proto__: null, value: property.value });
}

/**
 * A listener whose arguments are the host objects of `types`, and else data: what the host has without a name is no function of
 * the engine's. It is one for each function, so that it can be removed.
 */
function typed(f, types = NONE) {
  let byTypes = listeners.get(f);
  if (byTypes === undefined) listeners.set(f, byTypes = create(null));
  let name = '';
  for (let i = 0; i < types.length; i++) name += types[i] + ' ';
  if (byTypes[name] !== undefined) return byTypes[name];
  const listener = function (...args) {
    for (let i = 0; i < args.length; i++) args[i] = i < types.length && types[i] !== '' ? given(args[i], types[i]) : copied(args[i]);
    const result = apply(f, this, args);
    return isObject(result) ? outgoing(result) : result;
  };
  for (let i = 0; i < shown.length; i++) copyProperty(f, listener, shown[i]);
  return (byTypes[name] = listener);
}

/**
 * What a driver evaluates in another realm: a function of the run-time's whose text is the program that the emitter made for
 * a function or a text. It has the function's name and length. Playwright takes `String(f)`, Puppeteer `f.toString()`, Selenium `'' + f`; each finds the own property.
 */
function carried(x, route) {
  if (!isObject(x) && typeof x !== 'string') return x;
  const text = travelling(x, route);
  if (isObject(text)) deny(text[0], text[1]);
  if (text === undefined) {
    deny('nested-evaluation', route === 'main'
      ? 'the program does not show that this is sent to Electron; write a function in the call, and call the application electronApp'
      : 'the program does not show what is sent to a page; write a function in the call');
  }
  const carrier = function () {};
  for (let i = 0; i < shown.length; i++) copyProperty(isObject(x) ? x : FunctionPrototype, carrier, shown[i]);
  defineProperty(carrier, 'toString', { __proto__: null, value: () => text, writable: true, configurable: true });
  return carrier;
}
