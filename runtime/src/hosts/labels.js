// What a host compares and prints instead of a driver's object.
import { getPrototypeOf, symbols, weakMap } from '../natives.js';
import { match } from './captured.js';
import { classNameOf } from './results.js';

const DRIVERS = /^(?:playwright|puppeteer|selenium)\./;
const labels = weakMap();

/** An object without properties that shows the name of the class, always the same for a facade; data is the facade itself. */
export function labelled(facade, { real, table }) {
  if (match(DRIVERS, table.path) === null) return facade;
  let label = labels.get(facade);
  if (label === undefined) {
    const name = classNameOf(getPrototypeOf(real));
    labels.set(facade, label = { __proto__: { __proto__: null, constructor: { __proto__: null, name }, [symbols.toStringTag]: name } });
  }
  return label;
}
