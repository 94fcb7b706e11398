/**
 * Symbols of the host's own. A host written in JavaScript keeps the state of its objects under symbols, and takes an object
 * that has such a property for one of its own: a payload that held the symbol could forge one. So no list of keys shows the
 * symbol, and no trap of the payload's is asked about it.
 */

import { apply, create, createDataProperty, G, ownKeys, symbols, TypeError } from '../natives.js';

const { keyFor } = G.Symbol;

let hiding = false;
/** A profile whose host is written in JavaScript hides its symbols. */
export const hideSymbols = () => { hiding = true; };

// Symbols that the payload may have: its own, and the well-known ones.
const known = create(null);
{
  const names = ownKeys(symbols);
  for (let i = 0; i < names.length; i++) known[symbols[names[i]]] = true;
}

/** Whether `key` is a symbol that the payload has not made and cannot name. */
export const isHidden = (key) =>
  hiding && typeof key === 'symbol' && known[key] !== true && apply(keyFor, undefined, [key]) === undefined;

/** A list of keys that the engine has made, without those that are hidden. */
export const shownKeys = (keys) => {
  if (!hiding) return keys;
  const shown = [];
  for (let i = 0; i < keys.length; i++) if (!isHidden(keys[i])) createDataProperty(shown, shown.length, keys[i]);
  return shown;
};

const lists = (self, args, real) => shownKeys(apply(real, undefined, args));

export const symbolKeys = {
  '': {
    Symbol: {
      call(self, args, real) {
        const made = apply(real, undefined, args);
        if (hiding) known[made] = true;
        return made;
      },
      construct() { throw new TypeError('Symbol is not a constructor'); },
    },
  },
  Object: { getOwnPropertySymbols: lists },
  Reflect: { ownKeys: lists },
};
