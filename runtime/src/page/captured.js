/**
 * The DOM's natives, each found once for a realm. Where the run-time was put into a page before its scripts, they are found
 * then, and are the engine's own; otherwise when a rule first needs them, so that the start touches no interface.
 */
import { apply, functionToString, G, getPrototypeOf, includes, isNative, isObject, ownDescriptor } from '../natives.js';

const property = ownDescriptor(G, 'document');

/**
 * The getter of the document, if Web IDL made it: it is unforgeable. What can be redefined is a stand-in of a host without a
 * page, such as a test's, and so are the interfaces there.
 */
export const readDocument = property === undefined || property.configurable ? undefined : property.get;

const workerScope = ownDescriptor(G, 'WorkerGlobalScope')?.value;
const aboveWorkers = isNative(workerScope) ? ownDescriptor(workerScope, 'prototype')?.value : undefined;

/** Whether the realm is a worker's, which has interfaces and no document. */
const isWorker = () => {
  for (let q = getPrototypeOf(G); q !== null; q = getPrototypeOf(q)) if (q === aboveWorkers) return true;
  return false;
};
const hasInterfaces = readDocument !== undefined || isWorker();

const prototypes = { __proto__: null };
const members = { __proto__: null };

/** Whether the engine made the interface: where it has none, a payload may have put another one under the name. */
const isInterface = (made, name, prototype) =>
  isNative(made) && ownDescriptor(made, 'name')?.value === name && ownDescriptor(prototype, 'constructor')?.value === made;

/** The prototype of the interface `name`; undefined where there is none. */
export const prototypeOf = (name) => {
  if (name in prototypes || !hasInterfaces) return prototypes[name];
  const own = ownDescriptor(G, name);
  const made = own && 'value' in own ? own.value : undefined;
  // Read once, and not through a getter: what is looked at must be what is kept.
  const prototype = isNative(made) ? ownDescriptor(made, 'prototype')?.value : undefined;
  return prototypes[name] = isObject(prototype) && isInterface(made, name, prototype) ? prototype : undefined;
};

/** The descriptor of a member, wherever in the chain of the interface it is; null without the member. */
export const memberOf = (name, member) => {
  const key = name + '.' + member;
  if (key in members) return members[key];
  for (let q = prototypeOf(name); q !== null && q !== undefined; q = getPrototypeOf(q)) {
    const found = ownDescriptor(q, member);
    if (found !== undefined) return members[key] = found;
  }
  return members[key] = null;
};

export const RealURL = ownDescriptor(G, 'URL')?.value;
const reader = (member) => (isNative(RealURL) ? ownDescriptor(RealURL.prototype, member)?.get : undefined);
export const readProtocol = reader('protocol');
export const readPath = reader('pathname');
const aboveLocation = readDocument === undefined ? aboveWorkers : G;
export const readLocation = hasInterfaces ? ownDescriptor(aboveLocation, 'location')?.get : undefined;

/** The window's own function: what a page has put in its place, bound functions too, has another text. */
const styleReader = readDocument === undefined ? undefined : ownDescriptor(G, 'getComputedStyle')?.value;
export const readStyle = isNative(styleReader) && apply(includes, apply(functionToString, styleReader, []), ['getComputedStyle()']) ? styleReader : undefined;

const RealBlob = ownDescriptor(G, 'Blob')?.value;
export const blobType = isNative(RealBlob) ? ownDescriptor(RealBlob.prototype, 'type')?.get : undefined;

const valueReader = (name) => G[name].prototype.valueOf;
export const numberValue = valueReader('Number');
export const stringValue = valueReader('String');
export const booleanValue = valueReader('Boolean');
export const bigintValue = valueReader('BigInt');
export const { isRawJSON } = G.JSON;
