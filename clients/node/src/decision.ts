/** The guard's reply as a decision with an envelope, and the denials that the client makes itself. */

import { type Code, denialEnvelope, type ErrorEnvelope, type SuccessEnvelope } from './envelope.js';

interface About {
  /** Lower-case hex SHA-256 of the judged bytes; empty without a verdict. */
  readonly codeHash: string;
  /** Identifies the decision in the audit log; empty without a verdict. */
  readonly decisionId: string;
}

export interface AllowedDecision extends About {
  readonly allowed: true;
  readonly code: null;
  readonly envelope: SuccessEnvelope;
  /**
   * The program to run instead of the payload, in the same sink or shape: it does what the payload does, but cannot get
   * hold of a denied capability. ASCII; undefined where there is none.
   */
  readonly hardened?: string;
  /** Lower-case hex SHA-256 of `hardened`. */
  readonly hardenedHash?: string;
}

export interface DeniedDecision extends About {
  readonly allowed: false;
  readonly code: string;
  readonly envelope: ErrorEnvelope;
}

/** The guard's answer. Run the payload if and only if `allowed` is true, and `hardened` instead if there is one. */
export type Decision = AllowedDecision | DeniedDecision;

/** A denial as an exception, for a sink whose callers expect a value. Its message contains only code and decision id. */
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

/** Return the denial with `envelope`. */
export function deniedBy(envelope: ErrorEnvelope, codeHash = ''): DeniedDecision {
  const { decision_id } = envelope._meta;
  const decisionId = typeof decision_id === 'string' ? decision_id : '';
  return Object.freeze({ allowed: false, code: envelope.code, envelope, codeHash, decisionId });
}

/** Return a denial by the client. */
export function denial(code: Code, message: string, extra?: Parameters<typeof denialEnvelope>[2]): DeniedDecision {
  return deniedBy(denialEnvelope(code, message, extra));
}
