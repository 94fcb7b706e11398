/** Answers as MCP tool results; works with every MCP library, since the result is plain data. */

import type { Envelope } from './envelope.js';

/** The part of MCP's CallToolResult that is used here. */
export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError: boolean;
  [field: string]: unknown;
}

/**
 * Return the tool result for an envelope, or for anything that holds one: a decision, an evaluation, a DeniedError.
 *
 * The envelope is the `structuredContent`; a failure's text begins with its hint and next actions, since text is
 * what a model sees, and ends with the whole envelope as JSON.
 */
export function toCallToolResult(answer: Envelope | { readonly envelope: Envelope }): ToolResult {
  const envelope = 'envelope' in answer && !('_meta' in answer) ? (answer.envelope as Envelope) : (answer as Envelope);
  const isError = envelope.ok !== true;
  const advice = isError ? [envelope.hint, ...((envelope.next_actions as string[] | undefined) ?? [])] : [];
  const text = [...advice.filter((line) => line !== undefined), JSON.stringify(envelope)].join('\n');
  return { content: [{ type: 'text', text }], structuredContent: { ...envelope }, isError };
}
