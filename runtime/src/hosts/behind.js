// What stands behind a facade. A leaf, so that whoever makes results or arguments need not know how a facade is made.
import { weakMap } from '../natives.js';

const facts = weakMap();
let makeFacade;

/** {real, table, family, element, facade} of a facade or of its Proxy's target; undefined for anything else. */
export const behind = (x) => facts.get(x);

/** Remember what stands behind a facade, or behind its Proxy's target. */
export const putBehind = (x, about) => { facts.set(x, about); };

/**
 * The facade of `real` as the host object at `path`; '' is data of the host, of which nothing may be called.
 * @param {string} [family] the construct that denies what is not listed
 * @param {string} [element] the path of what a list of host objects that is no array holds
 */
export const facadeOf = (real, path, family, element) => makeFacade(real, path, family, element);

/** facade.js provides how facades are made. */
export const onFacade = (make) => { makeFacade = make; };
