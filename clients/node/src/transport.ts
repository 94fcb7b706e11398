/** One channel to one service: the address, the connecting budget, and calls that carry bytes. */

import { isIP, isIPv4 } from 'node:net';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { AUTH, Challenge, digestOf, PROOF, STREAM } from './challenge.js';
import type { DeniedDecision } from './decision.js';
import { diagnose, type Place } from './diagnosis.js';
import { absent, denialOf, Forged, isLost, refusedSocket, unreachable } from './failure.js';
import { checkOwner } from './peer.js';
import { codecOf, type Method, parsed } from './protocol.js';

export const CONNECT_MS = 2_000;
const DEFAULT_ADDRESS = '127.0.0.1:7443';
const TLS = 'tls:';

/** PEM texts; without `ca` the system's roots are trusted, `key` and `certificate` are for mutual TLS. */
export interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly key?: string | Buffer;
  readonly certificate?: string | Buffer;
  /** The name in the server's certificate, where it is not the address's. */
  readonly serverName?: string;
}

export interface TransportOptions {
  /** `HOST:PORT` on loopback, `tls:HOST:PORT` or `unix:PATH`; else EVALWARD_ADDRESS, else 127.0.0.1:7443. */
  readonly address?: string;
  /** TLS on TCP: true, or the PEM texts to use. */
  readonly tls?: boolean | TlsOptions;
  /**
   * The service's token. It goes with every call over TLS or a Unix socket; over plain TCP it stays here: each call is
   * signed with it, and an answer counts only if it is, too.
   */
  readonly token?: string;
  /** The user id that the Unix socket must belong to, in folders where nobody else can put another. */
  readonly peerUid?: number;
  /** Milliseconds that a channel which is not connected may take to connect. */
  readonly connectTimeoutMs?: number;
}

const CHANNEL_OPTIONS = {
  // A proxy from the environment must not see payloads, nor answer in the guard's place.
  'grpc.enable_http_proxy': 0,
  // Nor may a DNS record change how calls are made.
  'grpc.service_config_disable_resolution': 1,
  // A result comes twice, typed and in its envelope, and escaped in the second.
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  // A sidecar that was restarted is back at once, not after minutes of backoff.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
};

/** A failed call as its denial; what went wrong with the connection has been found out. */
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

  /** Wait until the channel is connected, at most the connecting budget; false when it is not. */
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
  async open(): Promise<Lane> {
    const { path } = codecOf('ValidateStream');
    await this.#reach();
    const [metadata, signed] = this.#authorised(path, STREAM);
    const call = this.#client.makeBidiStreamRequest(path, asItIs, asItIs, metadata);
    return new Lane(call, signed, (failure) => this.#refused(failure, signed));
  }

  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }

  /** Return when the guard can be asked; throw Refused. */
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

  /** Return what goes with a call, and what its answers must prove; `digest` is the request's. */
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
        asItIs,
        asItIs,
        wire,
        metadata,
        { deadline },
        (failure, bytes) => {
          if (failure) reject(failure);
          else response = bytes;
        },
      );
      // gRPC tells of the status behind the reply, and with it of the trailing metadata.
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

/** A stream's messages: one out, one in, each within its time. */
export class Lane {
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #refused: (failure: unknown) => Promise<Refused>;
  #take: { resolve: (bytes: Buffer | undefined) => void; reject: (failure: unknown) => void } | undefined;
  #failure: Error | undefined;
  #isOver = false;

  constructor(
    call: ClientDuplexStream<Buffer, Buffer>,
    readonly signed: Challenge | undefined,
    refused: (failure: unknown) => Promise<Refused>,
  ) {
    this.#call = call;
    this.#refused = refused;
    call.on('data', (bytes: Buffer) => {
      const take = this.#take;
      this.#take = undefined;
      // A message that nobody asked for: what comes behind it could be taken for the answer to something else.
      if (take === undefined) this.#end(new Error('a reply to nothing'));
      else take.resolve(bytes);
    });
    call.on('error', (failure) => this.#end(failure));
    call.on('end', () => this.#end(undefined));
  }

  /** Send `wire` and return the next message, undefined for the end; throw Refused. */
  async exchanged(wire: Buffer, withinMs: number): Promise<Buffer | undefined> {
    let late: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        if (this.#isOver) {
          if (this.#failure === undefined) resolve(undefined);
          else reject(this.#failure);
          return;
        }
        this.#take = { resolve, reject };
        late = setTimeout(() => reject(Object.assign(new Error('late'), { code: LATE })), withinMs);
        this.#call.write(wire);
      });
    } catch (failure) {
      throw await this.#refused(failure);
    } finally {
      clearTimeout(late);
    }
  }

  close(): void {
    this.#call.cancel();
  }

  #end(failure: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    if (failure === undefined) this.#take?.resolve(undefined);
    else this.#take?.reject(failure);
    this.#take = undefined;
  }
}

const LATE: number = status.DEADLINE_EXCEEDED;

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

/** Return `value`, or the default; throw TypeError unless it is a time above zero. */
export function milliseconds(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (!Number.isFinite(value) || value <= 0) throw new TypeError(`${name}: milliseconds above 0 are needed`);
  return value;
}

interface Channel {
  readonly place: Place;
  readonly target: string;
  readonly credentials: ChannelCredentials;
  readonly options: Readonly<Record<string, string | number>>;
}

/** Return how to make the channel; throw TypeError for an address that cannot be used safely. */
function channelTo(address: string, tls: TransportOptions['tls']): Channel {
  const wanted = tls === true ? {} : tls || undefined;
  const secure = address.startsWith(TLS) ? (wanted ?? {}) : wanted;
  const target = address.startsWith(TLS) ? address.slice(TLS.length) : address;
  if (/^unix:.+/.test(target)) {
    if (secure) throw new TypeError('address: a Unix socket speaks no TLS');
    const path = target.replace(/^unix:(\/\/)?/, '');
    return { place: { path }, target, credentials: credentials.createInsecure(), options: CHANNEL_OPTIONS };
  }
  const [, host = '', port] = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]+):(\d{1,5})$/.exec(target) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw new TypeError('address: HOST:PORT, tls:HOST:PORT or unix:PATH is needed');
  }
  const place = { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  if (!secure) {
    // Whoever sits between could answer ALLOW in the guard's place.
    if (!isLoopback(host)) throw new TypeError(`address: ${host} is not this machine, so it needs tls:HOST:PORT`);
    return { place, target, credentials: credentials.createInsecure(), options: CHANNEL_OPTIONS };
  }
  const { ca, key, certificate, serverName } = secure;
  const options = serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName };
  const servername = serverName ?? place.host;
  const own = { ...(ca && { ca }), ...(key && { key }), ...(certificate && { cert: certificate }) };
  return {
    // A name for SNI is never an address (RFC 6066, section 3).
    place: { ...place, tls: { ...own, ...(isIP(servername) === 0 && { servername }) } },
    target,
    credentials: credentials.createSsl(pem(ca), pem(key), pem(certificate)),
    options: { ...CHANNEL_OPTIONS, ...options },
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}

function pem(text: string | Buffer | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}
