/** Members that write attributes, and the text of nodes: attribute methods, reflecting properties, Attr nodes, text. */
import { apply, isObject, regexpExec } from '../natives.js';
import { deny } from '../denial.js';
import { isHarmless, judgeAttribute, judgeRemoval } from './attributes.js';
import {
  ATTRIBUTE, attributeCount, attributeName, attributeOf, attributeOwner, attributeValue, branded, dropAttribute, ELEMENT, elementsInDocument,
  hasAttribute, home, INSTRUCTION, kindOf, makeAttribute, nodeCount, ownerDocument, parentOf, putAttribute, supportsToken, urlOfScript,
} from './dom.js';
import { isFrame, isScript, tagOf } from './elements.js';
import { at, includes, lower, string, stringOrEmpty } from './text.js';
import { isScriptNode } from './trees.js';
import { isNoUrl, judgeAnyValue, judgeUrl } from './urls.js';

/** The local name of a qualified name. */
const local = (name) => {
  let from = 0;
  for (let i = 0; i < name.length; i++) if (name[i] === ':') from = i + 1;
  let out = '';
  for (let i = from; i < name.length; i++) out += name[i];
  return out;
};

/** Whether an element is a frame that has no attribute called `name`. */
const isAbsent = (self, tag, name) => isFrame(tag) && !hasAttribute(self, name);

const isElement = (x) => kindOf(x) === ELEMENT;

const set = (self, args, real) => {
  if (args.length < 2 || !isElement(self)) return apply(real, self, []);
  const name = string(args[0]);
  const value = string(args[1]);
  judgeAnyValue(value);
  if (!isHarmless(name)) {
    const tag = tagOf(self);
    judgeAttribute(tag, name, value, isAbsent(self, tag, name));
    judgeAttribute(tag, local(name), value, isAbsent(self, tag, name));
  }
  return apply(real, self, [name, value]);
};

const setInNamespace = (self, args, real) => {
  if (args.length < 3 || !isElement(self)) return apply(real, self, []);
  const space = args[0] === null || args[0] === undefined ? null : string(args[0]);
  const name = string(args[1]);
  const value = string(args[2]);
  judgeAttribute(tagOf(self), local(name), value);
  return apply(real, self, [space, name, value]);
};

const toggle = (self, args, real) => {
  if (args.length === 0 || !isElement(self)) return apply(real, self, []);
  const name = string(args[0]);
  judgeAttribute(tagOf(self), local(name), '');
  judgeRemoval(tagOf(self), name);
  return apply(real, self, args.length > 1 && args[1] !== undefined ? [name, !!args[1]] : [name]);
};

const remove = (self, args, real) => {
  if (args.length === 0 || !isElement(self)) return apply(real, self, []);
  const name = string(args[0]);
  judgeRemoval(tagOf(self), local(name));
  return apply(real, self, [name]);
};

const removeInNamespace = (self, args, real) => {
  if (args.length < 2 || !isElement(self)) return apply(real, self, []);
  const space = args[0] === null || args[0] === undefined ? null : string(args[0]);
  const name = string(args[1]);
  judgeRemoval(tagOf(self), name);
  return apply(real, self, [space, name]);
};

const removeNode = (self, args, real) => {
  const node = at(args, 0);
  if (isElement(self) && kindOf(node) === ATTRIBUTE) judgeRemoval(tagOf(self), attributeName(node));
  return apply(real, self, [node]);
};

/** The element of an attribute map. The map does not say: an attribute in it does, or one that is put there to ask. */
const ownerOfMap = (map) => {
  if (!branded(attributeCount, map)) return null;
  if (attributeCount(map) > 0) return attributeOwner(map[0]);
  const probe = makeAttribute(home, 'data-owner');
  putAttribute(map, probe);
  const owner = attributeOwner(probe);
  dropAttribute(owner, probe);
  return owner;
};

const removeNamed = (self, args, real) => {
  const owner = ownerOfMap(self);
  if (owner === null || args.length === 0) return apply(real, self, []);
  const name = string(args[args.length - 1]);
  judgeRemoval(tagOf(owner), local(name));
  const space = args[0] === null || args.length < 2 ? null : string(args[0]);
  return apply(real, self, args.length > 1 ? [space, name] : [name]);
};

const setNamed = (self, args, real) => {
  const owner = ownerOfMap(self);
  const node = at(args, 0);
  if (owner !== null && kindOf(node) === ATTRIBUTE) judgeAttribute(tagOf(owner), attributeName(node), attributeValue(node));
  return apply(real, self, [node]);
};

const setNode = (self, args, real) => {
  const node = at(args, 0);
  if (kindOf(node) === ATTRIBUTE) judgeAttribute(isElement(self) ? tagOf(self) : '', attributeName(node), attributeValue(node));
  return apply(real, self, [node]);
};

/** Write the value of an Attr node. */
const attributeText = (self, text, real) => {
  const owner = attributeOwner(self);
  judgeAnyValue(text);
  judgeAttribute(owner === null ? '' : tagOf(owner), attributeName(self), text);
  return apply(real, self, [text]);
};

