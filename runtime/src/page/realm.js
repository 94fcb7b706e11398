// A driver may send a program to another realm than it was made for. A page has a document or is a worker; Node is neither.
import { G, get, has, isObject } from '../natives.js';
import { deny } from '../denial.js';
import { hasInterfaces } from './captured.js';

const node = has(G, 'process') ? get(G, 'process') : undefined;
const versions = isObject(node) ? get(node, 'versions') : undefined;

/** Whether the realm is Node's, or a page's that has Node, as Electron's and NW.js's may. A bundler's `process` has no such version. */
export const hasNode = isObject(versions) && get(versions, 'node') !== undefined;

// A payload may have made a global `document`; one that the engine made cannot be redefined.
if (hasNode && !hasInterfaces) {
  deny('global-object', 'a program for a page in another realm');
}
