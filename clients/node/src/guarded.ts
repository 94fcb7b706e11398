/** The enforcement point: the text that was judged is the text that runs. */

import { DeniedError } from './decision.js';
import type { Judge } from './guard.js';
import type { CheckOptions, Shape } from './question.js';

/**
 * Return `sink` behind `judge`: it is called with the very text that was allowed, or not at all.
 *
 * A denial rejects with DeniedError. `sink` has to evaluate the text as the declared shape says, which
 * `inShape` writes out for an engine that takes a plain script; what `options` says is fixed here, so that no
 * call can ask for another target.
 */
export function guarded<Args extends unknown[], Result>(
  sink: (code: string, ...args: Args) => Result,
  judge: Judge,
  options: CheckOptions,
): (code: string, ...args: Args) => Promise<Awaited<Result>> {
  const fixed = structuredClone(options);
  return async (code, ...args): Promise<Awaited<Result>> => {
    const decision = await judge.check(code, fixed);
    // Exactly true: a judge of the caller's own that answers something truthy has allowed nothing.
    if (decision.allowed !== true) throw new DeniedError(decision);
    return await sink(code, ...args);
  };
}

const WRAPPERS: { readonly [shape in Shape]: readonly [string, string] } = {
  script: ['', ''],
  module: ['', ''],
  expression: ['(', '\n)'],
  function: ['(', '\n)()'],
  async_body: ['(async function () {\n', '\n})()'],
};

/** Return the script that evaluates `code` in `shape`: the text that the guard parses, byte for byte. */
export function inShape(code: string, shape: Shape): string {
  const [prefix, suffix] = WRAPPERS[shape];
  return prefix + code + suffix;
}