const setValue = (self, args, real) =>
  (kindOf(self) === ATTRIBUTE ? attributeText(self, string(at(args, 0)), real) : apply(real, self, ['']));

/** Deny a write to a script, to a part of one, or to an instruction of the page, which may name a transformation of it. */
const refuseScriptText = (self) => {
  if (isScriptNode(self) || kindOf(self) === INSTRUCTION && ownerDocument(self) === home) deny('dom-script-injection');
  const parent = parentOf(self);
  if (parent !== null && isScriptNode(parent)) deny('dom-script-injection');
};

/** `nodeValue`, `textContent`, `data`, `innerText`, `outerText`: text that is no markup, but in a script is code. */
const setText = (self, args, real) => {
  const given = at(args, 0);
  const text = given === undefined || given === null ? given : string(given);
  const kind = kindOf(self);
  if (kind === ATTRIBUTE) return attributeText(self, stringOrEmpty(text ?? null), real);
  // The text of a script is that of its own children, so that an element in it does not matter.
  if (kind === ELEMENT) refuseScriptNode(self);
  else if (kind !== 0) refuseScriptText(self);
  return apply(real, self, [text]);
};

const refuseScriptNode = (self) => {
  if (isScript(tagOf(self))) deny('dom-script-injection');
};

/** `outerText`: the text takes the place of the element in its parent. */
const setOuterText = (self, args, real) => {
  if (kindOf(self) !== 0) refuseScriptText(self);
  return setText(self, args, real);
};

const editText = (self, args, real) => {
  if (kindOf(self) !== 0) refuseScriptText(self);
  return apply(real, self, args);
};

/** A property that reflects an attribute of nearly the same name. */
const reflect = (member) => {
  const name = lower(member);
  return (self, args, real) => {
    if (!isElement(self)) return apply(real, self, ['']);
    const given = at(args, 0);
    const value = string(given);
    const tag = tagOf(self);
    judgeAttribute(tag, name === 'httpequiv' ? 'http-equiv' : name, value, isAbsent(self, tag, name));
    return apply(real, self, [isObject(given) ? value : given]);
  };
};

/** `list.add(...tokens)` and the like. A list does not say whose it is; that of a frame's sandbox supports what it may allow. */
const tokens = (self, args, real) => {
  for (let i = 0; i < args.length; i++) {
    if (isObject(args[i])) args[i] = string(args[i]);
    if (typeof args[i] === 'string' && includes(lower(args[i]), 'allow') && isSandbox(self)) deny('dom-script-injection');
  }
  return apply(real, self, args);
};

const isSandbox = (list) => {
  let is = false;
  branded((x) => { is = supportsToken(x, 'allow-scripts'); }, list);
  return is;
};

/** A setter of a part of a link's URL: what belongs to the page's own script is not changed. */
const part = (self, args, real) => {
  const value = string(at(args, 0));
  if (isElement(self)) {
    judgeLink(attributeOf(self, 'href'));
    judgeLink(attributeOf(self, 'xlink:href'));
  }
  return apply(real, self, [value]);
};

const judgeLink = (text) => {
  if (text !== null) judgeUrl(text, 'link');
};

const PROTOCOLS = { __proto__: null, '': true, http: true, https: true, mailto: true, tel: true };

const protocol = (self, args, real) => {
  const value = string(at(args, 0));
  let scheme = '';
  for (let i = 0; i < value.length && value[i] !== ':'; i++) if (value[i] > ' ') scheme += value[i];
  if (PROTOCOLS[lower(scheme)] !== true) deny('dom-script-injection');
  return apply(real, self, [value]);
};

// Names of classes, and what is in the same document.
const HARMLESS_BASE = /^[\s\w:-]*(?:#.*)?$/;

/**
 * `baseVal` of an animated string, which does not say whose it is: the URL of a script, of a link or of an image, or the classes of
 * an element. So no other resource can be named.
 */
const animated = (self, args, real) => {
  const value = string(at(args, 0));
  if (apply(regexpExec, HARMLESS_BASE, [value]) === null || (includes(value, ':') && !isNoUrl(value))) deny('dom-script-injection', 'set the attribute of the element instead');
  const scripts = elementsInDocument(home, 'script');
  const count = nodeCount(scripts);
  for (let i = 0; i < count; i++) {
    if (branded(urlOfScript, scripts[i]) && urlOfScript(scripts[i]) === self) deny('dom-script-injection');
  }
  return apply(real, self, [value]);
};

export const reflection = {
  __proto__: null,
  set: () => set,
  setNS: () => setInNamespace,
  toggle: () => toggle,
  remove: () => remove,
  removeNS: () => removeInNamespace,
  removeNode: () => removeNode,
  removeNamed: () => removeNamed,
  setNode: () => setNode,
  setNamed: () => setNamed,
  value: () => setValue,
  text: (member) => (member === 'outerText' ? setOuterText : setText),
  edit: () => editText,
  reflect,
  tokens: () => tokens,
  part: () => part,
  protocol: () => protocol,
  animated: () => animated,
};
