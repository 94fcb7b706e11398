// A driver may send a program to another realm than it was made for. A page has a document or is a worker; Node is neither.
import { G, get, has, isObject } from '../natives.js';
import { deny } from '../denial.js';
import { isForged } from '../shared.js';

const node = has(G, 'process') ? get(G, 'process') : undefined;
const versions = isObject(node) ? get(node, 'versions') : undefined;

/** Whether the realm is Node's, or a page's that has Node, as Electron's and NW.js's may. A bundler's `process` has no such version. */
export const hasNode = isObject(versions) && get(versions, 'node') !== undefined;

// A payload may have made such globals, and is known to have.
const hasOfPage = (name) => has(G, name) && !isForged(name);

if (hasNode && !hasOfPage('document') && !hasOfPage('WorkerGlobalScope')) {
  deny('global-object', 'a program for a page in another realm');
}
