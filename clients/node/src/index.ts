/** Ask the Evalward sidecar before you evaluate JavaScript that an agent wrote. */

export type { BatchDecision, ItemDecision, ItemStatus } from './batch.js';
export type { CallDecision, JudgedField } from './call.js';
export type { TlsOptions } from './channel.js';
export { type AllowedDecision, type Decision, type DeniedDecision, DeniedError } from './decision.js';
export type { DenialReport } from './denied-run.js';
export type { Code, Envelope, ErrorEnvelope, Meta, Provenance, SuccessEnvelope } from './envelope.js';
export type { EvaluatedResult, Evaluation, FailedEvaluation } from './evaluation.js';
export { Guard, type GuardOptions, type Judge } from './guard.js';
export { guarded, inShape, type SinkOptions } from './guarded.js';
export { type ToolResult, toCallToolResult } from './mcp.js';
export type { Preparation } from './preparation.js';
export { type PreparablePage, prepare, type Prepared, PrepareError, type Preparer } from './prepare.js';
export type {
  CallOptions,
  CheckDetails,
  CheckOptions,
  EvaluateOptions,
  GuardLimits,
  ManyOptions,
  Payload,
  Profile,
  RunLimits,
  Shape,
  Sink,
  Target,
} from './question.js';
export { type SpawnedGuard, type SpawnOptions, spawn } from './spawn.js';
