/**
 * What a payload hands to a function of the page. Such a function reads raw members: one that reads, calls or writes a member whose name
 * it is given does what the payload may not do itself. So a name that leads to the function constructor is denied, and what is handed over
 * with a node and the name of a member that makes markup or a handler of a text is judged as that member's. What such a function has made
 * of a text that it was given is no function of the page's.
 */
import {
  ArrayPrototype, apply, createDataProperty, functionToString, G, get, getPrototypeOf, isArray, isObject, ObjectPrototype, ownDescriptor, ownKeys,
  regexpExec, symbols, TypeError,
} from '../natives.js';
import { deny } from '../denial.js';
import { denied, isKept, isOpaque, isRuled, onHanding, onMeeting, unwrap } from '../membrane.js';
import { isOwn } from '../own.js';
import { ATTRIBUTE, attributeName, ELEMENT, home, kindOf, ownerDocument, parseDocument, rootElement, rootOf } from './dom.js';
import { disarmed } from './leaving.js';
import { includes, string } from './text.js';
import { isScriptNode, judgeTree, refusePassing } from './trees.js';
import { judgeAnyValue } from './urls.js';
import { words } from './words.js';

const DEPTH = 3;
const MOST = 200;
// A path of names, as helpers take it; no selector or sentence.
const TO_CONSTRUCTOR = /^(?:\[['"]?)?(?:[^\s.[\]'"]+[.[\]'"]+)*constructor(?:[.[\]'"]+[^\s.[\]'"]*)*$/;
// The same with any separator: for what is handed over together with a function.
const WITHIN = /^(?:\S*[^\w$-])?constructor(?:[^\w$-]\S*)?$/;
// ECMA-262 §20.2.1.1.1: the text of a function that was made of texts.
const MADE = /^(?:async )?function\*? anonymous\(/;
const HANDLER = /^on[a-z]+$/i;
const SINKS = words(
  'innerHTML outerHTML insertAdjacentHTML setHTMLUnsafe parseHTMLUnsafe srcdoc write writeln createContextualFragment setAttribute setAttributeNS '
  + 'execCommand',
);

/** Add the texts in `x` to `list`: names and values of plain data, which page functions take apart. */
const gather = (x, list, depth) => {
  if (typeof x === 'string') createDataProperty(list, list.length, x);
  if (!isObject(x) || depth > DEPTH || isOpaque(x)) return;
  const above = getPrototypeOf(x);
  const isList = isArray(x) && above === ArrayPrototype;
  if (!isList && above !== ObjectPrototype && above !== null) return;
  const keys = ownKeys(x);
  for (let i = 0; i < keys.length && list.length < MOST; i++) {
    const property = ownDescriptor(x, keys[i]);
    if (property === undefined || typeof keys[i] === 'symbol') continue;
    if (!isList) createDataProperty(list, list.length, keys[i]);
    gather(property.value, list, depth + 1);
  }
};

const CONVERSIONS = [symbols.toPrimitive, 'toString', 'valueOf'];

/** Whether the payload says what becomes of `x` when it is converted, which may be another text each time. */
const isOwnConversion = (x) => {
  if (isKept(x)) return true;
  for (let q = x, depth = 0; q !== null && depth < 20 && !isKept(q); q = getPrototypeOf(q), depth++) {
    for (let i = 0; i < CONVERSIONS.length; i++) {
      const property = ownDescriptor(q, CONVERSIONS[i]);
      const f = property?.value ?? property?.get;
      if (typeof f === 'function' && isOwn(f)) return true;
    }
  }
  return false;
};

/**
 * Add what a native conversion makes of an object that is no plain data: of a String object, an error, a list of tokens.
 * @returns {boolean} whether `x` is such an object
 */
const gatherConverted = (x, list) => {
  const above = getPrototypeOf(x);
  if (above === null || above === ObjectPrototype || above === ArrayPrototype) return false;
  try {
    createDataProperty(list, list.length, string(x));
  } catch (error) {
    if (getPrototypeOf(error) !== TypeError.prototype) throw error;
  }
  return true;
};

// The texts that functions of the page were given; '', which is in every text, stands for what nobody knows.
const given = [];

const remember = (text) => {
  if (given.length > MOST) text = '';
  if (given[given.length - 1] !== '') createDataProperty(given, given.length, text);
};

/** A function that a helper has made of a text of the payload's is what the function constructor gives. */
const meetMade = (f) => {
  const text = given.length > 0 ? apply(functionToString, f, []) : '';
  if (apply(regexpExec, MADE, [text]) === null) return false;
  for (let i = 0; i < given.length; i++) {
    if (!includes(text, given[i])) continue;
    denied(f, 'function-constructor', 'what a function of the page makes of a text');
    return true;
  }
  return false;
};

const judgeText = (text) => {
  judgeAnyValue(text);
  if (!includes(text, '<')) return;
  refusePassing(text);
  judgeTree(rootElement(parseDocument(text, 'text/html')));
  judgeTree(rootElement(parseDocument('<template>' + text, 'text/html')));
};

const isHandler = (text) => apply(regexpExec, HANDLER, [text]) !== null;

/** Whether a node is, or makes, code of what it is given: a script, or an attribute that is a handler. */
const isCode = (x) => isScriptNode(x) || kindOf(x) === ATTRIBUTE && isHandler(attributeName(x));

/** Judge a call of a function of the page with `self` and `args`. @returns the texts among these */
const judgeHanded = (self, args) => {
  const texts = [];
  let nodes = 0;
  let hasCode = false;
  let hasHost = false;
  let hasFunction = typeof self === 'function';
  let isConverted = false;
  for (let i = -1; i < args.length; i++) {
    const x = i < 0 ? self : args[i];
    if (kindOf(x) !== 0) {
      nodes++;
      hasHost = true;
      hasCode ||= isCode(x);
      continue;
    }
    if (i < 0) continue;
    if (typeof x === 'function') hasFunction = true;
    else gather(x, texts, 0);
    if (unwrap(x) === G) hasHost = true;
    if (!isObject(x) || isOpaque(x) && !isKept(x)) continue;
    if (isOwnConversion(x)) isConverted = true;
    else if (typeof x === 'object') hasHost = gatherConverted(x, texts) || hasHost;
  }
  if (isConverted && hasFunction) deny('function-constructor', 'an object as a name for a function of the page');
  if (isConverted) remember('');
  if (hasCode && nodes + texts.length > 2) deny('dom-script-injection', 'a script or a handler for a function of the page');
  let isSink = false;
  for (let i = 0; i < texts.length; i++) {
    if (apply(regexpExec, hasFunction ? WITHIN : TO_CONSTRUCTOR, [texts[i]]) !== null) {
      deny('function-constructor', 'a name for a function of the page');
    }
    isSink ||= SINKS[texts[i]] === true;
    if (texts[i] !== '') remember(texts[i]);
    if (hasHost) judgeAnyValue(texts[i]);
  }
  if (nodes === 0 || !isSink) return texts;
  for (let i = 0; i < texts.length; i++) {
    if (isHandler(texts[i])) deny('dom-script-injection', 'a handler that a function of the page sets');
    judgeText(texts[i]);
  }
  return texts;
};

/** Deny a native with a rule as the handler of `x`, under one of the names that were handed over with it: it would be called with a text. */
const refuseHandlers = (x, texts) => {
  const target = unwrap(x) === G ? G : kindOf(x) === 0 ? undefined : x;
  if (target === undefined) return;
  for (let i = 0; i < texts.length; i++) {
    if (isHandler(texts[i]) && isRuled(get(target, texts[i]))) deny('dom-script-injection', 'a native as a handler');
  }
};

/** Deny a script that a function of the page has made, and not inserted. */
const refuseMade = (x) => {
  if (kindOf(x) === ELEMENT && isScriptNode(x) && ownerDocument(x) === home && rootOf(x) !== home) deny('dom-script-injection', 'a script that is made');
  return x;
};

/** Judge what functions of the page are given, what they leave there, and what they give. */
export const installHanding = () => {
  onHanding((self, args, run) => {
    const texts = judgeHanded(self, args);
    return refuseMade(disarmed(self, args, () => {
      try {
        return run();
      } finally {
        for (let i = -1; i < args.length; i++) refuseHandlers(i < 0 ? self : args[i], texts);
      }
    }));
  });
  onMeeting(meetMade);
};
