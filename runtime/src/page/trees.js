/** Trees of nodes: judged as a whole before they enter the page. */
import { apply, create, regexpExec } from '../natives.js';
import { deny } from '../denial.js';
import { pageNotes } from '../shared.js';
import { judgeAttribute } from './attributes.js';
import {
  adopt, appendChild, ATTRIBUTE, attributeCount, attributeName, attributesOf, attributeValue, branded, DOCUMENT, ELEMENT,
  elementsIn, elementsInFragment, firstChild, FRAGMENT, hasAttribute, home, hostOf, inertDocument, isConnected, kindOf, makeElement, makeFragment,
  namespaceOf, localName, nodeCount, ownerDocument, parentOf, parseDocument, readInnerHTML,
  rootElement, rootOf, setInnerHTML, shadowOf, templateContent,
  templateDocument, textOf, urlOfScript,
} from './dom.js';
import { isScript, judgeElement, tagOf } from './elements.js';
import { includes } from './text.js';

// All programs of a page make and read the same notes: what one has let out, another may put back. `roots` has the shadow roots
// that payloads attached, by host: a closed one is not to be found otherwise.
const notes = pageNotes();

/** Remember the shadow root of a host, which a payload made. */
export const rememberShadow = (host, root) => notes.roots.set(host, root);

/** The shadow root of an element, also a closed one of a payload's. */
export const shadowRootOf = (element) => shadowOf(element) ?? notes.roots.get(element);

// What elements of the page say of themselves, while markup that holds them is judged.
let present;

const measured = (text) => text.length + ':' + text;

/** What an element says of itself: its name, its attributes, and the text of a script. */
const describe = (element) => {
  const list = attributesOf(element);
  const count = attributeCount(list);
  let text = measured(tagOf(element)) + measured(namespaceOf(element) ?? '');
  for (let i = 0; i < count; i++) text += measured(attributeName(list[i])) + measured(attributeValue(list[i]));
  return isScriptNode(element) ? text + measured(textOf(element)) : text;
};

// What may be in markup only if it is the page's own.
const RUNS = /<(?:script|object|embed|frame|base|meta|link)|[^a-z\d-]on|srcdoc|script:/i;

/**
 * Judge, with `judge`, markup for the content of `element`. Where it holds the content that is there now, as `e.innerHTML += markup`
 * does, elements that are there now may be made again. Scripts of such markup never run (HTML §8.5.4, fragment parsing).
 */
export const withPresent = (element, markup, judge) => {
  if (kindOf(element) !== ELEMENT || ownerDocument(element) !== home || isNested() || apply(regexpExec, RUNS, [markup]) === null) return judge();
  const now = readInnerHTML(element);
  if (now === '' || !includes(markup, now)) return judge();
  const outer = present;
  present = create(null);
  const list = elementsIn(element, '*');
  const count = nodeCount(list);
  for (let i = 0; i < count; i++) present[describe(list[i])] = true;
  try {
    return judge();
  } finally {
    present = outer;
  }
};

const judgeItself = (element) => {
  const tag = judgeElement(element);
  const list = attributesOf(element);
  const count = attributeCount(list);
  for (let i = 0; i < count; i++) judgeAttribute(tag, attributeName(list[i]), attributeValue(list[i]), true);
  return tag;
};

const judgeOne = (element) => {
  const tag = present !== undefined && present[describe(element)] ? tagOf(element) : judgeItself(element);
  if (tag === 'template' && branded(templateContent, element)) judgeFragment(templateContent(element));
  const shadow = shadowRootOf(element);
  if (shadow) judgeFragment(shadow);
};

const judgeList = (list) => {
  const count = nodeCount(list);
  for (let i = 0; i < count; i++) judgeOne(list[i]);
};

const judgeFragment = (fragment) => judgeList(elementsInFragment(fragment, '*'));

/** Deny a tree in which anything runs: elements, attributes, templates and shadow trees, from the allow lists. */
export const judgeTree = (node) => {
  const kind = kindOf(node);
  if (kind === ELEMENT) {
    judgeOne(node);
    judgeList(elementsIn(node, '*'));
  } else if (kind === FRAGMENT) judgeFragment(node);
  else if (kind === ATTRIBUTE) judgeAttribute('', attributeName(node), attributeValue(node));
};

// `depth`: how many mediated insertions are under way, one within another: reactions of custom elements and events such as `blur`
// run payloads' code in the middle of a native. `isUnjudged`: whether one of them inserts where nothing is alive, so that
// nothing is judged.

/** Whether an insertion runs within another. */
export const isNested = () => notes.depth > 1;

/** Deny that nodes enter the page in the middle of an insertion of what nobody has judged: they may be where it goes. */
export const refuseUnjudged = () => {
  if (notes.isUnjudged) deny('dom-script-injection', 'an insertion within another');
};

/** A rule that judges, and then calls a native in which the payload's code may run before anything is inserted. */
export const guarded = (rule) => (self, args, real) => {
  notes.depth++;
  try {
    return rule(self, args, real);
  } finally {
    if (--notes.depth === 0) notes.isUnjudged = false;
  }
};

/**
 * Whether what is inserted below `node` comes to life: it belongs to the page, or to a shadow tree, or may be on its way there.
 */
export const isAlive = (node) => {
  if (notes.depth > 1) return true;
  const alive = isInPage(node);
  if (!alive && notes.depth === 1) notes.isUnjudged = true;
  return alive;
};

