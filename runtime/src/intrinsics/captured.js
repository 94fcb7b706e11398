/** Natives that only handlers of intrinsics need; captured like those of natives.js, before anything else runs. */

import { G, getPrototypeOf, StringCtor } from '../natives.js';
import { isForged } from '../shared.js';

const Iterator = isForged('Iterator') ? undefined : G.Iterator;

export const { fromCharCode } = StringCtor;
export const TypedArray = getPrototypeOf(Uint8Array);

export const { from: iteratorFrom, concat: iteratorConcat, prototype: { map: mapIterator } } = typeof Iterator === 'function' ? Iterator : { prototype: {} };
