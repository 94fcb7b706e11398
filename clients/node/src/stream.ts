/**
 * A stream of payloads without its I/O: each is judged, and its verdict proven, separately and in order.
 *
 * The next payload is sent after the verdict of the previous one. Any failure ends the stream: that payload is denied,
 * and each one after it is denied without being sent.
 */

import { type ItemDecision, itemOf, STATUSES } from './batch.js';
import { type Challenge, Transcript } from './challenge.js';
import type { Decision, DeniedDecision } from './decision.js';
import { Unproven } from './envelope.js';
import { denialOf, Forged } from './failure.js';
import { decisionFrom } from './proof.js';
import { codecOf, parsed, type StreamResponse, type ValidateRequest } from './protocol.js';
import { itemRequest, type ManyOptions, manyOptions, type Payload } from './question.js';

const CODEC = codecOf('ValidateStream');

export class Conversation {
  readonly #options: Required<ManyOptions>;
  readonly #policyDigest: string | undefined;
  readonly #transcript: Transcript | undefined;
  #request: ValidateRequest | undefined;
  #index = -1;
  #firstFailure: Decision | undefined;
  #over: DeniedDecision | undefined;

  /** Throws Unbuilt. */
  constructor(options: ManyOptions, policyDigest: string | undefined, challenge: Challenge | undefined) {
    this.#options = manyOptions(options);
    this.#policyDigest = policyDigest;
    this.#transcript = challenge && new Transcript(challenge);
  }

  /** The size of the latest payload in bytes. */
  get size(): number {
    return this.#request?.code.length ?? 0;
  }

  /** Return the message to send for `item`, or its denial when it cannot be sent. */
  request(item: Payload): Buffer | ItemDecision {
    this.#index += 1;
    if (this.#over !== undefined) return this.#denied(this.#over);
    try {
      this.#request = itemRequest(item, this.#options.sessionId);
    } catch (failure) {
      return this.ended(denialOf(failure));
    }
    const stops = this.#options.stopOnFirst && this.#index === 0;
    const wire = CODEC.requestSerialize({ item: this.#request, stop_on_first: stops });
    this.#transcript?.request(wire);
    return wire;
  }

  /** Return the decision in `response` about the latest payload; undefined means that the stream has ended. */
  decision(response: Buffer | undefined): ItemDecision {
    try {
      if (response === undefined) throw new Unproven('the stream ended without it');
      const proven = this.#transcript === undefined ? response : this.#transcript.checked(response);
      if (proven === undefined) throw new Forged();
      return this.#decision(parsed(CODEC, proven) as StreamResponse);
    } catch (failure) {
      return this.ended(denialOf(failure));
    }
  }

  /** Deny the present payload and all after it with `why`. */
  ended(why: DeniedDecision): ItemDecision {
    this.#over = why;
    return this.#denied(why);
  }

  #denied(why: DeniedDecision): ItemDecision {
    return itemOf(why, this.#index, 'failed');
  }

  #decision(response: StreamResponse): ItemDecision {
    const status = STATUSES[String(response.status)];
    if ((response.item_index ?? 0) !== this.#index || status === undefined || this.#request === undefined) {
      throw new Unproven('the verdict is about another item');
    }
    if (status === 'skipped') {
      if (this.#firstFailure === undefined || response.outcome !== undefined || !this.#options.stopOnFirst) {
        throw new Unproven('an item is skipped although none before it failed');
      }
      return itemOf(this.#firstFailure, this.#index, status);
    }
    if (response.outcome !== (status === 'allowed' ? 'allowed' : 'error')) {
      throw new Unproven('the reply has no outcome');
    }
    const decision = decisionFrom(this.#request, response, this.#policyDigest);
    if (!decision.allowed) this.#firstFailure ??= decision;
    return itemOf(decision, this.#index, status);
  }
}
