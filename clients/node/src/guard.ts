/** The client. It fails closed: only a proven ALLOW allows a payload. */

import { type BatchDecision, batchDeniedBy, batchFrom, type ItemDecision, itemOf } from './batch.js';
import { type CallDecision, callDecisionFrom, callDeniedBy } from './call.js';
import type { Decision, DeniedDecision } from './decision.js';
import { type DenialReport, reportFrom, unreportedBy } from './denied-run.js';
import { type Evaluation, evaluationFrom, failedBy } from './evaluation.js';
import { denialOf } from './failure.js';
import type { MessageStream } from './message-stream.js';
import { type Preparation, preparationFrom, unpreparedBy } from './preparation.js';
import { decisionFrom } from './proof.js';
import type {
  BatchResponse,
  CallResponse,
  EvaluateResponse,
  PrepareResponse,
  ReportResponse,
  ValidateResponse,
} from './protocol.js';
import {
  batchRequest,
  type CallOptions,
  type CheckOptions,
  callRequest,
  type EvaluateOptions,
  evaluateRequest,
  type ManyOptions,
  type Payload,
  reportRequest,
  validateRequest,
} from './question.js';
import { Conversation } from './stream.js';
import { milliseconds, Refused, Transport, type TransportOptions } from './transport.js';

const CHECK_MS = 250;
const FULL_BUDGET_BYTES = 128 * 1024; // a payload above the default size limit gets proportionally more time
const BUDGET_ITEMS = 32; // this many small payloads share the timeout of one
const RUN_MS = 1_000; // the server's default wall time, for a request without a deadline

export interface GuardOptions extends TransportOptions {
  /** Timeout in milliseconds of a call on a connected channel; the run of an `evaluate` gets extra time. */
  readonly timeoutMs?: number;
  /** Only verdicts under this policy count: its lower-case hex SHA-256, as `GetPolicy` gives it. */
  readonly policyDigest?: string;
}

/** Judges payloads: a Guard, or the guard that `spawn()` supervises. */
export interface Judge {
  check(code: string, options: CheckOptions): Promise<Decision>;
  /** Report that the program of an ALLOW was denied `construct` while it ran. */
  reportDenial?(decisionId: string, construct: string): Promise<DenialReport>;
}

/** A client of one service. Its calls never reject: every failure is a denial with an envelope. */
export class Guard implements Judge {
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #policyDigest: string | undefined;

  /** Throws TypeError for options that cannot be used. */
  constructor(options: GuardOptions = {}) {
    this.#timeoutMs = milliseconds('timeoutMs', options.timeoutMs, CHECK_MS);
    const { policyDigest } = options;
    if (policyDigest !== undefined && !/^[0-9a-f]{64}$/.test(policyDigest)) {
      throw new TypeError('policyDigest: 64 lower-case hex digits are needed');
    }
    this.#policyDigest = policyDigest;
    this.#transport = new Transport(options);
  }

  get address(): string {
    return this.#transport.address;
  }

  /** Wait until the channel is connected, at most the connect timeout; false when it is not. */
  ready(): Promise<boolean> {
    return this.#transport.ready();
  }

