/**
 * Functions in which the name of a native does not stand: natives that the page has bound or put behind a Proxy, and functions that
 * a driver has put in the place of natives. What the page has bound says in its property `name` to what.
 */
import { apply, G, isNative, isObject, ownDescriptor, ownKeys, stringIndexOf, stringSlice } from '../natives.js';
import { denied, handler, pageValue, unwrap } from '../membrane.js';
import { deny } from '../denial.js';
import { onGlobalRead } from '../global.js';
import { judgeBlob } from './creation.js';
import { ELEMENT, ownerDocument, home, kindOf } from './dom.js';
import { judgeElement } from './elements.js';
import { INTERFACES } from './interfaces.js';
import { judgedRequest } from './requests.js';
import { at, includes, string } from './text.js';
import { judgeAnyValue } from './urls.js';
import { words } from './words.js';

// What runs a text, whatever it is bound to, or calls what it is given: a function that takes it away from its rule.
const RUNS = words(
  'eval Function AsyncFunction GeneratorFunction AsyncGeneratorFunction execScript importScripts call apply bind construct '
  + 'defineProperty defineProperties setPrototypeOf __defineGetter__ __defineSetter__ insertAdjacentHTML write writeln setAttribute '
  + 'setAttributeNS setHTMLUnsafe parseHTMLUnsafe execCommand createContextualFragment Worker SharedWorker '
  // These change an object that they are given, or compile what is no text.
  + 'set deleteProperty freeze seal preventExtensions captureStackTrace Module Instance Memory Table Global Tag compile '
  + 'compileStreaming instantiate instantiateStreaming ShadowRealm',
);
const LATER = words('setTimeout setInterval setImmediate requestAnimationFrame requestIdleCallback');
// What drivers put in their place compiles a text.
const FRAMES = ['requestAnimationFrame', 'requestIdleCallback'];
// Where Playwright keeps the clock that it has installed: its timers may be texts, too.
const CLOCK = '__pwClock';

/** What an unnamed native is bound to by its own property, '' for what does not say. */
const boundName = (f) => {
  const property = ownDescriptor(f, 'name');
  let name = property === undefined || typeof property.value !== 'string' ? '' : property.value;
  while (apply(stringIndexOf, name, ['bound ']) === 0) name = apply(stringSlice, name, [6]);
  return name;
};

const selfOf = (self) => (unwrap(self) === G ? G : self);

const values = (args) => {
  for (let i = 0; i < args.length; i++) args[i] = pageValue(args[i]);
  return args;
};

const refuseConstruct = () => deny('dom-script-injection', 'a native that is bound');

/** What runs a function later takes no text. */
const later = {
  __proto__: null,
  call(self, args, real) {
    if (typeof at(args, 0) !== 'function') deny('string-timer');
    return apply(real, selfOf(self), values(args));
  },
  construct: refuseConstruct,
};

// Rules that do not depend on the receiver, which nobody knows: of these a native that is bound may be called. The first ones take
// objects as what they are: listeners, options, views, blobs.
const OBJECTS = words('window view0 view01 view012 view1 view2 event objectUrl');
const OPEN = words('navigate asking element');
// A row of requests alone: the first argument is one, and the second has options.
const ASKING = 'asking @';

/** Whether a rule of `row` is one of `rules`; no interface is called like one. */
const hasRule = (row, rules) => {
  const all = words(row);
  for (const rule in rules) if (all[rule]) return true;
  return false;
};

/**
 * What may be a native with one of the rules in `row`, or a function of the page's of the same name. A native converts what it does not
 * take as an object: it is converted here, once, and text is judged as markup and as a URL.
 */
const careful = (row) => {
  const takesObjects = row === ASKING || hasRule(row, OBJECTS);
  const argument = (x) => {
    if (kindOf(x) !== 0 && ownerDocument(x) !== home) deny('dom-script-injection', 'a node of another document');
    return judgedText(takesObjects || !isObject(x) ? x : string(x));
  };
  return {
    __proto__: null,
    call(self, args, real) {
      for (let i = 0; i < args.length; i++) args[i] = argument(args[i]);
      if (hasRule(row, BLOBS)) judgeBlob(at(args, 0));
      if (row === ASKING && args.length > 0) args[0] = judgedRequest(args[0]);
      const result = apply(real, selfOf(self), values(args));
      if (kindOf(result) === ELEMENT && hasRule(row, MAKERS)) judgeElement(result);
      return result;
    },
    construct: refuseConstruct,
  };
};

const BLOBS = words('objectUrl');
const MAKERS = words('element');

const judgedText = (x) => {
  if (typeof x !== 'string') return x;
  judgeAnyValue(x);
  if (includes(x, '<')) deny('dom-script-injection', 'markup for a native that is bound');
  return x;
};

/** The function `f` is called like a listed native, if that is right for any receiver. */
const meetBound = (f, row) => {
  if (hasRule(row, OBJECTS) || hasRule(row, OPEN)) handler(f, careful(row));
  else denied(f, 'global-object', 'a native that is bound');
};

/** Say how a function without a native's name in its text is called. @returns {boolean} whether it is one of these */
export const meetUnnamed = (f) => {
  for (let i = 0; i < FRAMES.length; i++) {
    if (ownDescriptor(G, FRAMES[i])?.value !== f) continue;
    handler(f, later);
    return true;
  }
  if (!isNative(f)) return false;
  const name = boundName(f);
  if (RUNS[name] === true || apply(stringIndexOf, name, ['set ']) === 0) denied(f, 'global-object', 'a native that is bound');
  else if (LATER[name] === true) handler(f, later);
  else if (name !== '' && INTERFACES[name] !== undefined) meetBound(f, INTERFACES[name]);
  else return false;
  return true;
};

// Objects of Playwright's in the page, whose methods put functions on any object.
const TOOLS = ['__playwright__binding__controller__', '__playwright_snapshot_streamer_'];

/** The global `key` of a driver's, and what it holds, are denied, once the driver has installed it. */
const denyTool = (key, clock) => {
  let isTool = key === CLOCK;
  for (let i = 0; i < TOOLS.length && typeof key === 'string'; i++) isTool ||= apply(stringIndexOf, key, [TOOLS[i]]) === 0;
  if (!isTool || !isObject(clock)) return;
  denied(clock, 'nested-evaluation');
  const parts = ['controller', 'builtins'];
  for (let i = 0; i < parts.length; i++) {
    const held = ownDescriptor(clock, parts[i])?.value;
    if (isObject(held)) denied(held, 'nested-evaluation');
  }
};

/** Registers what a driver may have put into the page. */
export const installTools = () => {
  const keys = ownKeys(G);
  for (let i = 0; i < keys.length; i++) if (typeof keys[i] === 'string' && keys[i][0] === '_') denyTool(keys[i], ownDescriptor(G, keys[i])?.value);
  onGlobalRead(denyTool);
};
