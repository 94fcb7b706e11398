/** Members that make elements, windows, workers and URLs of objects. */
import {
  apply, construct, create, createDataProperty, G, get, getPrototypeOf, isArray, isObject, ownDescriptor, regexpExec, TypeError, weakMap,
} from '../natives.js';
import { deny } from '../denial.js';
import { isHarmlessCallback, isOpaque, pageHelps, unwrap, whileReading } from '../membrane.js';
import { blobType } from './captured.js';
import {
  activeElement, branded, contentEditable, designMode, DOCUMENT, ELEMENT, elementsIn, elementsInDocument, elementsInFragment, FRAGMENT, hostOf,
  inertBody, kindOf, nodeCount, parentOf, parseDocument, rootElement, selectionStart, userModify,
} from './dom.js';
import { onFrameDocument } from './attributes.js';
import { isPassiveTag, isScript, judgeElement, tagOf } from './elements.js';
import { at, includes, lower, string } from './text.js';
import { guarded, judgeTree, parsed, refusePassing, shadowRootOf } from './trees.js';
import { essence, isMedia, isPassive, judgeUrl } from './urls.js';
import { treeOf } from './serialising.js';
import { dictionary, viewed } from './views.js';
import { words } from './words.js';

/** `createElement(name, options)` and `createElementNS(namespace, name, options)`. */
const element = (self, args, real) => {
  const last = args.length - 1;
  // The name of a passive element in lower case says all, also with a namespace.
  if (last === 0 && typeof args[0] === 'string' && isPassiveTag(args[0])) return apply(real, self, args);
  if (last > 0 && isObject(args[last])) args[last] = { __proto__: null, is: isOf(args[last]) };
  const made = apply(real, self, args);
  judgeElement(made);
  return made;
};

const isOf = (options) => {
  const { is } = options;
  return is === undefined ? undefined : string(is);
};

/** `implementation.createDocument(namespace, name, doctype)`. */
const documentOf = (self, args, real) => {
  const made = apply(real, self, args);
  if (kindOf(made) === DOCUMENT && rootElement(made) !== null) judgeTree(rootElement(made));
  return made;
};

const REACTIONS = [
  'connectedCallback', 'disconnectedCallback', 'connectedMoveCallback', 'adoptedCallback', 'attributeChangedCallback', 'formAssociatedCallback',
  'formResetCallback', 'formDisabledCallback', 'formStateRestoreCallback',
];

/** The engine calls these with names and values of attributes: a raw function that the page has put there is denied. */
const judgeReactions = (prototype) => {
  for (let i = 0; isObject(prototype) && i < REACTIONS.length; i++) {
    const f = get(prototype, REACTIONS[i]);
    if (typeof f === 'function' && !isHarmlessCallback(f)) deny('dom-script-injection', 'a native as a reaction of an element');
  }
};

/** `customElements.define(name, constructor, options)`: a customised built-in would be a script or frame by another name. */
const define = (self, args, real) => {
  const options = at(args, 2);
  if (options !== undefined && options !== null) {
    if (options.extends !== undefined) deny('dom-script-injection');
  }
  if (typeof at(args, 1) === 'function') judgeReactions(args[1].prototype);
  return apply(real, self, args.length > 2 ? [args[0], args[1]] : args);
};

// What the payload has made a blob of markup of. Others, and parts of these, are not known.
const markupOf = weakMap();

/** A copy of an array of strings, and these as one; undefined where it holds anything else. */
const joined = (parts) => {
  if (!isArray(parts) || isOpaque(parts)) return undefined;
  const list = [];
  let text = '';
  for (let i = 0; i < parts.length; i++) {
    const part = ownDescriptor(parts, i)?.value;
    if (typeof part !== 'string') return undefined;
    createDataProperty(list, i, part);
    text += part;
  }
  return { __proto__: null, list, text };
};

/** `new Blob(parts, options)`: what a document may be made of is remembered. */
const blob = {
  __proto__: null,
  call: (self, args, real) => apply(real, self, args),
  construct(args, newTarget, real) {
    const parts = joined(at(args, 0));
    const type = isObject(at(args, 1)) && !isOpaque(args[1]) ? ownDescriptor(args[1], 'type')?.value : undefined;
    if (parts === undefined || typeof type !== 'string' || !isHtml(type) && type !== SVG) return construct(real, args, newTarget);
    // Bytes that are no ASCII are other letters in another encoding, which a document may name: that of the type comes first.
    const said = isHtml(type) && apply(regexpExec, NO_ASCII, [parts.text]) !== null ? 'text/html;charset=utf-8' : type;
    const made = construct(real, [parts.list, { type: said }], newTarget);
    markupOf.set(made, parts.text);
    return made;
  },
};

