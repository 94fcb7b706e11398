/**
 * The DOM's natives that the page's rules judge with, captured before any payload. A node's identity is asked of these
 * getters alone, so that neither an own property nor a form control called `attributes` answers in their place.
 */
import { apply, construct, G as scope, getPrototypeOf, hasOwn, ownDescriptor, TypeError } from '../natives.js';
import { deny } from '../denial.js';
import { memberOf, prototypeOf, readDocument, readStyle } from './captured.js';

const BrandError = TypeError.prototype;

/** The document of the page, whose nodes are alive; undefined where there is no page. Asked anew by each program. */
export const home = readDocument === undefined ? undefined : apply(readDocument, scope, []);

/** A part of a member's descriptor; undefined where there is no interface. */
const part = (name, member, which) => {
  const property = memberOf(name, member);
  if (property !== null) return property[which];
  return prototypeOf(name) === undefined ? undefined : missing;
};

// Whether this run of the module is the one that captures: it looks up at once what others look up when they need it.
const isEarly = hasOwn(CONFIG, 'early');

/** What a rule needs and the engine lacks is not answered with "no". */
const missing = () => deny('dom-script-injection', 'the page lacks an interface');

/** What stands for a member of an interface that is not there: no object has that brand. */
const absent = () => { throw new TypeError('Illegal invocation'); };

/** The getter of an attribute as a function of the object; it throws a TypeError on anything of another brand. Looked up once. */
export const getter = (name, member) => {
  if (isEarly) memberOf(name, member);
  let real;
  return (object) => apply(real ??= part(name, member, 'get') ?? absent, object, []);
};

const setter = (name, member) => {
  if (isEarly) memberOf(name, member);
  let real;
  return (object, value) => apply(real ??= part(name, member, 'set') ?? absent, object, [value]);
};

export const method = (name, member) => {
  if (isEarly) memberOf(name, member);
  let real;
  return (object, ...values) => apply(real ??= part(name, member, 'value') ?? absent, object, values);
};

/** The constructor of an interface as a function. */
export const constructorOf = (name) => {
  if (isEarly) memberOf(name, 'constructor');
  return (...values) => construct(part(name, 'constructor', 'value') ?? absent, values);
};

export const nodeType = getter('Node', 'nodeType');
export const parentOf = getter('Node', 'parentNode');
export const ownerDocument = getter('Node', 'ownerDocument');
export const rootOf = method('Node', 'getRootNode');
export const isConnected = getter('Node', 'isConnected');
export const firstChild = getter('Node', 'firstChild');
export const appendChild = method('Node', 'appendChild');
export const insertBefore = method('Node', 'insertBefore');
export const nextSibling = getter('Node', 'nextSibling');

export const localName = getter('Element', 'localName');
export const namespaceOf = getter('Element', 'namespaceURI');
export const attributesOf = getter('Element', 'attributes');
export const shadowOf = getter('Element', 'shadowRoot');
export const baseUrl = getter('Node', 'baseURI');
export const elementsIn = method('Element', 'querySelectorAll');
export const readInnerHTML = getter('Element', 'innerHTML');
export const textOf = getter('Node', 'textContent');
export const attributeOf = method('Element', 'getAttribute');
export const hasAttribute = method('Element', 'hasAttribute');
export const setInnerHTML = setter('Element', 'innerHTML');
export const setSanitized = method('Element', 'setHTML');
export const replaceChildren = method('Element', 'replaceChildren');
export const replaceWith = method('Element', 'replaceWith');

export const elementsInFragment = method('DocumentFragment', 'querySelectorAll');
export const replaceFragment = method('DocumentFragment', 'replaceChildren');
export const elementsInDocument = method('Document', 'querySelectorAll');
export const rootElement = getter('Document', 'documentElement');
export const activeElement = getter('Document', 'activeElement');
export const selectionStart = getter('HTMLInputElement', 'selectionStart');
export const designMode = getter('Document', 'designMode');
export const adopt = method('Document', 'adoptNode');
export const makeText = method('Document', 'createTextNode');
export const removeChild = method('Node', 'removeChild');
export const listen = method('EventTarget', 'addEventListener');
export const makeFragment = method('Document', 'createDocumentFragment');
export const makeElement = method('Document', 'createElementNS');
const implementation = getter('Document', 'implementation');
const makeDocument = method('DOMImplementation', 'createHTMLDocument');

export const contentEditable = getter('HTMLElement', 'isContentEditable');

