/** Reading the arguments of a handler. */

/** The argument at `i`, or undefined: an index past the end would be looked up in a prototype that a page may have changed. */
export const at = (args, i) => (i < args.length ? args[i] : undefined);
