/** Members that write attributes, and the text of nodes: attribute methods, reflecting properties, Attr nodes, text. */
import { apply } from '../natives.js';
import { deny } from '../denial.js';
import { isHarmless, judgeAttribute, judgeRemoval } from './attributes.js';
import {
  ATTRIBUTE, attributeCount, attributeName, attributeOwner, attributeValue, branded, dropAttribute, ELEMENT, home, kindOf,
  makeAttribute, parentOf, putAttribute,
} from './dom.js';
import { isScript, tagOf } from './elements.js';
import { at, lower, string, stringOrEmpty } from './text.js';
import { isScriptNode } from './trees.js';
import { judgeAnyValue, judgeUrl, schemeOf } from './urls.js';

/** The local name of a qualified name. */
const local = (name) => {
  let from = 0;
  for (let i = 0; i < name.length; i++) if (name[i] === ':') from = i + 1;
  let out = '';
  for (let i = from; i < name.length; i++) out += name[i];
  return out;
};

const isElement = (x) => kindOf(x) === ELEMENT;

const set = (self, args, real) => {
  if (args.length < 2 || !isElement(self)) return apply(real, self, []);
  const name = string(args[0]);
  const value = string(args[1]);
  judgeAnyValue(value);
  if (!isHarmless(name)) {
    const tag = tagOf(self);
    judgeAttribute(tag, name, value);
    judgeAttribute(tag, local(name), value);
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

const refuseScriptText = (self) => {
  if (isScriptNode(self)) deny('dom-script-injection');
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
    const value = string(at(args, 0));
    judgeAttribute(tagOf(self), name === 'httpequiv' ? 'http-equiv' : name, value);
    return apply(real, self, [value]);
  };
};

/** A property of a script or frame that must not be written at all, such as `async` or `sandbox`. */
const frozen = () => (self, args, real) => {
  if (isElement(self)) deny('dom-script-injection');
  return apply(real, self, args);
};

const PROTOCOLS = { __proto__: null, '': true, http: true, https: true, mailto: true, tel: true };

const protocol = (self, args, real) => {
  const value = string(at(args, 0));
  let scheme = '';
  for (let i = 0; i < value.length && value[i] !== ':'; i++) if (value[i] > ' ') scheme += value[i];
  if (PROTOCOLS[lower(scheme)] !== true) deny('dom-script-injection');
  return apply(real, self, [value]);
};

const animated = (self, args, real) => {
  const value = string(at(args, 0));
  const scheme = schemeOf(value);
  if (scheme === 'javascript:' || scheme === 'vbscript:' || scheme === 'blob:') deny('dom-script-injection');
  if (scheme === 'data:') judgeUrl(value, 'media');
  return apply(real, self, [value]);
};

const animatedOf = (self, args, real) => {
  if (isElement(self) && isScriptNode(self)) deny('dom-script-injection');
  return apply(real, self, []);
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
  frozen,
  protocol: () => protocol,
  animated: () => animated,
  animatedOf: () => animatedOf,
};
