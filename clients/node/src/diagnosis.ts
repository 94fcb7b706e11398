/**
 * Diagnoses why a guard cannot be reached, since gRPC reports UNAVAILABLE for every cause.
 *
 * A separate connection, without token or payload, finds the cause. The diagnosis takes at most `PROBE_MS`. Reasons,
 * messages and hints are those of the Python client.
 */

import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { Code } from './envelope.js';

const PROBE_MS = 500;
// RFC 9113, section 3.4: the client's preface; the server must reply with a SETTINGS frame on stream 0.
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
const FRAME_BYTES = 9;
const SETTINGS = 4;

export type Reason =
  | 'refused'
  | 'no_socket'
  | 'name_unknown'
  | 'no_answer'
  | 'closed'
  | 'not_a_guard'
  | 'not_permitted'
  | 'tls_expected'
  | 'tls_not_spoken'
  | 'certificate_untrusted'
  | 'certificate_expired'
  | 'certificate_name'
  | 'client_certificate'
  | 'stopped';

interface Finding {
  readonly code: Code;
  readonly message: string;
  readonly hint: string;
}

const CHECK_UP =
  'Nothing runs while the guard is unavailable; check that it is running, then send the same request again.';
const CHECK_ADDRESS = 'Nothing runs until the address is correct: compare it with the ready line of the guard.';

const away = (message: string, hint = CHECK_UP): Finding => ({ code: 'SERVICE_UNREACHABLE', message, hint });
const tlsFailed = (message: string, hint: string): Finding => ({ code: 'TLS_FAILED', message, hint });

export const FINDINGS: { readonly [reason in Reason]: Finding } = {
  refused: away('no process listens there'),
  no_socket: away('there is no socket at this path'),
  name_unknown: away('its name cannot be resolved', CHECK_ADDRESS),
  no_answer: away('it does not answer in time'),
  closed: away('the connection was closed'),
  not_a_guard: away('the server there does not speak gRPC', CHECK_ADDRESS),
  not_permitted: {
    code: 'PERMISSION_DENIED',
    message: 'this user may not connect to its socket',
    hint: "Nothing runs until this user is in the socket's group (--unix-mode of the guard).",
  },
  tls_expected: tlsFailed(
    'it expects TLS, and this client uses plain text',
    'Write tls:HOST:PORT, and give the certificates.',
  ),
  tls_not_spoken: tlsFailed(
    'it expects plain text, and this client uses TLS',
    'Start the guard with --tls-cert and --tls-key, or leave out tls: on this machine.',
  ),
  certificate_untrusted: tlsFailed(
    'its certificate is not signed by an authority that this client trusts',
    "Give the authority's certificate as ca; if it was correct before, another server may be answering.",
  ),
  certificate_expired: tlsFailed(
    'its certificate is not valid at this time',
    "Renew the guard's certificate, or set the clock of this machine.",
  ),
  certificate_name: tlsFailed(
    'its certificate is for another name',
    'Use a name of the certificate in the address, or give it as the server name.',
  ),
  client_certificate: tlsFailed(
    'it requires a client certificate, and this client has none that it accepts',
    "Give certificate and key, signed by the authority of the guard's --client-ca.",
  ),
  stopped: away('it has stopped'),
};

/** The guard's address, as sockets need it. */
export interface Place {
  readonly path?: string;
  readonly host?: string;
  readonly port?: number;
  readonly tls?: ConnectionOptions;
}

/** Return why the guard at `place` cannot be reached; never rejects. */
export async function diagnose(place: Place): Promise<Reason> {
  const sockets: Socket[] = [];
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Reason>((resolve) => {
    timer = setTimeout(() => resolve('no_answer'), PROBE_MS);
  });
  try {
    return await Promise.race([examined(place, sockets), late]);
  } catch {
    return 'no_answer';
  } finally {
    clearTimeout(timer);
    for (const socket of sockets) socket.destroy();
  }
}

