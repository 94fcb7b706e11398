/**
 * Signed calls: client and service each prove that they know the token, and neither sends it.
 *
 * The signed texts are those of `evalward.challenge` in Python, which documents what each of them proves.
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export const AUTH = 'evalward-auth';
export const PROOF = 'evalward-proof';
/** Replaces the request digest of a stream. */
export const STREAM = 'stream';

// Field 30 of ValidateStreamResponse, 32 bytes: its tag and its length.
const ITEM_PROOF = Buffer.from('f20120', 'hex');
const PROOF_BYTES = 32;

export function digestOf(message: Uint8Array | string): string {
  return createHash('sha256').update(message).digest('hex');
}

/** One signed call: its header, and the proofs that its replies must carry. */
export class Challenge {
  readonly header: string;
  readonly #token: string;
  readonly #mac: string;

  constructor(token: string, path: string, digest: string, now = Date.now(), nonce = randomBytes(16).toString('hex')) {
    this.#token = token;
    this.#mac = mac(token, 'request', path, String(now), nonce, digest);
    this.header = `v1 ${now} ${nonce} ${digest} ${this.#mac}`;
  }

  /** Return whether `proofs` is exactly one valid proof of a unary reply. */
  provesReply(proofs: readonly unknown[], response: Uint8Array): boolean {
    return this.#proves(proofs, 'reply', response);
  }

  /** Return whether `proofs` is exactly one valid proof of a status with these details. */
  provesStatus(proofs: readonly unknown[], details: Uint8Array): boolean {
    return this.#proves(proofs, 'status', details);
  }

  itemProof(transcript: string): Buffer {
    return Buffer.from(mac(this.#token, 'item', this.#mac, transcript), 'hex');
  }

  #proves(proofs: readonly unknown[], kind: string, bytes: Uint8Array): boolean {
    const [proof] = proofs;
    if (proofs.length !== 1 || typeof proof !== 'string') return false;
    return equal(Buffer.from(proof), Buffer.from(mac(this.#token, kind, this.#mac, digestOf(bytes))));
  }
}

/** The running digest of a stream, which both sides compute over each message that they send or receive. */
export class Transcript {
  #state = '';

  constructor(readonly challenge: Challenge) {}

  request(message: Uint8Array): void {
    this.#take('request', message);
  }

  /** Add the next reply and return it without its proof; undefined when the proof is invalid. */
  checked(message: Buffer): Buffer | undefined {
    const end = Math.max(0, message.length - ITEM_PROOF.length - PROOF_BYTES);
    const inner = message.subarray(0, end);
    this.#take('reply', inner);
    if (!equal(message.subarray(end, end + ITEM_PROOF.length), ITEM_PROOF)) return undefined;
    const proof = message.subarray(end + ITEM_PROOF.length);
    return equal(proof, this.challenge.itemProof(this.#state)) ? inner : undefined;
  }

  #take(side: string, message: Uint8Array): void {
    this.#state = digestOf(`${this.#state}\n${side}\n${digestOf(message)}`);
  }
}

function mac(token: string, ...lines: readonly string[]): string {
  return createHmac('sha256', token)
    .update(['evalward', 'v1', ...lines].join('\n'))
    .digest('hex');
}

function equal(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
