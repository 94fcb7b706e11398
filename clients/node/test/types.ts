// Compiled and never run: code that the package's types accept or reject.
import {
  type Decision,
  DeniedError,
  type ErrorEnvelope,
  Guard,
  guarded,
  type SuccessEnvelope,
  spawn,
  toCallToolResult,
} from 'evalward';

const guard = new Guard({ address: 'tls:guard.example:7443', tls: { ca: '' }, policyDigest: '', timeoutMs: 1 });

export async function decisions(): Promise<SuccessEnvelope | ErrorEnvelope> {
  const decision: Decision = await guard.check('1', { target: 'renderer', shape: 'function', bindings: { page: 'p' } });
  // @ts-expect-error a decision cannot be turned into another
  decision.allowed = true;
  if (decision.allowed) {
    const none: null = decision.code;
    return none ?? decision.envelope;
  }
  const hint: string = decision.envelope.hint;
  return hint ? decision.envelope : (toCallToolResult(decision).structuredContent as unknown as ErrorEnvelope);
}

export async function evaluations(): Promise<string | undefined> {
  const answer = await guard.evaluate('1', { argument: [1], limits: { fuel: 1 } });
  // @ts-expect-error there is no result unless ok is true
  const early: string | undefined = answer.resultJson;
  return answer.ok ? (answer.resultJson ?? early) : answer.envelope.code;
}

export const sink = guarded((code: string, times: number) => Promise.resolve(code.length * times), spawn(), {
  target: 'main',
  shape: 'script',
});
export const length: Promise<number> = sink('1', 2);
export const denied = (failure: unknown): ErrorEnvelope | undefined =>
  failure instanceof DeniedError ? failure.envelope : undefined;

// @ts-expect-error the sink's other arguments keep their types
sink('1');
// @ts-expect-error a target is needed
guard.check('1', {});
// @ts-expect-error moon is not a target
guard.check('1', { target: 'moon' });
// @ts-expect-error a payload is a string
guard.check(Buffer.from('1'), { target: 'main' });
// @ts-expect-error without a named sink, a shape is needed
guarded(() => 1, guard, { target: 'main' });
guarded(() => 1, guard, { sink: 'playwright.evaluate' });
guard.check('1', { sink: 'selenium.execute-script', profile: 'strict' });
// @ts-expect-error a named sink defines its shape
guarded(() => 1, guard, { sink: 'playwright.evaluate', shape: 'script' });
// @ts-expect-error a named sink takes no wrapper
guarded(() => 1, guard, { sink: 'playwright.evaluate', wrap: true });
// @ts-expect-error there is no fail-open switch
new Guard({ failOpen: true });
// @ts-expect-error the sandbox runs no modules
guard.evaluate('1', { shape: 'module' });