/** The outcome of a connection: `served` when the server speaks HTTP/2, as a guard does. */
type Outcome = Reason | 'served' | 'hung_up' | 'no_tls';

async function examined(place: Place, sockets: Socket[]): Promise<Reason> {
  const { tls } = place;
  const plain = () =>
    kept(connectTcp({ ...(place.path ? { path: place.path } : place), port: place.port ?? 0 }), sockets);
  const secured = (options: ConnectionOptions) =>
    kept(connectTls({ host: place.host ?? '', port: place.port ?? 0, ALPNProtocols: ['h2'], ...options }), sockets);
  let found = tls ? await greeted(secured(tls), 'secureConnect') : await greeted(plain(), 'connect');
  // A guard sends SETTINGS after the handshake unless it rejected this client's certificate.
  if (tls && found === 'hung_up') return 'client_certificate';
  if (tls && found === 'no_tls') {
    found = await greeted(plain(), 'connect');
    if (found === 'served') return 'tls_not_spoken';
  } else if (!tls && place.path === undefined && (found === 'hung_up' || found === 'not_a_guard')) {
    const overTls = await greeted(secured({ rejectUnauthorized: false }), 'secureConnect');
    if (overTls === 'served' || overTls === 'client_certificate' || overTls === 'hung_up') return 'tls_expected';
  }
  return found === 'served' || found === 'hung_up' || found === 'no_tls' ? 'closed' : found;
}

function kept<S extends Socket>(socket: S, sockets: Socket[]): S {
  sockets.push(socket);
  return socket;
}

/** Send the HTTP/2 preface once `socket` is connected, and return the outcome. */
function greeted(socket: Socket & { alpnProtocol?: string | false | null }, connected: string): Promise<Outcome> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0);
    let isConnected = false;
    socket.on('error', (failure: NodeJS.ErrnoException) => {
      const found = outcomeOf(failure);
      resolve(found === 'hung_up' && connected === 'secureConnect' && !isConnected ? 'no_tls' : found);
    });
    socket.on('close', () => resolve(connected === 'connect' || isConnected ? 'hung_up' : 'no_tls'));
    socket.on(connected, () => {
      isConnected = true;
      if (connected === 'secureConnect' && socket.alpnProtocol !== 'h2') resolve('not_a_guard');
      socket.write(PREFACE);
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < FRAME_BYTES) return;
      resolve(received[3] === SETTINGS && received.readUInt32BE(5) === 0 ? 'served' : 'not_a_guard');
    });
  });
}

const BY_CODE: { readonly [code: string]: Outcome } = {
  ECONNREFUSED: 'refused',
  ENOENT: 'no_socket',
  ENOTFOUND: 'name_unknown',
  EAI_AGAIN: 'name_unknown',
  EACCES: 'not_permitted',
  EPERM: 'not_permitted',
  ECONNRESET: 'hung_up',
  EPIPE: 'hung_up',
  EPROTO: 'no_tls',
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_name',
};
// Node's names for the errors in OpenSSL's x509_vfy.h that concern the signer.
const UNTRUSTED =
  /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_UNTRUSTED|CERT_SIGNATURE|CERT_CHAIN|INVALID_CA|CERT_REJECTED)/;

function outcomeOf({ code = '' }: NodeJS.ErrnoException): Outcome {
  if (UNTRUSTED.test(code)) return 'certificate_untrusted';
  if (/^ERR_SSL_.*ALERT/.test(code)) return 'client_certificate';
  if (code.startsWith('ERR_SSL_')) return 'no_tls';
  return BY_CODE[code] ?? 'no_answer';
}

/** Return the reason for a system error of a socket. */
export function reasonOf(failure: unknown): Reason {
  const found = outcomeOf(failure as NodeJS.ErrnoException);
  return found === 'served' || found === 'hung_up' || found === 'no_tls' ? 'closed' : found;
}
