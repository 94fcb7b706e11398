// What a payload gives to a host: converted once, judged, and passed on as what was judged.
import {
  apply, create, createDataProperty, defineProperty, FunctionPrototype, get, getPrototypeOf, hasOwn, isArray, isObject, ObjectPrototype, ownDescriptor, ownKeys,
  StringCtor, stringSlice, weakMap,
} from '../natives.js';
import { deny, isKept, labelOf, own } from '../membrane.js';
import { travelling } from '../functions.js';
import { behind } from './behind.js';
import { copyOfBytes } from './captured.js';
import { bytesAsText, judgeMarkup, judgeUrl } from './documents.js';
import { given, isPlain } from './results.js';
import { typesOfEvent } from './tables.js';

const MAX_DEPTH = 50;

/**
 * The arguments for the host's method `key`.
 * @param {Array} args safe values
 * @param {string} key the method's name, '' for a call of the object itself
 * @param {string} [element] the path of what callbacks get first, where the object is a list
 */
export function listArguments(args, key, table, element) {
  if (table.path === 'console') return args;
  if (key === 'nextTick' && typeof args[0] !== 'function') deny('string-timer');
  const types = element === undefined ? callbackTypes(args, key, table) : key === 'reduce' || key === 'reduceRight' ? ['', element] : [element];
  const seen = weakMap();
  const list = [];
  for (let i = 0; i < args.length; i++) createDataProperty(list, i, argument(args[i], i, key, table, types, seen));
  return list;
}

function argument(x, i, key, table, types, seen) {
  const at = StringCtor(i);
  if (table.texts[key] === at) return carried(x, table.route);
  if (table.urls[key] === at && isText(x)) return judgeUrl(StringCtor(x));
  if (table.markup[key] === at) return judgeMarkup(StringCtor(x));
  const passed = outgoing(x, types, seen, 0);
  if (table.bodies[key] === at) judgeBody(passed);
  return passed;
}

const isText = (x) => typeof x === 'string' || (isObject(x) && behind(x) === undefined);

/** The answer to a request: its body may be a page. */
function judgeBody(answer) {
  if (isObject(answer) && !isPlain(answer)) deny('nested-evaluation', 'an answer is no plain data');
  const body = isObject(answer) ? get(answer, 'body') : undefined;
  if (typeof body === 'string') judgeMarkup(body);
  else if (isObject(body)) {
    const copy = copyOfBytes(body);
    if (copy === undefined) deny('nested-evaluation', 'a body that is no text');
    judgeMarkup(bytesAsText(copy));
    createDataProperty(answer, 'body', copy);
  }
}

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

/** A value of the payload's as the host gets it: real host objects, plain data copied once, functions. */
export function outgoing(x, types, seen, depth) {
  if (!isObject(x)) return x;
  const facts = behind(x);
  if (facts !== undefined) {
    if (facts.table.others !== '') deny(labelOf(x) || facts.family);
    // The host would call its own function with what the payload chooses, or give it back as a part of the payload's data.
    const { path, instance, result } = facts.table;
    return typeof x === 'function' && (path === '' || instance !== undefined || result !== undefined) ? x : facts.real;
  }
  if (typeof x === 'function') return own(x) && types !== undefined ? typed(x, types) : passing(x);
  // A Proxy of the payload's may answer differently each time: it is copied, whatever its prototype is said to be.
  if (!isKept(x) && !isPlain(x) && !isOwnInstance(x)) return passing(x);
  const known = seen.get(x);
  if (known !== undefined) return known;
  if (depth > MAX_DEPTH) return deny('analysis-limit', 'data nested too deeply');
  const copy = isArray(x) ? [] : {};
  seen.set(x, copy);
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length; i++) {
    if (typeof keys[i] === 'symbol' || (isArray(x) && keys[i] === 'length')) continue;
    const property = ownDescriptor(x, keys[i]);
    if (property !== undefined && property.enumerable) createDataProperty(copy, keys[i], outgoing(get(x, keys[i]), types, seen, depth + 1));
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

/** A function or an object that goes as it is; what is denied stays here. */
function passing(x) {
  const label = labelOf(x);
  return label === undefined ? x : deny(label);
}

const listeners = weakMap();

const shown = ['name', 'length'];

function copyProperty(from, to, key) {
  const property = ownDescriptor(from, key);
  if (property !== undefined && hasOwn(property, 'value')) defineProperty(to, key, { __proto__: null, value: property.value });
}

/** A listener whose arguments are the host objects of `types`. It is one for each function, so that it can be removed. */
function typed(f, types) {
  let byTypes = listeners.get(f);
  if (byTypes === undefined) listeners.set(f, byTypes = create(null));
  let name = '';
  for (let i = 0; i < types.length; i++) name += types[i] + ' ';
  if (byTypes[name] !== undefined) return byTypes[name];
  const listener = function (...args) {
    for (let i = 0; i < args.length && i < types.length; i++) if (types[i] !== '') args[i] = given(args[i], types[i]);
    return apply(f, this, args);
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
