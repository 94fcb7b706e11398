/** The enforcement point: the text that was judged is the text that runs. */

import { DeniedError } from './decision.js';
import type { Judge } from './guard.js';
import type { CheckDetails, Shape, Sink, Target } from './question.js';

/** What a sink does with a text: its name; or where it runs, and the wrapper that it puts around it. */
export type SinkOptions = CheckDetails &
  (
    | { readonly sink: Sink; readonly target?: Target; readonly shape?: undefined; readonly wrap?: undefined }
    | {
        readonly sink?: undefined;
        readonly target: Target;
        readonly shape: Shape;
        /** The sink evaluates scripts as they are: it gets the text inside the wrapper of `shape`. */
        readonly wrap?: boolean;
      }
  );

/**
 * Return `sink` behind `judge`: it is called with the very text that was allowed, or not at all.
 *
 * A denial rejects with DeniedError; what the sink throws passes through, and may quote the payload. `options` are
 * fixed here, so that no call can ask for another target. Throws TypeError without a sink or a shape, and for both.
 */
export function guarded<Args extends unknown[], Result>(
  sink: (code: string, ...args: Args) => Result,
  judge: Judge,
  options: SinkOptions,
): (code: string, ...args: Args) => Promise<Awaited<Result>> {
  const { wrap = false, ...asked } = structuredClone(options);
  const shape = asked.shape;
  if (asked.sink !== undefined && (shape !== undefined || wrap)) {
    throw new TypeError('sink: it says itself how it reads a text, so there is no shape and nothing to wrap');
  }
  if (asked.sink === undefined && (shape === undefined || !Object.hasOwn(WRAPPERS, shape))) {
    throw new TypeError('sink: its name is needed, or a target and the shape of what the sink puts around the text');
  }
  return async (code, ...args): Promise<Awaited<Result>> => {
    const decision = await judge.check(code, asked);
    // Exactly true: a judge of the caller's own that answers something truthy has allowed nothing.
    if (decision.allowed !== true) throw new DeniedError(decision);
    return await sink(wrap && shape !== undefined ? inShape(code, shape) : code, ...args);
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
