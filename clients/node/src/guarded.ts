/** The enforcement point: a sink that runs exactly the judged text. */

import { DeniedError } from './decision.js';
import type { Judge } from './guard.js';
import type { CheckDetails, Shape, Sink, Target } from './question.js';

/** How a sink evaluates a text: the sink's name, or the target and the shape. */
export type SinkOptions = CheckDetails &
  (
    | { readonly sink: Sink; readonly target?: Target; readonly shape?: undefined; readonly wrap?: undefined }
    | {
        readonly sink?: undefined;
        readonly target: Target;
        readonly shape: Shape;
        /** The sink adds no wrapper of its own, so it gets the text inside the wrapper of `shape`. */
        readonly wrap?: boolean;
      }
  );

/**
 * Return `sink` guarded: it is called only with the exact text that `judge` allowed.
 *
 * A denial rejects with DeniedError; exceptions of the sink pass through, and may quote the payload. `options` are fixed
 * here, so that no call can change the target. Throws TypeError without a sink or a shape, and for both.
 */
export function guarded<Args extends unknown[], Result>(
  sink: (code: string, ...args: Args) => Result,
  judge: Judge,
  options: SinkOptions,
): (code: string, ...args: Args) => Promise<Awaited<Result>> {
  const { wrap = false, ...asked } = structuredClone(options);
  const shape = asked.shape;
  if (asked.sink !== undefined && (shape !== undefined || wrap)) {
    throw new TypeError('sink: a named sink defines its shape, so give no shape and no wrap');
  }
  if (asked.sink === undefined && (shape === undefined || !Object.hasOwn(WRAPPERS, shape))) {
    throw new TypeError('sink: its name is needed, or a target and the shape of its wrapper');
  }
  return async (code, ...args): Promise<Awaited<Result>> => {
    const decision = await judge.check(code, asked);
    // Exactly true: another truthy value from a custom judge does not allow anything.
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

/** Return the script that evaluates `code` in `shape`, which is exactly the text that the guard parses. */
export function inShape(code: string, shape: Shape): string {
  const [prefix, suffix] = WRAPPERS[shape];
  return prefix + code + suffix;
}
