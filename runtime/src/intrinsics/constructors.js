/** Constructors as receivers of their static methods: `Promise.resolve`, `Array.from`, `Uint8Array.of`. */

import { ArrayCtor, getPrototypeOf, PromiseCtor } from '../natives.js';
import { unwrap } from '../membrane.js';
import { TypedArray } from './captured.js';

/** The receiver of a static method: an intrinsic constructor itself, anything else as the payload holds it. */
export const intrinsicConstructor = (self) => {
  const real = unwrap(self);
  return real === ArrayCtor || real === PromiseCtor || typeof real === 'function' && getPrototypeOf(real) === TypedArray ? real : self;
};
