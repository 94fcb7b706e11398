/** The page's rules, at the start of a payload: natives are captured by their modules, functions are met one by one. */
import { G, get, has, hasOwn, isObject, ownDescriptor, ownKeys, symbols } from '../natives.js';
import { addClassifier, denied, onMeeting } from '../membrane.js';
import { protect } from '../protection.js';
import { onWindowRead } from '../reads.js';
import { onExotic } from '../writes.js';
import { meetFunction } from './contact.js';
import { home } from './dom.js';
import { exotic } from './exotic.js';
import { installHanding } from './handing.js';
import { hasNode } from './realm.js';
import { foreignNode, judgeWindowRead } from './realms.js';
import { installSerialising } from './serialising.js';
import { installTyping } from './typing.js';
import { installClock } from './unnamed.js';

/** What browsers give to extensions and privileged pages. */
const PRIVILEGED = ['chrome', 'browser'];

/** A page may ask whether it is an extension's, and which one's: `chrome.runtime?.id`. */
const OPEN = { __proto__: null, runtime: { __proto__: null, id: null } };

/** What Node is to a page that has it, by the construct. */
const OF_NODE = {
  __proto__: null,
  process: 'process',
  require: 'require()',
  module: 'module-loading',
  Buffer: 'global-object',
  electron: 'electron',
  ipcRenderer: 'electron',
  nw: 'nested-evaluation',
};

const SCOPES = ['Element', 'Document', 'DocumentFragment', 'CharacterData', 'DocumentType'];

function denyNode() {
  for (const name in OF_NODE) {
    const value = has(G, name) ? get(G, name) : undefined;
    if (isObject(value)) denied(value, OF_NODE[name]);
  }
  // Applications keep `require` under a name of their own, so that libraries do not take the page for Node.
  const keys = ownKeys(G);
  for (let i = 0; i < keys.length; i++) {
    const value = ownDescriptor(G, keys[i])?.value;
    if (typeof value === 'function' && hasOwn(value, 'resolve') && hasOwn(value, 'cache')) denied(value, 'require()');
  }
}

/** Register the rules of the page. Without a document, as in a worker, only functions have rules. */
export function installPage() {
  onMeeting(meetFunction);
  if (hasNode) denyNode();
  for (let i = 0; i < PRIVILEGED.length; i++) {
    const property = ownDescriptor(G, PRIVILEGED[i]);
    if (property === undefined || !hasOwn(property, 'value') || !isObject(property.value)) continue;
    denied(property.value, 'nested-evaluation', undefined, undefined, OPEN);
  }
  installSerialising();
  installClock();
  installHanding();
  if (home === undefined) return;
  for (let i = 0; i < SCOPES.length; i++) {
    // By these lists the page's handlers find what their names mean.
    const prototype = ownDescriptor(G, SCOPES[i])?.value?.prototype;
    const list = isObject(prototype) ? ownDescriptor(prototype, symbols.unscopables)?.value : undefined;
    if (isObject(list)) protect(list);
  }
  addClassifier(foreignNode);
  onWindowRead(judgeWindowRead);
  onExotic(exotic);
  installTyping();
}
