/** The reply to an evaluation in the service's sandbox: it has a result only if its verdict is proven. */

import type { DeniedDecision } from './decision.js';
import { type ErrorEnvelope, isRecord, type SuccessEnvelope, Unproven } from './envelope.js';
import { refuseWithout, statedHash } from './hardened.js';
import { prove } from './proof.js';
import type { EvaluateRequest, EvaluateResponse, Usage } from './protocol.js';

interface Ran {
  /** The lines of the console, also when the run failed. */
  readonly console: readonly string[];
  /** What the run used; undefined when nothing ran. 64-bit numbers are decimal strings. */
  readonly usage?: Usage;
  readonly codeHash: string;
  readonly decisionId: string;
  /** Lower-case hex SHA-256 of the hardened program that ran; empty when the payload itself ran. */
  readonly hardenedHash: string;
}

export interface EvaluatedResult extends Ran {
  readonly ok: true;
  readonly code: null;
  readonly envelope: SuccessEnvelope;
  /** The completion value as JSON text; undefined for `undefined`. */
  readonly resultJson?: string;
}

export interface FailedEvaluation extends Ran {
  readonly ok: false;
  readonly code: string;
  readonly envelope: ErrorEnvelope;
}

/** There is a result if and only if `ok` is true. */
export type Evaluation = EvaluatedResult | FailedEvaluation;

const RUNNABLE = ['SHAPE_SCRIPT', 'SHAPE_EXPRESSION', 'SHAPE_FUNCTION', 'SHAPE_ASYNC_BODY'];

/** Return the outcome in `reply`; throw Unproven when it does not hold for `request`. */
export function evaluationFrom(
  request: EvaluateRequest,
  reply: EvaluateResponse,
  policyDigest: string | undefined,
): Evaluation {
  const { envelope, codeHash, decisionId } = prove(request, reply, 'TARGET_SANDBOX', policyDigest);
  const hardenedHash = reply.binding?.hardened_hash ?? '';
  if (envelope.ok && hardenedHash === '') refuseWithout(request.harden);
  if (hardenedHash !== statedHash(envelope.ok ? envelope : envelope.details)) {
    throw new Unproven('the envelope contradicts the program');
  }
  if (hardenedHash !== '' && request.harden === 'HARDEN_OFF') {
    throw new Unproven('another program ran than was asked for');
  }
  const about = {
    console: consoleOf(envelope),
    ...(reply.usage && { usage: reply.usage }),
    codeHash,
    decisionId,
    hardenedHash,
  };
  if (!envelope.ok) return Object.freeze({ ok: false, code: envelope.code, envelope, ...about });
  if (!RUNNABLE.includes(String(reply.binding?.shape))) {
    throw new Unproven('the verdict does not say in which shape the payload ran');
  }
  const resultJson = reply.allowed?.result_json?.toString('utf8') || undefined;
  if ((envelope.result_json ?? undefined) !== resultJson) throw new Unproven('the envelope contradicts the result');
  return Object.freeze({ ok: true, code: null, envelope, ...(resultJson && { resultJson }), ...about });
}

/** Return a denial as an evaluation without a result. */
export function failedBy({ code, envelope, codeHash, decisionId }: DeniedDecision): FailedEvaluation {
  return Object.freeze({ ok: false, code, envelope, console: [], codeHash, decisionId, hardenedHash: '' });
}

/** Return the lines of the console, which an error envelope has in its details. */
function consoleOf(envelope: SuccessEnvelope | ErrorEnvelope): string[] {
  const lines = envelope.console ?? (isRecord(envelope.details) ? envelope.details.console : undefined);
  return Array.isArray(lines) ? lines.map((line: unknown) => String(isRecord(line) ? line.text : line)) : [];
}
