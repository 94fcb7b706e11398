/** The enforcement point: the text that was judged is the text that runs. */

import { DeniedError } from './decision.js';
import type { Judge } from './guard.js';
import type { CheckOptions, Shape } from './question.js';

/** What a sink does with a text: where it runs, and the wrapper that it puts around it. */
export interface SinkOptions extends CheckOptions {
  readonly shape: Shape;
  /** The sink evaluates scripts as they are: it gets the text inside the wrapper of `shape`. */
  readonly wrap?: boolean;
}

/**
 * Return `sink` behind `judge`: it is called with the very text that was allowed, or not at all.
 *
 * A denial rejects with DeniedError; what the sink throws passes through, and may quote the payload. `options` are
 * fixed here, so that no call can ask for another target. Throws TypeError without a shape.
 */
export function guarded<Args extends unknown[], Result>(
  sink: (code: string, ...args: Args) => Result,
  judge: Judge,
  options: SinkOptions,
): (code: string, ...args: Args) => Promise<Awaited<Result>> {
  const { wrap = false, ...asked } = structuredClone(options);
  if (!Object.hasOwn(WRAPPERS, asked.shape)) throw new TypeError('shape: what the sink puts around the text is needed');
  return async (code, ...args): Promise<Awaited<Result>> => {
    const decision = await judge.check(code, asked);
    // Exactly true: a judge of the caller's own that answers something truthy has allowed nothing.
    if (decision.allowed !== true) throw new DeniedError(decision);
    return await sink(wrap ? inShape(code, asked.shape) : code, ...args);
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
