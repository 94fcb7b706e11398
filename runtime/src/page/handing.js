/**
 * What a payload hands to a function of the page. Such a function reads raw members: one that reads, calls or writes a member whose name
 * it is given does what the payload may not do itself. So a name that leads to the function constructor is denied, and what is handed over
 * with a node and the name of a member that makes markup or a handler of a text is judged as that member's.
 */
import { ArrayPrototype, apply, createDataProperty, getPrototypeOf, isArray, isObject, ObjectPrototype, ownDescriptor, ownKeys, regexpExec }
  from '../natives.js';
import { deny } from '../denial.js';
import { isOpaque, onHanding } from '../membrane.js';
import { kindOf, parseDocument, rootElement } from './dom.js';
import { includes } from './text.js';
import { judgeTree } from './trees.js';
import { judgeAnyValue } from './urls.js';
import { words } from './words.js';

const DEPTH = 3;
const MOST = 200;
// A path of names, as helpers take it; no selector or sentence.
const TO_CONSTRUCTOR = /^(?:\[['"]?)?(?:[\w$]+[.[\]'"]+)*constructor(?:[.[\]'"]+[\w$]*)*$/;
const HANDLER = /^on[a-z]+$/i;
const SINKS = words(
  'innerHTML outerHTML insertAdjacentHTML setHTMLUnsafe parseHTMLUnsafe srcdoc write writeln createContextualFragment setAttribute setAttributeNS',
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

const judgeText = (text) => {
  judgeAnyValue(text);
  if (!includes(text, '<')) return;
  judgeTree(rootElement(parseDocument(text, 'text/html')));
  judgeTree(rootElement(parseDocument('<template>' + text, 'text/html')));
};

const isHandler = (text) => apply(regexpExec, HANDLER, [text]) !== null;

/** Judge a call of a function of the page with `self` and `args`. */
const judgeHanded = (self, args) => {
  const texts = [];
  let hasNode = kindOf(self) !== 0;
  for (let i = 0; i < args.length; i++) {
    if (kindOf(args[i]) !== 0) hasNode = true;
    else gather(args[i], texts, 0);
  }
  let isSink = false;
  for (let i = 0; i < texts.length; i++) {
    if (apply(regexpExec, TO_CONSTRUCTOR, [texts[i]]) !== null) deny('function-constructor', 'a name for a function of the page');
    isSink ||= SINKS[texts[i]] === true;
  }
  if (!hasNode || !isSink) return;
  for (let i = 0; i < texts.length; i++) {
    if (isHandler(texts[i])) deny('dom-script-injection', 'a handler that a function of the page sets');
    judgeText(texts[i]);
  }
};

/** Judge what functions of the page are given. */
export const installHanding = () => { onHanding(judgeHanded); };
