/** The messages of `evalward.v1` as @grpc/proto-loader gives them, and the codecs that this package uses. */

import { type GrpcObject, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { fromJSON, type MessageTypeDefinition } from '@grpc/proto-loader';
import { Unproven } from './envelope.js';
import { PROTOCOL } from './generated/protocol.js';

/** Whether an ALLOW carries a hardened program; unset: the policy decides. */
export type Harden = 'HARDEN_OFF' | 'HARDEN_REQUIRED';

export interface Binding {
  readonly code_hash?: string;
  /** A name of the enum, or the number of one that this version does not know. */
  readonly target?: string | number;
  readonly shape?: string | number;
  readonly policy_digest?: string;
  readonly decision_id?: string;
  readonly profile?: string | number;
  readonly request_id?: string;
  readonly sink?: string;
  readonly hardened_hash?: string;
}

export interface HardenedProgram {
  readonly program?: Buffer;
  readonly sha256?: string;
  readonly shape?: string | number;
  readonly sink?: string;
  readonly runtime?: string;
}

export interface WireError {
  readonly code?: string;
  readonly number?: number;
  readonly domain?: string;
  readonly category?: string;
  readonly cause?: string;
  readonly http?: number;
  readonly retryable?: boolean;
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
  readonly sink: string;
  readonly harden?: Harden;
  readonly prepared?: string;
}

export interface ValidateResponse {
  readonly binding?: Binding;
  readonly outcome?: string;
  readonly allowed?: { readonly would_block?: readonly string[]; readonly hardened?: HardenedProgram };
  readonly error?: WireError;
  readonly envelope?: Buffer;
}

export interface CallRequest {
  readonly tool: string;
  readonly arguments_json: Buffer;
  readonly profile?: string;
  readonly limits?: Readonly<Record<string, number>>;
  readonly session_id: string;
  readonly request_id: string;
  readonly include_context: boolean;
  readonly judged_fields_only: boolean;
  readonly harden?: Harden;
  readonly prepared?: string;
}

export interface WireField {
  readonly path?: string;
  readonly sha256?: string;
  readonly kind?: string;
  readonly sink?: string;
  readonly hardened?: HardenedProgram;
}

export interface CallResponse extends ValidateResponse {
  readonly tool?: string;
  readonly fields?: readonly WireField[];
}

export interface BatchRequest {
  readonly items: readonly ValidateRequest[];
  readonly stop_on_first: boolean;
  readonly session_id: string;
  readonly request_id: string;
}

export interface BatchResponse extends Omit<ValidateResponse, 'binding'> {
  readonly item_count?: number;
  readonly failures?: readonly ItemFailure[];
  readonly bindings?: readonly Binding[];
  readonly hardened?: readonly { readonly item_index?: number; readonly hardened?: HardenedProgram }[];
}

export interface ItemFailure {
  readonly item_index?: number;
  readonly status?: string | number;
  readonly error?: WireError;
  readonly envelope?: Buffer;
}

export interface StreamRequest {
  readonly item: ValidateRequest;
  readonly stop_on_first: boolean;
}

export interface StreamResponse extends ValidateResponse {
  readonly item_index?: number;
  readonly status?: string | number;
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
  readonly harden?: Harden;
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

export interface ReportResponse {
  readonly outcome?: string;
  readonly reported?: object;
  readonly error?: WireError;
  readonly envelope?: Buffer;
}

export interface PrepareResponse {
  readonly outcome?: string;
  readonly prepared?: { readonly script?: string; readonly key?: string; readonly version?: string };
  readonly error?: WireError;
  readonly envelope?: Buffer;
}

interface Status {
  readonly details?: readonly { readonly type_url?: string; readonly value?: Buffer }[];
}

// Unset fields stay undefined, so that a default is never read as an answer.
const definition = fromJSON(PROTOCOL, {
  keepCase: true,
  oneofs: true,
  longs: String,
  enums: String,
});

const service = (loadPackageDefinition(definition) as { evalward: { v1: GrpcObject } }).evalward.v1.GuardService;

export const GuardService = service as ServiceClientConstructor;

/** The RPCs that this package calls. */
export type Method =
  'Validate' | 'ValidateCall' | 'ValidateBatch' | 'ValidateStream' | 'Evaluate' | 'ReportDenial' | 'PrepareRuntime';

export interface Codec {
  readonly path: string;
  readonly requestSerialize: (request: object) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => unknown;
}

/** Return the path and the codecs of `method`; signatures cover the bytes of the messages. */
export function codecOf(method: Method): Codec {
  return GuardService.service[method] as unknown as Codec;
}

/** Return the message in `bytes`; throw Unproven when it is not one. */
export function parsed({ responseDeserialize }: Codec, bytes: Buffer): unknown {
  try {
    return responseDeserialize(bytes);
  } catch {
    throw new Unproven('it is not a message of the protocol');
  }
}

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
