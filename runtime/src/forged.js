// Globals that a payload has made. The run-time of a later program in the realm takes what it finds under the name of an
// intrinsic, a timer or a host object for the host's: it must know which of them a payload has put there.
import { apply, G, hasOwn, includes, ownDescriptor } from './natives.js';

const { Symbol: SymbolCtor } = G;
const { for: symbolFor } = SymbolCtor;

/** Where the names are kept, for every run-time of the realm: text, which nobody can change. No payload writes to it. */
export const FORGED = apply(symbolFor, SymbolCtor, ['evalward.globals']);

/** The names that were kept until now, each between spaces. */
export function forgedNames() {
  const property = ownDescriptor(G, FORGED);
  return property !== undefined && hasOwn(property, 'value') && typeof property.value === 'string' ? property.value : ' ';
}

// What was so before this program: what it makes itself is known to it.
const before = forgedNames();

/** Whether an earlier payload has made the global `name`. */
export const isForged = (name) => before !== ' ' && apply(includes, before, [' ' + name + ' ']);
