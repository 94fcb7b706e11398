/** What a caller gets: a decision, always with an envelope, also when the guard could not be asked. */

import { type Code, denialEnvelope, type ErrorEnvelope, type SuccessEnvelope } from './envelope.js';

interface About {
  /** Lower-case hex SHA-256 of the bytes that were asked about; empty when no verdict was reached. */
  readonly codeHash: string;
  /** Finds the decision in the audit log; empty when none was reached. */
  readonly decisionId: string;
}

export interface AllowedDecision extends About {
  readonly allowed: true;
  readonly code: null;
  readonly envelope: SuccessEnvelope;
}

export interface DeniedDecision extends About {
  readonly allowed: false;
  readonly code: string;
  readonly envelope: ErrorEnvelope;
}

/** The guard's answer. Run the payload if and only if `allowed` is true. */
export type Decision = AllowedDecision | DeniedDecision;

/** A denial as an exception, for a sink whose callers expect a value. Its message names the code alone. */
export class DeniedError extends Error {
  override readonly name = 'DeniedError';
  readonly code: string;
  readonly envelope: ErrorEnvelope;

  constructor(readonly decision: DeniedDecision) {
    super(`Evalward denied the payload (${decision.code}, decision ${decision.decisionId || 'none'})`);
    this.code = decision.code;
    this.envelope = decision.envelope;
  }
}

/** Return the denial that `envelope` says. */
export function deniedBy(envelope: ErrorEnvelope, codeHash = ''): DeniedDecision {
  const { decision_id } = envelope._meta;
  const decisionId = typeof decision_id === 'string' ? decision_id : '';
  return Object.freeze({ allowed: false, code: envelope.code, envelope, codeHash, decisionId });
}

/** Return a denial that the client itself gives. */
export function denial(code: Code, message: string, extra?: Parameters<typeof denialEnvelope>[2]): DeniedDecision {
  return deniedBy(denialEnvelope(code, message, extra));
}
