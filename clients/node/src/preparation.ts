/** The guard's answer to `prepareRuntime`: the script that puts the run-time into a page, and the key to it. */

import type { DeniedDecision } from './decision.js';
import { type ErrorEnvelope, isRecord, readEnvelope, type SuccessEnvelope, Unproven } from './envelope.js';
import { checkError } from './proof.js';
import type { PrepareResponse } from './protocol.js';

/**
 * Run `script` in each document before any script of the page, and send `key` with each payload for it. The key is a
 * secret, and in no envelope. Without a script, `code` says why.
 */
export type Preparation =
  | {
      readonly code: null;
      readonly envelope: SuccessEnvelope;
      readonly script: string;
      readonly key: string;
      readonly version: string;
    }
  | { readonly code: string; readonly envelope: ErrorEnvelope };

/** Return the answer in `reply`; throw Unproven when it is none. */
export function preparationFrom(reply: PrepareResponse): Preparation {
  if (reply.outcome === 'error' && isRecord(reply.error)) {
    const envelope = readEnvelope(reply.envelope, false);
    checkError(reply.error, envelope);
    return Object.freeze({ code: envelope.code, envelope });
  }
  if (reply.outcome !== 'prepared') throw new Unproven('the reply has no outcome');
  const envelope = readEnvelope(reply.envelope, true);
  const { script, key, version } = reply.prepared ?? {};
  if (!script || !key || !version) throw new Unproven('the reply has no script or no key');
  return Object.freeze({ code: null, envelope, script, key, version });
}

/** Return `denial` as an answer without a script. */
export function unpreparedBy({ code, envelope }: DeniedDecision): Preparation {
  return Object.freeze({ code, envelope });
}