export const attributeName = getter('Attr', 'localName');
export const attributeValue = getter('Attr', 'value');
export const attributeOwner = getter('Attr', 'ownerElement');
export const attributeCount = getter('NamedNodeMap', 'length');
export const putAttribute = method('NamedNodeMap', 'setNamedItem');
export const makeAttribute = method('Document', 'createAttribute');
export const dropAttribute = method('Element', 'removeAttributeNode');
export const nodeCount = getter('NodeList', 'length');
export const templateContent = getter('HTMLTemplateElement', 'content');
export const hostOf = getter('ShadowRoot', 'host');
export const rangeStart = getter('Range', 'startContainer');
export const rangeEnd = getter('Range', 'endContainer');
export const rangeStartAt = getter('Range', 'startOffset');
export const rangeEndAt = getter('Range', 'endOffset');
export const copyRange = method('Range', 'cloneRange');
export const startRange = method('Range', 'setStart');
export const endRange = method('Range', 'setEnd');
export const rangeCount = getter('Selection', 'rangeCount');
export const rangeAt = method('Selection', 'getRangeAt');
export const supportsToken = method('DOMTokenList', 'supports');
export const urlOfScript = getter('SVGScriptElement', 'href');
export const optionsOf = getter('HTMLSelectElement', 'options');
export const optionCount = getter('HTMLOptionsCollection', 'selectedIndex');

export const ELEMENT = 1;
export const ATTRIBUTE = 2;
export const TEXT = 3;
export const INSTRUCTION = 7;
export const DOCUMENT = 9;
export const FRAGMENT = 11;

/** Only a failed brand check says what an object is not: a stack overflow says nothing, and is thrown on. */
const brandFails = (error, answer) => {
  if (getPrototypeOf(error) !== BrandError) throw error;
  return answer;
};

/** The node's type, or 0 for what is no node. */
export const kindOf = (x) => {
  if (typeof x !== 'object' || x === null || home === undefined) return 0;
  try {
    return nodeType(x);
  } catch (error) {
    return brandFails(error, 0);
  }
};

/** Whether a getter accepts the object: the brand check that Web IDL makes. */
export const branded = (get, x) => {
  if (!get || typeof x !== 'object' || x === null) return false;
  try {
    get(x);
    return true;
  } catch (error) {
    return brandFails(error, false);
  }
};

/** Whether elements of exactly this interface are inert: an engine gives it to names that mean nothing to it. */
const INERT = ['HTMLUnknownElement', 'Element', 'SVGElement', 'MathMLElement'];
if (isEarly) for (let i = 0; i < INERT.length; i++) prototypeOf(INERT[i]);
export const isUnknown = (element) => {
  const prototype = getPrototypeOf(element);
  for (let i = 0; i < INERT.length; i++) if (prototype === prototypeOf(INERT[i])) return true;
  return false;
};

const parseText = method('DOMParser', 'parseFromString');
const makeParser = constructorOf('DOMParser');

const readPolicies = ownDescriptor(scope, 'trustedTypes')?.get;
const defaultPolicy = getter('TrustedTypePolicyFactory', 'defaultPolicy');
const trustedHtml = method('TrustedTypePolicy', 'createHTML');
const trustedText = method('TrustedHTML', 'toString');

/**
 * The markup as a parser of the page gets it. A default policy of Trusted Types may make another text of it, so that the markup itself
 * would not be judged: that is denied. What the policy leaves as it is passes as its own, so that it is not asked again.
 */
const unchanged = (markup) => {
  if (prototypeOf('TrustedTypePolicyFactory') === undefined) return markup;
  const policy = readPolicies === undefined ? missing() : defaultPolicy(apply(readPolicies, scope, []));
  if (policy === null) return markup;
  let trusted;
  try {
    trusted = trustedHtml(policy, markup, 'TrustedHTML', 'DOMParser parseFromString');
  } catch (error) {
    return brandFails(error, markup); // without a rule for markup the parser refuses it, if the page asks that of it
  }
  if (trustedText(trusted) !== markup) deny('dom-script-injection', 'a default policy of the page rewrites what is parsed');
  return trusted;
};

/** Markup as a document of its own, without a browsing context. */
export const parseDocument = (markup, type) => parseText(makeParser(), unchanged(markup), type);

let quiet;

/** A document without a browsing context: nothing in it loads or runs. */
export const inertDocument = () => (quiet ??= makeDocument(implementation(home), ''));

export const XHTML = 'http://www.w3.org/1999/xhtml';

/** A `body` without a browsing context: what markup is parsed in where nothing else says it. */
export const inertBody = () => makeElement(inertDocument(), XHTML, 'body');

let store;

/** The document of the contents of all templates of the page (HTML §4.12.3, "template contents owner document"). */
export const templateDocument = () => (store ??= ownerDocument(templateContent(makeElement(home, XHTML, 'template'))));

const styleValue = method('CSSStyleDeclaration', 'getPropertyValue');

/** The computed `-webkit-user-modify` of an element; '' where it is not rendered, or the engine has no such property. */
export const userModify = (element) => styleValue(apply(readStyle ?? missing, scope, [element]), '-webkit-user-modify');
