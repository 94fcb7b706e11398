/** The messages of `evalward.v1` as @grpc/proto-loader gives them, and the codecs that this package uses. */

import { type GrpcObject, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { fromJSON, type MessageTypeDefinition } from '@grpc/proto-loader';
import { PROTOCOL } from './generated/protocol.js';

export interface Binding {
  readonly code_hash?: string;
  /** A name of the enum, or the number of one that this version does not know. */
  readonly target?: string | number;
  readonly shape?: string | number;
  readonly policy_digest?: string;
  readonly decision_id?: string;
  readonly profile?: string | number;
  readonly request_id?: string;
}

export interface WireError {
  readonly code?: string;
}

export interface ValidateRequest {
  readonly code: Buffer;
  readonly target: string;
  readonly shape?: string;
  readonly profile?: string;
  readonly bindings: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, number>>;
  readonly session_id: string;
  readonly request_id: string;
  readonly include_context: boolean;
}

export interface ValidateResponse {
  readonly binding?: Binding;
  readonly outcome?: string;
  readonly allowed?: { readonly would_block?: readonly string[] };
  readonly error?: WireError;
  readonly envelope?: Buffer;
}

export interface EvaluateRequest {
  readonly code: Buffer;
  readonly shape?: string;
  readonly argument_json: Buffer;
  readonly limits?: Readonly<Record<string, number>>;
  readonly guard_limits?: Readonly<Record<string, number>>;
  readonly profile?: string;
  readonly seed?: number;
  readonly session_id: string;
  readonly request_id: string;
}

/** 64-bit numbers arrive as decimal strings. */
export interface Usage {
  readonly fuel?: string;
  readonly memory_bytes?: string;
  readonly elapsed_us?: string;
}

export interface EvaluateResponse {
  readonly binding?: Binding;
  readonly outcome?: string;
  readonly allowed?: { readonly result_json?: Buffer };
  readonly error?: WireError;
  readonly envelope?: Buffer;
  readonly usage?: Usage;
}

interface Status {
  readonly details?: readonly { readonly type_url?: string; readonly value?: Buffer }[];
}

// What is unset stays undefined: a default must never look like an answer.
const definition = fromJSON(PROTOCOL, {
  keepCase: true,
  oneofs: true,
  longs: String,
  enums: String,
});

const service = (loadPackageDefinition(definition) as { evalward: { v1: GrpcObject } }).evalward.v1.GuardService;

export const GuardService = service as ServiceClientConstructor;

const status = definition['evalward.wire.Status'] as MessageTypeDefinition<unknown, Status>;
const carrier = definition['evalward.v1.ErrorEnvelope'] as MessageTypeDefinition<
  unknown,
  { readonly envelope?: Buffer }
>;

/** Return the envelope among the details of a serialised google.rpc.Status; throw when it does not parse. */
export function attachedEnvelope(serialised: Buffer): Buffer | undefined {
  const details = status.deserialize(serialised).details ?? [];
  const detail = details.find(({ type_url }) => type_url?.endsWith('/evalward.v1.ErrorEnvelope'));
  return detail && (carrier.deserialize(detail.value ?? Buffer.alloc(0)).envelope ?? Buffer.alloc(0));
}
