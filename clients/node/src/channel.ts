/** From an address and its TLS options to a gRPC channel's target, credentials and options. */

import { isIP, isIPv4 } from 'node:net';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { Place } from './diagnosis.js';

const TLS = 'tls:';

/** PEM texts; without `ca` the system's roots are trusted, `key` and `certificate` are for mutual TLS. */
export interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly key?: string | Buffer;
  readonly certificate?: string | Buffer;
  /** The name in the server's certificate, where it is not the address's. */
  readonly serverName?: string;
}

const CHANNEL_OPTIONS = {
  // A proxy from the environment must not read payloads or answer instead of the guard.
  'grpc.enable_http_proxy': 0,
  // A DNS record must not change how calls are made.
  'grpc.service_config_disable_resolution': 1,
  // A result is sent twice: typed, and escaped in its envelope.
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  // A restarted sidecar must be found at once, not after minutes of backoff.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
};

interface Channel {
  readonly place: Place;
  readonly target: string;
  readonly credentials: ChannelCredentials;
  readonly options: Readonly<Record<string, string | number>>;
}

/** Return the parts of the channel to `address`; throw TypeError for an address that cannot be used safely. */
export function channelTo(address: string, tls: boolean | TlsOptions | undefined): Channel {
  const wanted = tls === true ? {} : tls || undefined;
  const secure = address.startsWith(TLS) ? (wanted ?? {}) : wanted;
  const target = address.startsWith(TLS) ? address.slice(TLS.length) : address;
  if (/^unix:.+/.test(target)) {
    if (secure) throw new TypeError('address: a Unix socket does not use TLS');
    const path = target.replace(/^unix:(\/\/)?/, '');
    return { place: { path }, target, credentials: credentials.createInsecure(), options: CHANNEL_OPTIONS };
  }
  const [, host = '', port] = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]+):(\d{1,5})$/.exec(target) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw new TypeError('address: HOST:PORT, tls:HOST:PORT or unix:PATH is needed');
  }
  const place = { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  if (!secure) {
    // An attacker between the two could answer ALLOW instead of the guard.
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
