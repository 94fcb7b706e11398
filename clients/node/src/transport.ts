/** One channel to one service: connecting within a timeout, and calls that carry bytes. */

import { Client, Metadata, type StatusObject } from '@grpc/grpc-js';
import { AUTH, Challenge, digestOf, PROOF, STREAM } from './challenge.js';
import { channelTo, type TlsOptions } from './channel.js';
import type { DeniedDecision } from './decision.js';
import { diagnose, type Place } from './diagnosis.js';
import { absent, denialOf, Forged, isLost, refusedSocket, unreachable } from './failure.js';
import { MessageStream } from './message-stream.js';
import { checkOwner } from './peer.js';
import { codecOf, type Method, parsed } from './protocol.js';

export const CONNECT_MS = 2_000;
const DEFAULT_ADDRESS = '127.0.0.1:7443';

export interface TransportOptions {
  /** `HOST:PORT` on loopback, `tls:HOST:PORT` or `unix:PATH`; else EVALWARD_ADDRESS, else 127.0.0.1:7443. */
  readonly address?: string;
  /** TLS on TCP: true, or the PEM texts to use. */
  readonly tls?: boolean | TlsOptions;
  /**
   * The service's token. It is sent with every call over TLS or a Unix socket. Over plain TCP it is never sent: it signs
   * each call, and a reply counts only if it is signed, too.
   */
  readonly token?: string;
  /** The user id that must own the Unix socket; no other user may be able to replace the socket. */
  readonly peerUid?: number;
  /** Milliseconds to wait for the channel to connect. */
  readonly connectTimeoutMs?: number;
}

/** A failed call with its denial, which says what is wrong with the connection. */
export class Refused extends Error {
  constructor(readonly decision: DeniedDecision) {
    super(decision.code);
  }
}

export class Transport {
  readonly address: string;
  readonly #client: Client;
  readonly #place: Place;
  readonly #token: string | undefined;
  readonly #isPlainTcp: boolean;
  readonly #peerUid: number | undefined;
  readonly #connectMs: number;
  #isClosed = false;

  /** Throws TypeError for an address or options that cannot be used. */
  constructor(options: TransportOptions) {
    this.address = options.address ?? (process.env.EVALWARD_ADDRESS || DEFAULT_ADDRESS);
    if (typeof this.address !== 'string') throw new TypeError('address: a string is needed');
    this.#connectMs = milliseconds('connectTimeoutMs', options.connectTimeoutMs, CONNECT_MS);
    const { token, peerUid } = options;
    if (token !== undefined && (typeof token !== 'string' || !/^[!-~]+$/.test(token))) {
      throw new TypeError('token: printable ASCII without spaces is needed');
    }
    this.#token = token;
    const channel = channelTo(this.address, options.tls);
    this.#place = channel.place;
    this.#isPlainTcp = channel.place.path === undefined && channel.place.tls === undefined;
    if (peerUid !== undefined && (!Number.isSafeInteger(peerUid) || channel.place.path === undefined)) {
      throw new TypeError('peerUid: a user id is needed, and an address unix:PATH');
    }
    this.#peerUid = peerUid;
    this.#client = new Client(channel.target, channel.credentials, channel.options);
  }

  /** Wait until the channel is connected, at most the connect timeout; false when it is not. */
  ready(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#client.waitForReady(Date.now() + this.#connectMs, (failure) => resolve(!failure && !this.#isClosed));
    });
  }

  /** Call one unary method within `deadlineMs`; throw Refused, Forged or Unproven. */
  async call<Reply>(method: Method, request: object, deadlineMs: number): Promise<Reply> {
    const codec = codecOf(method);
    const wire = codec.requestSerialize(request);
    await this.#reach();
    const [metadata, signed] = this.#authorised(codec.path, digestOf(wire));
    try {
      const { response, trailing } = await this.#unary(codec.path, wire, metadata, Date.now() + deadlineMs);
      if (signed !== undefined && !signed.provesReply(trailing.get(PROOF), response)) throw new Forged();
      return parsed(codec, response) as Reply;
    } catch (failure) {
      throw await this.#refused(failure, signed);
    }
  }

  /** Open the stream of payloads; throw Refused. */
  async open(): Promise<MessageStream> {
    const { path } = codecOf('ValidateStream');
    await this.#reach();
    const [metadata, signed] = this.#authorised(path, STREAM);
    const call = this.#client.makeBidiStreamRequest(path, unchanged, unchanged, metadata);
    return new MessageStream(call, signed, (failure) => this.#refused(failure, signed));
  }

  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }

  /** Wait until the guard can be asked; throw Refused. */
  async #reach(): Promise<void> {
    if (this.#isClosed) throw new Refused(absent('This client has been closed.'));
    if (this.#peerUid !== undefined) {
      try {
        await checkOwner(this.#place.path ?? '', this.#peerUid);
      } catch (failure) {
        throw new Refused(refusedSocket(failure, this.address));
      }
    }
    if (!(await this.ready())) throw new Refused(await this.#lost());
  }

  async #lost(): Promise<DeniedDecision> {
    if (this.#isClosed) return absent('This client has been closed.');
    return unreachable(this.address, await diagnose(this.#place));
  }

  async #refused(failure: unknown, signed: Challenge | undefined): Promise<Refused> {
    return new Refused(isLost(failure, signed) ? await this.#lost() : denialOf(failure, signed));
  }

  /** Return the metadata of a call, and the challenge that its replies must answer; `digest` is the request's. */
  #authorised(path: string, digest: string): [Metadata, Challenge | undefined] {
    const metadata = new Metadata();
    if (this.#token === undefined) return [metadata, undefined];
    if (!this.#isPlainTcp) {
      metadata.set('authorization', `Bearer ${this.#token}`);
      return [metadata, undefined];
    }
    const challenge = new Challenge(this.#token, path, digest);
    metadata.set(AUTH, challenge.header);
    return [metadata, challenge];
  }

  #unary(path: string, wire: Buffer, metadata: Metadata, deadline: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let response: Buffer | undefined;
      const call = this.#client.makeUnaryRequest(
        path,
        unchanged,
        unchanged,
        wire,
        metadata,
        { deadline },
        (failure, bytes) => {
          if (failure) reject(failure);
          else response = bytes;
        },
      );
      // gRPC reports the status, and with it the trailing metadata, after the reply.
      call.on('status', ({ metadata: trailing }: StatusObject) => {
        if (response === undefined) reject(new Error('a reply without a message'));
        else resolve({ response, trailing });
      });
    });
  }
}

interface Answer {
  readonly response: Buffer;
  readonly trailing: Metadata;
}

function unchanged(bytes: Buffer): Buffer {
  return bytes;
}

/** Return `value`, or the default; throw TypeError unless it is a time above zero. */
export function milliseconds(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (!Number.isFinite(value) || value <= 0) throw new TypeError(`${name}: milliseconds above 0 are needed`);
  return value;
}
