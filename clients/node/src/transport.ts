/** One channel to one service: the address, the connecting budget, and unary calls with a deadline. */

import { isIPv4 } from 'node:net';
import { type ChannelCredentials, type Client, credentials, Metadata } from '@grpc/grpc-js';
import { GuardService } from './protocol.js';

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
  /** A bearer token, sent with every call. */
  readonly token?: string;
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

type Unary = (
  request: object,
  metadata: Metadata,
  options: { deadline: number },
  done: (failure: Error | null, reply?: unknown) => void,
) => void;

export class Transport {
  readonly address: string;
  readonly #client: Client;
  readonly #metadata = new Metadata();
  readonly #connectMs: number;
  #isClosed = false;

  /** Throws TypeError for an address or options that cannot be used. */
  constructor(options: TransportOptions) {
    this.address = options.address ?? (process.env.EVALWARD_ADDRESS || DEFAULT_ADDRESS);
    this.#connectMs = milliseconds('connectTimeoutMs', options.connectTimeoutMs, CONNECT_MS);
    if (options.token !== undefined) {
      if (!/^[!-~]+$/.test(options.token)) throw new TypeError('token: printable ASCII without spaces is needed');
      this.#metadata.set('authorization', `Bearer ${options.token}`);
    }
    const channel = channelTo(this.address, options.tls);
    this.#client = new GuardService(channel.target, channel.credentials, channel.options);
  }

  /** Wait until the channel is connected, at most the connecting budget; false when it is not. */
  ready(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#client.waitForReady(Date.now() + this.#connectMs, (failure) => resolve(!failure && !this.#isClosed));
    });
  }

  /** Call one method; reject with gRPC's ServiceError, at the latest after `deadlineMs`. */
  call<Reply>(method: 'Validate' | 'Evaluate', request: object, deadlineMs: number): Promise<Reply> {
    const unary = (this.#client as unknown as Record<string, Unary>)[method] as Unary;
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + deadlineMs };
      unary.call(this.#client, request, this.#metadata, options, (failure, reply) => {
        if (failure) reject(failure);
        else resolve(reply as Reply);
      });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }
}

/** Return `value`, or the default; throw TypeError unless it is a time above zero. */
export function milliseconds(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (!Number.isFinite(value) || value <= 0) throw new TypeError(`${name}: milliseconds above 0 are needed`);
  return value;
}

interface Channel {
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
    return { target, credentials: credentials.createInsecure(), options: CHANNEL_OPTIONS };
  }
  const [, host = '', port] = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]+):(\d{1,5})$/.exec(target) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw new TypeError('address: HOST:PORT, tls:HOST:PORT or unix:PATH is needed');
  }
  if (!secure) {
    // Whoever sits between could answer ALLOW in the guard's place.
    if (!isLoopback(host)) throw new TypeError(`address: ${host} is not this machine, so it needs tls:HOST:PORT`);
    return { target, credentials: credentials.createInsecure(), options: CHANNEL_OPTIONS };
  }
  const { ca, key, certificate, serverName } = secure;
  const options = serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName };
  return {
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