/** Deny a blob of which a document of the page's origin would come that may run. Anything else is a MediaSource, or a TypeError. */
export const judgeBlob = (blob) => {
  if (blobType === undefined) deny('dom-script-injection', 'the page lacks an interface');
  let type = '';
  try {
    type = apply(blobType, blob, []);
  } catch (error) {
    if (getPrototypeOf(error) !== TypeError.prototype) throw error;
    return;
  }
  const text = markupOf.get(blob);
  if (text !== undefined && isHtml(type)) judgePage(text);
  else if (text !== undefined && type === SVG) judgePicture(text);
  else if (!isMedia(essence(type)) && !isPassive(essence(type))) deny('dom-script-injection');
};

/** `URL.createObjectURL(blob)`. */
const objectUrl = (self, args, real) => {
  judgeBlob(at(args, 0));
  return apply(real, self, args);
};

const isHtml = (type) => type === 'text/html' || type === 'text/html;charset=utf-8';

/**
 * Judge a document. One that runs script reads `<noscript>` as another text than it is here, and control characters may choose
 * another encoding, in which markup is no markup.
 */
const judgePage = (text) => {
  refusePassing(text);
  if (apply(regexpExec, READ_ELSEHOW, [text]) !== null) deny('dom-script-injection');
  judgeTree(rootElement(parseDocument(text, 'text/html')));
};

/** Judge a picture that may be opened as a document. What an instruction or a declaration says is not in the tree. */
const judgePicture = (text) => {
  refusePassing(text);
  if (apply(regexpExec, DECLARES, [text]) !== null) deny('dom-script-injection');
  const root = rootElement(parseDocument(text, SVG));
  if (tagOf(root) !== 'svg' || nodeCount(elementsIn(root, 'parsererror')) > 0) deny('dom-script-injection', 'a picture that is no document');
  judgeTree(root);
};

const SVG = 'image/svg+xml';
const DECLARES = /<[?!]|[\0\x0e\x0f\x1b\ufeff]/;

/** The document of a frame's `srcdoc`: it has no quirks without saying so (HTML §13.2.6.4.1), which not every engine follows. */
onFrameDocument((text) => {
  judgePage(text);
  judgePage('<!doctype html>' + text);
});

const NO_ASCII = /[^\0-\x7f]/;

// A byte order mark is no text to a browser, and text to a parser of strings.
const READ_ELSEHOW = /<no|[\0\x0e\x0f\x1b\ufeff]|shadowrootmode/i;

/** The receiver of a member of the window: the window for its facade. No other real value is given away. */
const windowOf = (self) => (unwrap(self) === G ? G : self);

/** `window.open(url, target, features)`, `location.assign(url)`, `navigation.navigate(url)`: the first argument is a URL. */
const navigate = (self, args, real) => {
  if (args.length > 0 && args[0] !== undefined) {
    args[0] = string(args[0]);
    judgeUrl(args[0], 'link');
  }
  return apply(real, windowOf(self), args);
};

/** `document.open`: with three arguments that of the window; with fewer it replaces the page. */
const refuse = () => () => deny('dom-script-injection');

const TRUSTING = ['createHTML', 'createScript', 'createScriptURL'];

/** `trustedTypes.createPolicy(name, options)`: a policy without functions trusts nothing. */
const policy = (self, args, real) => {
  const options = at(args, 1);
  if (options !== undefined && options !== null) {
    if (!isObject(options)) return apply(real, self, args);
    for (let i = 0; i < TRUSTING.length; i++) if (get(options, TRUSTING[i]) !== undefined) deny('dom-script-injection');
  }
  return apply(real, self, [string(at(args, 0)), { __proto__: null }]);
};

/** `setTimeout(f)`: text would be compiled. */
const timer = (self, args, real) => {
  const f = at(args, 0);
  if (typeof f !== 'function') deny('string-timer');
  return apply(real, windowOf(self), args);
};

const COMMANDS_WITH_URLS = { __proto__: null, createlink: 'link', insertimage: 'media' };

const HARMLESS_COMMANDS = words('copy selectall stylewithcss defaultparagraphseparator');

/**
 * Deny an editing command while the text of a script may be edited, in the document or in a shadow tree, and where the command may
 * remove what has the focus: the event that tells of it runs the payload's code in the middle of the command.
 */
const refuseEditable = (document) => {
  if (kindOf(document) !== DOCUMENT) return;
  const focused = activeElement(document);
  const around = focused === null || isTextControl(focused) ? null : parentOf(focused);
  if (around !== null && isEditable(around)) deny('dom-script-injection', 'the focus within what is edited');
  refuseEditableIn(elementsInDocument(document, '*'), lower(designMode(document)) === 'on');
};

/** Whether a selection is within the element's own text, so that a command edits nothing else. */
const isTextControl = (element) =>
  tagOf(element) === 'textarea' || tagOf(element) === 'input' && branded(selectionStart, element) && selectionStart(element) !== null;