  /** Ask whether the target may run `code` in the declared shape. */
  async check(code: string, options: CheckOptions): Promise<Decision> {
    try {
      const request = validateRequest(code, options);
      const reply = await this.#transport.call<ValidateResponse>('Validate', request, this.#budget(request.code));
      return decisionFrom(request, reply, this.#policyDigest);
    } catch (failure) {
      return denied(failure);
    }
  }

  /** Ask whether the tool may be called with these arguments, as JSON text; the server's manifest routes the call. */
  async validateCall(tool: string, argumentsJson: string, options: CallOptions = {}): Promise<CallDecision> {
    try {
      const [request, insisted] = callRequest(tool, argumentsJson, options);
      const deadline = this.#budget(request.arguments_json);
      const reply = await this.#transport.call<CallResponse>('ValidateCall', request, deadline);
      return callDecisionFrom(request, insisted, reply, this.#policyDigest);
    } catch (failure) {
      return callDeniedBy(denied(failure));
    }
  }

  /** Ask whether each of `items` may run; any failure denies the items that it affects. */
  async validateBatch(items: readonly Payload[], options: ManyOptions = {}): Promise<BatchDecision> {
    try {
      const request = batchRequest(items, options);
      const budget = this.#budget(...request.items.map(({ code }) => code));
      const deadline = Math.max(budget, (this.#timeoutMs * request.items.length) / BUDGET_ITEMS);
      const reply = await this.#transport.call<BatchResponse>('ValidateBatch', request, deadline);
      return batchFrom(request, reply, this.#policyDigest);
    } catch (failure) {
      return batchDeniedBy(denied(failure), Array.isArray(items) ? items.length : 0);
    }
  }

  /**
   * Ask about each of `items` in turn and yield its decision before the next is taken.
   *
   * A failure of the stream denies that payload and all after it.
   */
  async *validateStream(
    items: Iterable<Payload> | AsyncIterable<Payload>,
    options: ManyOptions = {},
  ): AsyncGenerator<ItemDecision, void, undefined> {
    let stream: MessageStream | undefined;
    let conversation: Conversation | undefined;
    let why: DeniedDecision | undefined;
    let index = 0;
    try {
      for await (const item of items) {
        if (conversation === undefined && why === undefined) {
          try {
            stream = await this.#transport.open();
            conversation = new Conversation(options, this.#policyDigest, stream.signed);
          } catch (failure) {
            why = denied(failure);
          }
        }
        yield conversation === undefined || stream === undefined
          ? itemOf(why as DeniedDecision, index, 'failed')
          : await this.#next(conversation, stream, item);
        index += 1;
      }
    } finally {
      stream?.close();
    }
  }

  async #next(conversation: Conversation, stream: MessageStream, item: Payload): Promise<ItemDecision> {
    const wire = conversation.request(item);
    if (!Buffer.isBuffer(wire)) return wire;
    try {
      const budget = this.#timeoutMs * Math.max(1, conversation.size / FULL_BUDGET_BYTES);
      return conversation.decision(await stream.exchange(wire, budget));
    } catch (failure) {
      return conversation.ended(denied(failure));
    }
  }

  /** Judge `code` for the sandbox and run it there. */
  async evaluate(code: string, options: EvaluateOptions = {}): Promise<Evaluation> {
    try {
      const request = evaluateRequest(code, options);
      const deadline = this.#budget(request.code) + (request.limits?.deadline_ms ?? RUN_MS);
      const reply = await this.#transport.call<EvaluateResponse>('Evaluate', request, deadline);
      return evaluationFrom(request, reply, this.#policyDigest);
    } catch (failure) {
      return failedBy(denied(failure));
    }
  }

  /**
   * Report that the program of the ALLOW `decisionId` was denied `construct` while it ran.
   *
   * The report goes into the guard's audit log, once for each decision. A failure is a reply that is not recorded, and
   * changes nothing else. `guarded` reports by itself.
   */
  async reportDenial(decisionId: string, construct: string): Promise<DenialReport> {
    try {
      const request = reportRequest(decisionId, construct);
      const reply = await this.#transport.call<ReportResponse>('ReportDenial', request, this.#timeoutMs);
      return reportFrom(decisionId, reply);
    } catch (failure) {
      return unreportedBy(denied(failure));
    }
  }

  /**
   * Ask for the script that puts the run-time of hardened programs into a page, and for the key to it.
   *
   * `prepare` does it for a page of Playwright or Puppeteer. A failure is a reply with a `code` and without a script.
   */
  async prepareRuntime(): Promise<Preparation> {
    try {
      const request = { target: 'TARGET_RENDERER' };
      return preparationFrom(await this.#transport.call<PrepareResponse>('PrepareRuntime', request, this.#timeoutMs));
    } catch (failure) {
      return unpreparedBy(denied(failure));
    }
  }

  /** Close the channel; every later call is a denial. */
  close(): void {
    this.#transport.close();
  }

  #budget(...codes: Buffer[]): number {
    const size = codes.reduce((sum, code) => sum + code.length, 0);
    return this.#timeoutMs * Math.max(1, size / FULL_BUDGET_BYTES);
  }
}

function denied(failure: unknown): DeniedDecision {
  return failure instanceof Refused ? failure.decision : denialOf(failure);
}
