// Names under which a driver puts a payload's function into each document to come, before anything else is there.
import { create, G, has } from '../natives.js';
import { deny } from '../denial.js';
import { match } from './captured.js';
import { spread } from './tables.js';

// Of interfaces, of a run-time that is prepared there, and of drivers.
const TAKEN = /^(?:[A-Z]|__(?:evalward_|pw|playwright|puppeteer))/;
const members = spread(
  'window self document location history navigation navigator screen top parent frames opener origin customElements visualViewport external '
  + 'localStorage sessionStorage indexedDB caches cookieStore trustedTypes chrome alert confirm prompt print open close stop focus blur moveTo moveBy '
  + 'resizeTo resizeBy scroll scrollTo scrollBy find postMessage getSelection getComputedStyle matchMedia requestAnimationFrame cancelAnimationFrame '
  + 'requestIdleCallback cancelIdleCallback createImageBitmap reportError importScripts scheduler speechSynthesis name status event',
  true, create(null),
);

/** Deny a name that a page has for something else: a later run-time would capture the payload's function in its place. */
export function judgeExposed(name) {
  if (match(TAKEN, name) !== null || members[name] === true || has(G, name)) deny('global-object', 'a name that a page has for something else');
  return name;
}