/** Whether nodes of this document are the page's: it copies the contents of its templates. */
const isOfPage = (owner) => owner === home || owner === templateDocument();

const isInPage = (node) => {
  const kind = kindOf(node);
  const owner = kind === DOCUMENT ? node : ownerDocument(node);
  if (isOfPage(owner) || isReleased(node)) return true;
  const root = rootOf(node);
  return kindOf(root) === FRAGMENT && branded(hostOf, root);
};

// `released`: the page's elements that went where nothing is alive. The engine may put them back itself, as the undoing of an
// edit does, so that what is inserted below them is judged all the same.

const releaseAll = (list) => {
  const count = nodeCount(list);
  for (let i = 0; i < count; i++) notes.released.add(list[i]);
};

/** Note that a node may leave the page's document, or that of its templates. */
export const release = (node) => {
  const kind = kindOf(node);
  if (kind !== ELEMENT && kind !== FRAGMENT || !isOfPage(ownerDocument(node))) return;
  notes.isAnyReleased = true;
  if (kind === ELEMENT) notes.released.add(node);
  releaseAll(kind === ELEMENT ? elementsIn(node, '*') : elementsInFragment(node, '*'));
};

const isReleased = (node) => {
  if (notes.isAnyReleased) for (let q = node; q !== null; q = parentOf(q)) if (notes.released.has(q)) return true;
  return false;
};

/** Move all children of a node into a new fragment of the page. */
const gather = (parent) => {
  const fragment = makeFragment(home);
  for (let child = firstChild(parent); child !== null; child = firstChild(parent)) appendChild(fragment, child);
  return fragment;
};

/** Whether a script may not have run yet, as there is nothing to run in it. */
export const isUnstarted = (script) =>
  !hasAttribute(script, 'src') && !hasAttribute(script, 'href') && (textOf(script) === '' || nodeCount(elementsIn(script, '*')) > 0);

/**
 * Deny to move an SVG script of the page's: while it is nowhere, a payload may write its URL, of which an animated string does not say
 * whose it is. Deny to bring back an empty script, into which somebody may type: `typing.js` starts those that are in the document.
 */
const refuseMoved = (node) => {
  if (isScriptNode(node) && (branded(urlOfScript, node) || isUnstarted(node) && !isConnected(node))) deny('dom-script-injection');
  const kind = kindOf(node);
  if (kind !== ELEMENT && kind !== FRAGMENT || firstChild(node) === null) return;
  const list = kind === ELEMENT ? elementsIn(node, 'script') : elementsInFragment(node, 'script');
  const count = nodeCount(list);
  for (let i = 0; i < count; i++) refuseMoved(list[i]);
};

/**
 * Judge a node that enters the page, and make it the page's, so that no event during the insertion can change it unseen.
 *
 * @returns the node to insert in its place
 */
export const admit = (node) => {
  if (ownerDocument(node) === home) {
    refuseMoved(node);
    return node;
  }
  refuseUnjudged();
  judgeTree(node);
  if (kindOf(node) === FRAGMENT && !branded(hostOf, node)) return gather(node);
  adopt(home, node);
  return node;
};

// Patches between instructions and the content of a `selectedcontent`: a parser makes them, and takes them away before it is done.
const PASSING = /<\?|selectedcontent/i;

/** Deny a text whose tree lacks what its parser has made: where the engine reads it for a page, that has run by then. */
export const refusePassing = (text) => {
  if (apply(regexpExec, PASSING, [text]) !== null) deny('dom-script-injection', 'markup of which a parser takes something away');
};

// A name that begins with `on`, a nested document, or a value that may be the URL of a script.
const SUSPECT = /(?:^|[^a-z\d-])on|srcdoc|=\s*["']?[\0-\x20]*(?:j|&|v)/i;

/**
 * Deny markup that holds a handler or the URL of a script before any sink of the page gets it: what is parsed as a whole document
 * passes no policy of Trusted Types. As the content of a template, rows and cells stay what they are.
 */
export const judgeMarkup = (markup) => {
  if (apply(regexpExec, SUSPECT, [markup]) === null) return;
  judgeTree(rootElement(parseDocument(markup, 'text/html')));
  judgeTree(rootElement(parseDocument('<template>' + markup, 'text/html')));
};

/**
 * Parse markup as the content of an element like `context`, judge the tree, and return its nodes in a fragment of the
 * page. What was judged is what is inserted: the markup is not parsed again.
 */
export const parsed = (markup, context) => {
  judgeMarkup(markup);
  return written(context, (quiet) => setInnerHTML(quiet, markup));
};

/** The same for what `write` puts into an element like `context` in a document where nothing runs. */
export const written = (context, write) => {
  const quiet = makeElement(inertDocument(), namespaceOf(context), localName(context));
  write(quiet);
  const content = isTemplate(quiet) ? templateContent(quiet) : quiet;
  judgeList(content === quiet ? elementsIn(quiet, '*') : elementsInFragment(content, '*'));
  return gather(content);
};

/** Whether a node is HTML's template element; its name is asked first, because a brand that fails costs an exception. */
export const isTemplate = (node) => kindOf(node) === ELEMENT && tagOf(node) === 'template' && branded(templateContent, node);

/** Whether a node is a script, whose text must not be written. */
export const isScriptNode = (node) => kindOf(node) === ELEMENT && isScript(tagOf(node));
