/** A hardened program that stopped at a denial: the envelope that it becomes, and the report to the guard. */

import { adviceOn } from './denial-text.js';
import { type AllowedDecision, type DeniedDecision, deniedBy } from './decision.js';
import {
  denialEnvelope,
  type ErrorEnvelope,
  isRecord,
  readEnvelope,
  type SuccessEnvelope,
  UNKNOWN,
  Unproven,
} from './envelope.js';
import { checkError } from './proof.js';
import type { ReportResponse } from './protocol.js';

/** The guard's answer to a report. `recorded` is true if and only if the audit log has it. */
export type DenialReport =
  | { readonly recorded: true; readonly code: null; readonly envelope: SuccessEnvelope }
  | { readonly recorded: false; readonly code: string; readonly envelope: ErrorEnvelope };

/** Return the answer in `reply`; throw Unproven when it is not one about `decisionId`. */
export function reportFrom(decisionId: string, reply: ReportResponse): DenialReport {
  if (reply.outcome === 'error' && isRecord(reply.error)) {
    const envelope = readEnvelope(reply.envelope, false);
    checkError(reply.error, envelope);
    return Object.freeze({ recorded: false, code: envelope.code, envelope });
  }
  if (reply.outcome !== 'reported') throw new Unproven('the reply has no outcome');
  const envelope = readEnvelope(reply.envelope, true);
  if (envelope._meta.decision_id !== decisionId) throw new Unproven('the reply is about another decision');
  return Object.freeze({ recorded: true, code: null, envelope });
}

/** Return `denial` as a report that was not recorded. */
export function unreportedBy({ code, envelope }: DeniedDecision): DenialReport {
  return Object.freeze({ recorded: false, code, envelope });
}

/** Return the denial of the program that `allow` carried; `isReported`: the audit log has it. */
export function deniedRun(allow: AllowedDecision, construct: string, isReported: boolean): DeniedDecision {
  const { provenance, session_id } = allow.envelope._meta;
  const advice = adviceOn(construct);
  const nextActions = advice?.use_instead ?? [];
  const envelope = denialEnvelope(
    'EVAL_DENIED_AT_RUN_TIME',
    `The program reached ${construct} while it ran, which the policy denies; it was stopped there.`,
    {
      ...(nextActions.length > 0 && { nextActions }),
      details: {
        code_hash: allow.codeHash,
        hardened_hash: allow.hardenedHash ?? '',
        construct,
        repairable: advice?.repairable ?? 'yes',
      },
      meta: {
        decision_id: allow.decisionId,
        audited: isReported,
        provenance: isRecord(provenance) ? provenance : UNKNOWN,
        ...(typeof session_id === 'string' && { session_id }),
      },
    },
  );
  return deniedBy(envelope, allow.codeHash);
}
