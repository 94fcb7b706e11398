/** Turns every failure of a call into a denial. */

import { Metadata, status } from '@grpc/grpc-js';
import { type Challenge, PROOF } from './challenge.js';
import { type DeniedDecision, denial, deniedBy } from './decision.js';
import { FINDINGS, type Reason, reasonOf } from './diagnosis.js';
import { type Code, isRecord, readEnvelope, Unproven } from './envelope.js';
import { Unbuilt } from './fields.js';
import { WrongPeer } from './peer.js';
import { attachedEnvelope } from './protocol.js';

const UNAVAILABLE: number = status.UNAVAILABLE;
const RESOURCE_EXHAUSTED: number = status.RESOURCE_EXHAUSTED;
const DETAILS = 'grpc-status-details-bin';
const MISUNDERSTOOD =
  'The guard has another token, or its version does not support signed calls over plain TCP: connect over TLS' +
  ' or a Unix socket.';

// For statuses without an envelope, which come from gRPC itself or from an intermediary.
const CODES: { readonly [number: number]: Code } = {
  [status.DEADLINE_EXCEEDED]: 'DEADLINE_EXCEEDED',
  [status.UNAVAILABLE]: 'SERVICE_UNREACHABLE',
  [status.UNAUTHENTICATED]: 'UNAUTHENTICATED',
  [status.PERMISSION_DENIED]: 'PERMISSION_DENIED',
  [status.RESOURCE_EXHAUSTED]: 'OVERLOADED',
};
// The status message of gRPC's core on the server's side for a request that is too large. For a reply that is too large
// for the client, the message differs.
const TOO_LARGE = /^SERVER: Received message larger than max \(([0-9]{1,15}) vs\. ([0-9]{1,15})\)$/;

/** A reply without the proof that its sender knows the token. */
export class Forged extends Error {}

/** Return the denial for the guard at `address`, which cannot be reached because of `reason`. */
export function unreachable(address: string, reason: Reason): DeniedDecision {
  const { code, message, hint } = FINDINGS[reason];
  const details = { grpc_status: 'UNAVAILABLE', reason };
  return denial(code, `The guard at ${address} cannot be reached: ${message} (gRPC status UNAVAILABLE).`, {
    hint,
    details,
  });
}

/** Return the denial for a guard that is known to be unavailable; `message` says why. */
export function absent(message: string): DeniedDecision {
  const { code, hint } = FINDINGS.stopped;
  return denial(code, message, { hint, details: { grpc_status: 'UNAVAILABLE', reason: 'stopped' } });
}

/** Return the denial for a socket of another user, or one that cannot be checked. */
export function refusedSocket(failure: unknown, address: string): DeniedDecision {
  if (!(failure instanceof WrongPeer)) return unreachable(address, reasonOf(failure));
  return denial('SERVICE_UNPROVEN', `The socket may not be the guard's: ${failure.message}.`);
}

/** Return the denial for any `failure`; with `signed` the envelope of a status counts only if it is signed. */
export function denialOf(failure: unknown, signed?: Challenge): DeniedDecision {
  try {
    if (failure instanceof Unbuilt) return denial(failure.code, failure.message, { details: failure.details });
    if (failure instanceof Forged) {
      return denial(
        'SERVICE_UNPROVEN',
        'The reply does not prove knowledge of the token, so it is not from the guard.',
      );
    }
    if (failure instanceof Unproven) return unproven(failure);
    if (isRecord(failure) && typeof failure.code === 'number') return byStatus(failure.code, failure, signed);
    return denial('INTERNAL', 'The guard could not be asked.');
  } catch (doubt) {
    return doubt instanceof Unproven ? unproven(doubt) : denial('INTERNAL', 'The guard could not be asked.');
  }
}

/** Return whether the connection failed, and the guard gave no envelope. */
export function isLost(failure: unknown, signed?: Challenge): boolean {
  if (!isRecord(failure) || failure.code !== UNAVAILABLE) return false;
  return attachedIn(failure.metadata, signed) === undefined;
}

/** Return the denial for a reply that is not a verdict on the request. */
export function unproven(doubt: Unproven): DeniedDecision {
  return denial('INTERNAL', `The guard's reply is not a verdict on this payload: ${doubt.message}.`);
}

function byStatus(code: number, failure: Record<string, unknown>, signed: Challenge | undefined): DeniedDecision {
  const attached = attachedIn(failure.metadata, signed);
  if (attached !== undefined) return deniedBy(readEnvelope(attached, false));
  const name = status[code] ?? String(code);
  const tooLarge =
    code === RESOURCE_EXHAUSTED && typeof failure.details === 'string' && TOO_LARGE.exec(failure.details);
  if (tooLarge) return refusedMessage(Number(tooLarge[1]), Number(tooLarge[2]));
  const isMisunderstood = signed !== undefined && name === 'UNAUTHENTICATED';
  return denial(CODES[code] ?? 'INTERNAL', `The guard answered with the gRPC status ${name}.`, {
    ...(isMisunderstood && { hint: MISUNDERSTOOD }),
    details: { grpc_status: name },
  });
}

/** Return the denial for a message that the server did not read. */
function refusedMessage(actual: number, most: number): DeniedDecision {
  return denial(
    'EVAL_PAYLOAD_TOO_LARGE',
    `The request has ${String(actual)} bytes, and the guard accepts messages of at most ${String(most)}.`,
    { details: { limit: 'message_bytes', limit_value: most, actual, grpc_status: 'RESOURCE_EXHAUSTED' } },
  );
}

function attachedIn(metadata: unknown, signed: Challenge | undefined): Buffer | undefined {
  if (!(metadata instanceof Metadata)) return undefined;
  for (const value of metadata.get(DETAILS)) {
    if (typeof value === 'string') continue;
    if (signed !== undefined && !signed.provesStatus(metadata.get(PROOF), value)) continue;
    const attached = parsed(value);
    if (attached !== undefined) return attached;
  }
  return undefined;
}

function parsed(serialised: Buffer): Buffer | undefined {
  try {
    return attachedEnvelope(serialised);
  } catch {
    return undefined; // invalid details are ignored; the status still counts
  }
}
