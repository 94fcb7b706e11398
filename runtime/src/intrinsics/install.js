/** Make everything known that ECMA-262 defines: what is denied and protected now, other functions when they are first seen. */

import { ArrayPrototype, G, getPrototypeOf, isObject, symbols } from '../natives.js';
import { listed, onMeeting } from '../membrane.js';
import { extensible, protect } from '../protection.js';
import { onExpando, withoutSetters } from '../writes.js';
import { onName } from '../forging.js';
import { CODEGEN } from './codegen.js';
import { isAudited, recognise } from './recognise.js';
import { eachHidden, isIntrinsicName, valueOf } from './roots.js';
import { behave } from './table.js';

const NAMESPACES = ['JSON', 'Math', 'Reflect', 'Intl', 'Atomics', 'Temporal'];
// Their prototypes have no setter: what inherits from them is written to directly.
const DATA = ['Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef', 'Date', 'Promise', 'RegExp', 'Error', 'TypeError', 'RangeError', 'SyntaxError',
  'ReferenceError', 'ArrayBuffer', 'DataView', 'Number', 'String', 'Boolean'];

export const installIntrinsics = () => {
  for (const name in CODEGEN) {
    const real = valueOf(G, name);
    if (isObject(real)) behave(real, CODEGEN[name]);
  }
  for (let i = 0; i < NAMESPACES.length; i++) {
    const namespace = valueOf(G, NAMESPACES[i]);
    if (!isObject(namespace)) continue;
    extensible(namespace);
    const within = valueOf(namespace, 'Now'); // the clock of Temporal
    if (isObject(within)) extensible(within);
  }
  for (let i = 0; i < DATA.length; i++) {
    const constructor = valueOf(G, DATA[i]);
    const prototype = typeof constructor === 'function' && valueOf(constructor, 'prototype');
    if (isObject(prototype)) withoutSetters(prototype);
  }
  eachHidden((o) => {
    if (typeof o === 'function') listed(o);
    protect(o);
  });
  for (let o = getPrototypeOf(G); o !== null; o = getPrototypeOf(o)) protect(o);
  const { unscopables } = symbols;
  protect(valueOf(ArrayPrototype, unscopables));
  onName(isIntrinsicName);
  onExpando((key) => !isAudited(key));
  onMeeting(recognise);
};
