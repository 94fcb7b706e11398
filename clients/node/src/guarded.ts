/** The enforcement point: a sink that runs exactly the judged text, or the hardened program that its verdict carries. */

import { type AllowedDecision, DeniedError } from './decision.js';
import { constructInError, constructInResult } from './denial-text.js';
import { deniedRun } from './denied-run.js';
import type { Judge } from './guard.js';
import type { Prepared } from './prepare.js';
import type { CheckDetails, Shape, Sink, Target } from './question.js';

/** How a sink evaluates a text: the sink's name, or the target and the shape. */
export type SinkOptions = Omit<CheckDetails, 'prepared'> & {
  /** What `prepare` returned for the page of the sink: programs are small and run in that page alone. */
  readonly prepared?: Prepared;
} & (
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
 * Return `sink` guarded: it is called only with the exact text that `judge` allowed, or with its hardened program.
 *
 * The program runs where the policy offers one; with `harden: true` always, so that a payload without one is denied; with
 * `harden: false` never, which a policy may refuse. A denial rejects with DeniedError, also the denial of something that
 * the program reaches for while it runs: EVAL_DENIED_AT_RUN_TIME, which is reported to the guard. It is found in the
 * sink's exception or its `cause`, and in a result that is the error, its text or `exceptionDetails`. Other exceptions of
 * the sink pass through, and may quote the payload. `options` are fixed here, so that no call can change the target.
 * Throws TypeError without a sink or a shape, and for both.
 */
export function guarded<Args extends unknown[], Result>(
  sink: (code: string, ...args: Args) => Result,
  judge: Judge,
  options: SinkOptions,
): (code: string, ...args: Args) => Promise<Awaited<Result>> {
  const { wrap = false, prepared, ...given } = structuredClone(options);
  const asked = { ...given, ...(prepared !== undefined && { prepared: prepared.key }) };
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
    const { hardened } = decision;
    const text = hardened === undefined ? code : hardened;
    if (typeof text !== 'string') throw new TypeError('judge: a hardened program is a string');
    const script = wrap && shape !== undefined ? inShape(text, shape) : text;
    if (hardened === undefined) return await sink(script, ...args);
    let result: Awaited<Result>;
    try {
      result = await sink(script, ...args);
    } catch (failure) {
      const construct = constructInError(failure);
      if (construct === undefined) throw failure;
      throw await stopped(judge, decision, construct);
    }
    const construct = constructInResult(result);
    if (construct !== undefined) throw await stopped(judge, decision, construct);
    return result;
  };
}

/** Report the denial of `construct` to `judge`, and return it as an exception. */
async function stopped(judge: Judge, allow: AllowedDecision, construct: string): Promise<DeniedError> {
  let isReported = false;
  try {
    isReported = (await judge.reportDenial?.(allow.decisionId, construct))?.recorded === true;
  } catch {
    // A report that fails changes nothing: the run is denied, and its envelope says that no record exists.
  }
  return new DeniedError(deniedRun(allow, construct, isReported));
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
