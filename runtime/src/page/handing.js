/**
 * What a payload hands to a function of the page. Such a function reads raw members: one that reads, calls or writes a member whose name
 * it is given does what the payload may not do itself. So a name that leads to the function constructor is denied, and what is handed over
 * with a node and the name of a member that makes markup or a handler of a text is judged as that member's. What such a function has made
 * of a text that it was given is no function of the page's.
 */
import {
  ArrayPrototype, apply, createDataProperty, functionToString, G, get, getPrototypeOf, isArray, isObject, ObjectPrototype, ownDescriptor, ownKeys,
  regexpExec, stringSlice, symbols, TypeError,
} from '../natives.js';
import { deny } from '../denial.js';
import { denied, isKept, isOpaque, isRuled, onHanding, onMeeting, unwrap } from '../membrane.js';
import { isOwn } from '../own.js';
import { ATTRIBUTE, attributeName, ELEMENT, home, kindOf, ownerDocument, parseDocument, rootElement, rootOf } from './dom.js';
import { tagOf } from './elements.js';
import { disarmed } from './leaving.js';
import { includes, string } from './text.js';
import { isScriptNode, judgeTree, refusePassing } from './trees.js';
import { judgeAnyValue } from './urls.js';
import { words } from './words.js';

const DEPTH = 12;
const MOST = 2000;
// A path of names, as helpers take it; no selector or sentence.
const TO_CONSTRUCTOR = /^(?:\[['"]?)?(?:[^\s.[\]'"]+[.[\]'"]+)*constructor(?:[.[\]'"]+[^\s.[\]'"]*)*$/;
// The same with any separator: for what is handed over together with a function.
const WITHIN = /^(?:\S*[^\w$-])?constructor(?:[^\w$-]\S*)?$/;
// ECMA-262 §20.2.1.1.1: the text of a function that was made of texts.
const MADE = /^(?:async )?function\*? anonymous\(/;
const HANDLER = /^on[a-z]+$/i;
// A sink by its name, also within a path.
const SINK =
  /(?:^|[^\w$])(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|parseHTMLUnsafe|srcdoc|write|writeln|createContextualFragment|setAttribute|setAttributeNS|execCommand)(?![\w$])/;

// Elements that convert to a URL.
const LINKS = words('a area');
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

/** Add what a native conversion makes of an object that is no plain data: of a String object, an error, a list of tokens, a link. */
const gatherConverted = (x, list) => {
  try {
    createDataProperty(list, list.length, string(x));
  } catch (error) {
    if (getPrototypeOf(error) !== TypeError.prototype) throw error;
  }
};

/**
 * Add what `x` holds to what is `found`: texts, which page functions take apart, nodes, and whether there are objects of the host, functions,
 * code, and objects of which it is not known what a function of the page reads there.
 */
const gather = (x, found, depth) => {
  const { texts } = found;
  if (typeof x === 'string') createDataProperty(texts, texts.length, x);
  if (!isObject(x)) return;
  if (unwrap(x) === G) found.hasHost = true;
  else if (kindOf(x) !== 0) {
    found.nodes++;
    found.hasHost = true;
    found.hasCode ||= isCode(x);
    if (kindOf(x) === ELEMENT && LINKS[tagOf(x)] === true) gatherConverted(x, texts);
  } else if (isOpaque(x) && !isKept(x)) return;
  else if (isOwnConversion(x)) found.isConverted = true;
  else if (typeof x === 'function') found.hasFunction ||= depth === 0;
  else gatherWithin(x, found, depth);
};

const gatherWithin = (x, found, depth) => {
  const { texts } = found;
  const above = getPrototypeOf(x);
  const isList = isArray(x) && above === ArrayPrototype;
  const isPlain = isList || above === ObjectPrototype || above === null;
  if (!isPlain) {
    found.hasHost = true;
    gatherConverted(x, texts);
  }
  const keys = ownKeys(x);
  if (depth > DEPTH || texts.length + keys.length > MOST) {
    found.isConverted = true;
    return;
  }
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(x, keys[i]);
    if (property === undefined || typeof keys[i] === 'symbol' || !isPlain && !property.enumerable) continue;
    if (property.get !== undefined && isOwn(property.get)) found.isConverted = true;
    if (!isList) createDataProperty(texts, texts.length, keys[i]);
    gather(property.value, found, depth + 1);
  }
};

// Whether a function of the page was given a text, or what gives one.
let isGiven = false;

/** What a helper has made of a text is what the function constructor gives: it may have changed the text. */
const meetMade = (f) => {
  if (!isGiven || apply(regexpExec, MADE, [apply(functionToString, f, [])]) === null) return false;
  denied(f, 'function-constructor', 'what a function of the page makes of a text');
  return true;
};

// Where text is no markup to one parser, and markup to another: within SVG, with scripting, as XML.
const RAW = /<(?:style|title|textarea|xmp|noscript|noembed|noframes|iframe|plaintext|!|\?)/i;
const MOST_TAGS = 64;

/** Judge markup that a function of the page may insert anywhere: what may be raw text is judged as markup from each `<` on. */
const judgeText = (text) => {
  judgeAnyValue(text);
  if (!includes(text, '<')) return;
  refusePassing(text);
  judgeTree(rootElement(parseDocument(text, 'text/html')));
  judgeTree(rootElement(parseDocument('<template>' + text, 'text/html')));
  if (apply(regexpExec, RAW, [text]) === null) return;
  let count = 0;
  for (let i = 1; i < text.length; i++) {
    if (text[i] !== '<') continue;
    if (++count > MOST_TAGS) deny('dom-script-injection', 'markup with raw text and many tags');
    judgeTree(rootElement(parseDocument(apply(stringSlice, text, [i]), 'text/html')));
  }
};

const isHandler = (text) => apply(regexpExec, HANDLER, [text]) !== null;

/** Whether a node is, or makes, code of what it is given: a script, or an attribute that is a handler. */
const isCode = (x) => isScriptNode(x) || kindOf(x) === ATTRIBUTE && isHandler(attributeName(x));

/** Judge a call of a function of the page with `self` and `args`. @returns the texts among these */
const judgeHanded = (self, args) => {
  const found = { __proto__: null, texts: [], nodes: 0, hasCode: false, hasHost: false, hasFunction: typeof self === 'function', isConverted: false };
  if (kindOf(self) !== 0) gather(self, found, 0);
  for (let i = 0; i < args.length; i++) gather(args[i], found, 0);
  const { texts, nodes, hasCode, hasHost, hasFunction, isConverted } = found;
  if (isConverted && hasFunction) deny('function-constructor', 'an object as a name for a function of the page');
  if (isConverted && nodes > 0) deny('dom-script-injection', 'an object as a name or a text for a function of the page');
  if (isConverted || texts.length > 0) isGiven = true;
  if (hasCode && nodes + texts.length > 2) deny('dom-script-injection', 'a script or a handler for a function of the page');
  let isSink = false;
  for (let i = 0; i < texts.length; i++) {
    if (apply(regexpExec, hasFunction ? WITHIN : TO_CONSTRUCTOR, [texts[i]]) !== null) {
      deny('function-constructor', 'a name for a function of the page');
    }
    isSink ||= apply(regexpExec, SINK, [texts[i]]) !== null;
    if (hasHost) judgeAnyValue(texts[i]);
  }
  if (!hasHost || !isSink) return texts;
  if (isConverted) deny('dom-script-injection', 'an object as a text for a function of the page');
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