const refuseEditableIn = (list, isDesigned) => {
  const count = nodeCount(list);
  for (let i = 0; i < count; i++) {
    if (isScript(tagOf(list[i])) && (isDesigned || isEditable(list[i]))) deny('dom-script-injection', 'an editable script');
    const shadow = shadowRootOf(list[i]);
    if (shadow) refuseEditableIn(elementsInFragment(shadow, '*'), isDesigned);
  }
};

/** Whether an element of any namespace is editable, or in what is: by its attributes or its style. */
const isEditable = (element) => {
  for (let q = element; q !== null; q = kindOf(q) === FRAGMENT && branded(hostOf, q) ? hostOf(q) : parentOf(q)) {
    if (kindOf(q) === ELEMENT && (branded(contentEditable, q) && contentEditable(q) || !NOT_EDITABLE[userModify(q)])) return true;
  }
  return false;
};

const NOT_EDITABLE = { __proto__: null, 'read-only': true, '': true };

const command = (self, args, real) => {
  if (args.length === 0) return apply(real, self, []);
  const name = lower(string(args[0]));
  const show = !!at(args, 1);
  const value = args.length > 2 && args[2] !== undefined ? string(args[2]) : '';
  if (HARMLESS_COMMANDS[name] !== true) refuseEditable(self);
  if (name === 'inserthtml') return insertMarkup(self, real, value);
  if (COMMANDS_WITH_URLS[name]) judgeUrl(value, COMMANDS_WITH_URLS[name]);
  return apply(real, self, [name, show, value]);
};

/** The engine parses the markup again, so that nothing passes whose reading depends on where it stands. */
const insertMarkup = (self, real, value) => {
  const text = lower(value);
  for (let i = 0; i < READ_DIFFERENTLY.length; i++) if (includes(text, READ_DIFFERENTLY[i])) deny('dom-script-injection');
  parsed(value, inertBody());
  return apply(real, self, ['inserthtml', false, value]);
};

const READ_DIFFERENTLY = ['<!', '<?', '<no', '<svg', '<math', '<style', '<title', '<text', '<temp', '<xmp', '<plain', '<sel'];

/** An event's constructor or initializer that takes a window: the facade in its place is unwrapped. */
const event = {
  __proto__: null,
  call: (self, args, real) => apply(real, self, unwrapped(args)),
  construct: (args, newTarget, real) => construct(real, withWindow(args), newTarget),
};

const unwrapped = (args) => {
  for (let i = 0; i < args.length; i++) if (unwrap(args[i]) === G) args[i] = G;
  return args;
};

const WINDOW_FIELDS = ['view', 'source', 'window'];

const withWindow = (args) => {
  const init = at(args, 1);
  if (!isObject(init)) return args;
  let copy;
  for (let i = 0; i < WINDOW_FIELDS.length; i++) {
    const value = init[WINDOW_FIELDS[i]];
    if (value === undefined || value === null || unwrap(value) !== G) continue;
    copy ??= create(init);
    createDataProperty(copy, WINDOW_FIELDS[i], G);
  }
  return copy ? [args[0], copy] : args;
};

/** A method of EventTarget on the window's facade, or on nothing. A listener may be an object. */
const ofTarget = (self, args, real) => {
  unwrapped(args);
  if (args.length > 1) args[1] = viewed(args[1]);
  return apply(real, self === undefined || self === null ? G : windowOf(self), args);
};

const withViews = (args, places, view) => {
  for (let i = 0; i < places.length; i++) if (+places[i] < args.length) args[+places[i]] = view(args[+places[i]]);
  return args;
};

/** A member of which the arguments at `places`, a digit each, are objects with methods that the native calls. */
const viewing = (places, view = viewed) => ({
  __proto__: null,
  call: (self, args, real) => apply(real, self, withViews(args, places, view)),
  construct: (args, newTarget, real) => construct(real, withViews(args, places, view), newTarget),
});

/** `Response.json(data)`: the native calls each `toJSON` that it finds (`serialising.js`). */
const written = (self, args, real) => {
  if (pageHelps && args.length > 0) args[0] = treeOf(args[0]);
  return whileReading(() => apply(real, self, args));
};

export const creation = {
  __proto__: null,
  element: () => element,
  document: () => documentOf,
  define: () => define,
  blob: () => blob,
  objectUrl: () => objectUrl,
  navigate: () => navigate,
  policy: () => policy,
  refuse,
  worker: () => () => deny('worker'),
  timer: () => timer,
  command: () => guarded(command),
  event: () => event,
  window: () => ofTarget,
  json: () => written,
  view0: () => viewing('0'),
  view01: () => viewing('01'),
  view012: () => viewing('012'),
  view1: () => viewing('1'),
  view2: () => viewing('2'),
  // Dictionaries of which a part is written as JSON, so that each `toJSON` in it is called.
  dictionary0: () => viewing('0', dictionary),
  dictionary01: () => viewing('01', dictionary),
};
