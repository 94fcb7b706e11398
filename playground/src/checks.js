// The names of the run-time (docs/design/harden.md §2), by what they check while a hardened program runs.

export const KINDS = {
  reads: {
    said: 'values that come from outside',
    names: {
      v: 'a value from outside', a: 'a parameter', va: 'the arguments', t: 'this', ca: 'what was thrown', io: 'the right side of instanceof',
      sp: 'what is spread into a list', os: 'what is spread into an object', it: 'what is iterated', om: 'the rest of a pattern', need: 'what a pattern takes apart', us: 'what using disposes of', ye: 'what yield* iterates',
    },
  },
  keys: {
    said: 'names of properties',
    names: { r: 'an object with the name that is read', k: 'a name', kw: 'a name that is written', key: 'a name, converted once', pr: 'a prototype in a literal' },
  },
  writes: {
    said: 'writes',
    names: {
      ws: 'an object that is written', sw: 'a write through super', del: 'a deletion', fg: 'an object that gets fields', gs: 'a write of a global', gd: 'a deletion of a global', hd: 'declarations of globals',
    },
  },
  calls: {
    said: 'calls',
    names: { c: 'a call', c0: 'a call', c1: 'a call', c2: 'a call', c3: 'a call', ct: 'a tagged template', tpl: 'the texts of a tagged template', n: 'a construction', apply: 'the call of the payload' },
  },
  functions: {
    said: 'functions and results that leave',
    names: {
      f: 'a function of the payload', cl: 'a class of the payload', ob: 'an object with methods', pm: 'a private method', ga: 'the arguments of a module', p: 'a function as text', tx: 'a text for another realm',
      rx: 'a regular expression', bf: 'the result after a function in a block', end: 'the result',
    },
  },
  ends: { said: 'denials', names: { d: 'a name that is always denied', fi: 'a finally that no denial runs' } },
};

const KIND = new Map(Object.entries(KINDS).flatMap(([kind, { names }]) => Object.entries(names).map(([name, about]) => [name, { kind, about }])));

/** Return the calls of the run-time in a program: {from, to, kind, about}. */
export function checksIn(text, prefix) {
  const escaped = prefix.replace(/[^\w]/g, '\\$&');
  return [...text.matchAll(new RegExp(`(?<![\\w$])${escaped}([a-z][a-z0-9]*)(?=\\()`, 'g'))].flatMap((found) => {
    const known = KIND.get(found[1]);
    return known ? [{ from: found.index, to: found.index + found[0].length, ...known }] : [];
  });
}
