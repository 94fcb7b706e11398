// Assertions about what a payload hands over: `expect(x)`. Those of the driver's own get what a facade stands for. All others compare and
// print what they get, and call functions in it: they get the facade, of which they read what the payload may.
import { getPrototypeOf } from '../natives.js';
import { behind } from './behind.js';
import { classNameOf, given } from './results.js';
import { wordsOf } from './tables.js';

/**
 * The facade of what `call` makes of the arguments `list`, where the payload gave `args`. That of a facade remembers what the host has made
 * of the facade (`compared`), and what it has made of the object behind it.
 */
export function asserted(call, list, args, type) {
  const compared = call(list);
  const facts = args.length > 0 ? behind(args[0]) : undefined;
  if (facts === undefined || facts.table.path === '') return given(compared, type);
  list[0] = facts.real;
  return linked(given(call(list), type), compared, classNameOf(getPrototypeOf(facts.real)));
}

/** `facade`, which remembers `compared` and the class that it is about. */
export function linked(facade, compared, about) {
  const facts = behind(facade);
  if (facts !== undefined) {
    facts.compared = compared;
    facts.about = about;
  }
  return facade;
}

/** The host's object on which the method `key` is called. */
export const realFor = (facts, key) => {
  if (facts.compared === undefined) return facts.real;
  const classes = facts.table.direct[key];
  return classes !== undefined && wordsOf(classes)[facts.about] === true ? facts.real : facts.compared;
};
