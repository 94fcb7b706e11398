/** `Intl` (ECMA-402): a function without a name that a getter binds to its receiver, once for each. */

import { apply, construct, isObject, ownDescriptor } from '../natives.js';
import { listed } from '../membrane.js';
import { valueOf } from './roots.js';

const binds = (key) => {
  const known = (made, real) => {
    const getter = ownDescriptor(valueOf(real, 'prototype'), key)?.get;
    if (isObject(made) && getter !== undefined) listed(apply(getter, made, []));
    return made;
  };
  return {
    call: (self, args, real) => known(construct(real, args), real),
    construct: (args, newTarget, real) => known(construct(real, args, newTarget), real),
  };
};

export const intl = {
  Intl: { Collator: binds('compare'), 'DateTimeFormat|NumberFormat': binds('format') },
};
