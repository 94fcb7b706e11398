// Which functions are the payload's own. A function is marked when it is made, with a private field that only this class
// can put on it: no text is looked at, and a mark costs a tenth of an entry in a WeakSet.

const Same = function (x) { return x; };

class Mark extends Same {
  #span;
  constructor(f, span) {
    super(f);
    this.#span = span;
  }
  static has(f) { return #span in f; }
  static span(f) { return f.#span; }
}

const { has, span } = Mark;

/** Register `f` as the payload's own; `place` is where its source is. Returns `f`. */
export function mark(f, place) {
  if (!has(f)) new Mark(f, place);
  return f;
}

/** Whether a function is one of the payload's. Only for what is a function or an object. */
export const isOwn = has;

/** Where the source of an own function is: what `mark` was given. */
export const placeOf = span;

/** Whether `f` is one of the payload's functions. */
export const own = (f) => typeof f === 'function' && has(f);
