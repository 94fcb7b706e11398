/** Members that parse markup: it is parsed where nothing runs, the tree is judged, and its very nodes are inserted. */
import { apply } from '../natives.js';
import { deny } from '../denial.js';
import {
  branded, DOCUMENT, ELEMENT, firstChild, FRAGMENT, hostOf, inertBody, insertBefore, kindOf, localName, namespaceOf,
  nextSibling, parentOf, rangeStart, replaceChildren, replaceFragment, replaceWith, setSanitized,
  templateContent, XHTML,
} from './dom.js';
import { at, includes, lower, string, stringOrEmpty } from './text.js';
import { guarded, isAlive, isScriptNode, isTemplate, judgeMarkup, parsed, withPresent, written } from './trees.js';

/** The element that markup next to a node is parsed in: HTML's fragment parser takes `body` where there is none. */
const contextOf = (node) =>
  kindOf(node) !== ELEMENT || (namespaceOf(node) === XHTML && localName(node) === 'html') ? inertBody() : node;

const refuseScript = (node) => {
  if (isScriptNode(node)) deny('dom-script-injection');
};

/** Declarative shadow trees may be closed, so that no later judgement sees them. */
const refuseDeclaredShadow = (markup) => {
  if (includes(lower(markup), 'shadowrootmode')) deny('dom-script-injection');
};

const content = (self, markup, real) => {
  refuseScript(self);
  if (!isAlive(self)) {
    judgeMarkup(markup);
    apply(real, self, [markup]);
  } else if (!includes(markup, '<')) apply(real, self, [markup]);
  else fill(self, withPresent(self, markup, () => parsed(markup, likeOf(self))));
};

/** The element in which the markup of `self` is parsed: for a shadow root, its host. */
const likeOf = (self) => (kindOf(self) === FRAGMENT ? hostOf(self) : self);

/** Put `nodes` in the place of what is in `self`: of a template, in its content. */
const fill = (self, nodes) => {
  if (kindOf(self) === FRAGMENT) replaceFragment(self, nodes);
  else if (isTemplate(self)) replaceFragment(templateContent(self), nodes);
  else replaceChildren(self, nodes);
};

const setInner = guarded((self, args, real) => {
  const markup = stringOrEmpty(at(args, 0));
  return kindOf(self) === 0 ? apply(real, self, ['']) : content(self, markup, real);
});

const setUnsafe = guarded((self, args, real) => {
  const markup = string(at(args, 0));
  if (args.length === 0 || kindOf(self) === 0) return apply(real, self, []);
  refuseDeclaredShadow(markup);
  return content(self, markup, real);
});

/** `setHTML(markup, options)`: the engine removes what runs, but the options may keep a `base` or a `meta`. */
const setSafe = guarded((self, args, real) => {
  if (args.length === 0 || kindOf(self) === 0) return apply(real, self, []);
  args[0] = string(args[0]);
  refuseScript(self);
  if (!isAlive(self)) return apply(real, self, args);
  fill(self, written(likeOf(self), (quiet) => (args.length > 1 ? setSanitized(quiet, args[0], args[1]) : setSanitized(quiet, args[0]))));
  return undefined;
});

const setOuter = guarded((self, args, real) => {
  const markup = stringOrEmpty(at(args, 0));
  const parent = kindOf(self) === ELEMENT ? parentOf(self) : null;
  if (parent === null || kindOf(parent) === DOCUMENT) return apply(real, self, ['']);
  refuseScript(parent);
  refuseScript(self);
  if (!isAlive(parent)) {
    judgeMarkup(markup);
    return apply(real, self, [markup]);
  }
  replaceWith(self, parsed(markup, kindOf(parent) === ELEMENT ? parent : inertBody()));
  return undefined;
});

/** Where `insertAdjacentHTML` inserts: the parent, and the node before which it does. */
const place = (element, where) => {
  switch (where) {
    case 'beforebegin': return { __proto__: null, parent: parentOf(element), next: element };
    case 'afterbegin': return { __proto__: null, parent: element, next: firstChild(element) };
    case 'beforeend': return { __proto__: null, parent: element, next: null };
    case 'afterend': return { __proto__: null, parent: parentOf(element), next: nextSibling(element) };
    default: return { __proto__: null, parent: null, next: null };
  }
};

const insertAdjacent = guarded((self, args, real) => {
  if (args.length < 2 || kindOf(self) !== ELEMENT) return apply(real, self, []);
  const where = string(args[0]);
  const markup = string(args[1]);
  const { parent, next } = place(self, lower(where));
  if (parent === null || kindOf(parent) === DOCUMENT) return apply(real, self, [where, '']);
  refuseScript(parent);
  if (!isAlive(parent)) {
    judgeMarkup(markup);
    return apply(real, self, [where, markup]);
  }
  insertBefore(parent, parsed(markup, contextOf(parent)), next);
  return undefined;
});

const contextual = (self, args, real) => {
  if (args.length === 0 || !branded(rangeStart, self)) return apply(real, self, []);
  const markup = string(args[0]);
  const start = rangeStart(self);
  const near = kindOf(start) === ELEMENT ? start : parentOf(start);
  return parsed(markup, near === null ? inertBody() : contextOf(near));
};

const parseUnsafe = (self, args, real) => {
  if (args.length === 0) return apply(real, self, []);
  const markup = string(args[0]);
  refuseDeclaredShadow(markup);
  judgeMarkup(markup);
  return apply(real, self, [markup]);
};

/** How each member is called, by the word that the list of interfaces gives it. */
export const markup = {
  __proto__: null,
  inner: () => setInner,
  outer: () => setOuter,
  adjacent: () => insertAdjacent,
  contextual: () => contextual,
  unsafe: () => setUnsafe,
  safe: () => setSafe,
  parse: () => parseUnsafe,
};
