/** The page's rules, at the start of a payload: natives are captured by their modules, functions are met one by one. */
import { apply, G, get, has, hasOwn, isObject, ownDescriptor, ownKeys, regexpExec, symbols } from '../natives.js';
import { addClassifier, denied, deny, onMeeting } from '../membrane.js';
import { addHostKind, protect } from '../protection.js';
import { onWindowRead } from '../reads.js';
import { onExotic } from '../writes.js';
import { readLocation } from './captured.js';
import { meetFunction } from './contact.js';
import { home } from './dom.js';
import { exotic } from './exotic.js';
import { installHanding } from './handing.js';
import { hasNode } from './realm.js';
import { foreignNode, judgeWindowRead } from './realms.js';
import { installSerialising } from './serialising.js';
import { installTyping } from './typing.js';
import { installTools } from './unnamed.js';

// Pages of the browser's own may do more than a site's.
const OF_BROWSER = /^(?:(?:chrome|chrome-untrusted|chrome-search|edge|devtools|view-source|resource):|about:(?!blank|srcdoc))/;

/** What browsers give to extensions and privileged pages. */
const PRIVILEGED = ['chrome', 'browser', 'Mojo'];

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

// Of each of these a page has one object, which its own code asks later: no method of a payload's stands in the place of one.
const SINGLE = [
  'TrustedTypePolicyFactory', 'Crypto', 'SubtleCrypto', 'CustomElementRegistry', 'CredentialsContainer', 'ServiceWorkerContainer', 'CacheStorage',
  'IDBFactory', 'CookieStore',
];

const prototypeOf = (name) => ownDescriptor(G, name)?.value?.prototype;

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
  const url = readLocation === undefined ? '' : `${apply(readLocation, G, [])}`;
  if (apply(regexpExec, OF_BROWSER, [url]) !== null) deny('nested-evaluation', "a page of the browser's own");
  onMeeting(meetFunction);
  if (hasNode) denyNode();
  for (let i = 0; i < PRIVILEGED.length; i++) {
    const property = ownDescriptor(G, PRIVILEGED[i]);
    if (property === undefined || !hasOwn(property, 'value') || !isObject(property.value)) continue;
    denied(property.value, 'nested-evaluation', undefined, undefined, OPEN);
  }
  installSerialising();
  installTools();
  installHanding();
  for (let i = 0; i < SINGLE.length; i++) {
    const prototype = prototypeOf(SINGLE[i]);
    if (isObject(prototype)) addHostKind(prototype);
  }
  if (home === undefined) return;
  for (let i = 0; i < SCOPES.length; i++) {
    // By these lists the page's handlers find what their names mean.
    const prototype = prototypeOf(SCOPES[i]);
    const list = isObject(prototype) ? ownDescriptor(prototype, symbols.unscopables)?.value : undefined;
    if (isObject(list)) protect(list);
  }
  addClassifier(foreignNode);
  onWindowRead(judgeWindowRead);
  onExotic(exotic);
  installTyping();
}
