// The functions that P′ calls, by the names of the table in docs/design/harden.md §2.
export { a, v } from './membrane.js';
export { c0, c1, c2, c3, c, ct, n, tpl, call as apply } from './calls.js';
export { r } from './reads.js';
export { ws, del, sw, assertDefinable as fg } from './writes.js';
export { k, kw, toKey as key } from './keys.js';
export { gs, gd, d, hd, t } from './global.js';
export { f, p, tx, rx, cl, ob, va, ga, pr, pm } from './functions.js';
export { it, sp, os, need, om, us, ye } from './patterns.js';
export { io } from './instance.js';
export { bf, ca, fi, end } from './ends.js';
