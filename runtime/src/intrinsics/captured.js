/** Natives that only handlers of intrinsics need; captured like those of natives.js, before anything else runs. */

import { G } from '../natives.js';

const { Iterator } = G;

export const { from: iteratorFrom, prototype: { map: mapIterator } } = typeof Iterator === 'function' ? Iterator : { prototype: {} };
