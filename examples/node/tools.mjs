// The tools of both servers: one evaluates in a page, one in the service's sandbox. The guard judges both.
import { readFileSync } from 'node:fs';
import { DeniedError, Guard, guarded, spawn, toCallToolResult } from 'evalward';
import * as z from 'zod';
import { evaluator, openBrowser, PageError } from './browser.mjs';

/** @typedef {import('evalward').ToolResult} ToolResult */

// The tools' descriptions, from manifest.yaml, with every code that a call can return (`npm run describe`).
const { tools } = JSON.parse(readFileSync(new URL('tools.json', import.meta.url), 'utf8'));
const descriptions = Object.fromEntries(tools.map(({ name, description }) => [name, description]));

/** Return the guard at EVALWARD_ADDRESS, or start one that ends with this process. */
async function openGuard() {
  const patience = { timeoutMs: 5_000 }; // an agent can wait longer than the default, a quarter of a second
  if (process.env.EVALWARD_ADDRESS) return new Guard(patience);
  const guard = spawn({ allowEval: ['renderer', 'sandbox'], ...patience });
  await guard.ready();
  return guard;
}

/** Return the tools, and a function that closes browser and guard. */
export async function openTools() {
  const [guard, browser] = await Promise.all([openGuard(), openBrowser()]);
  const evaluate = await evaluator(browser);
  const evaluateInPage = guarded(evaluate, guard, { sink: 'cdp.runtime-evaluate' });

  return {
    evalRenderer: {
      name: 'eval_renderer',
      description: descriptions.eval_renderer,
      input: z.object({ code: z.string() }),
      call: (/** @type {{ code: string }} */ { code }) => answered(async () => valueResult(await evaluateInPage(code))),
    },
    evalSandbox: {
      name: 'eval_sandbox',
      description: descriptions.eval_sandbox,
      input: z.object({ code: z.string(), argument: z.json().optional().describe('What a function is called with.') }),
      call: (/** @type {{ code: string, argument?: unknown }} */ { code, argument }) =>
        answered(async () => toCallToolResult(await guard.evaluate(code, { argument }))),
    },
    async close() {
      await Promise.all([process.env.CHROMIUM_ENDPOINT ? browser.disconnect() : browser.close(), guard.close()]);
    },
  };
}

/** @returns {ToolResult} */
function valueResult(value) {
  return {
    content: [{ type: 'text', text: JSON.stringify(value) }],
    structuredContent: { ok: true, value },
    isError: false,
  };
}

/** Return the result of `run`; its exceptions become results, too. */
async function answered(run) {
  try {
    return await run();
  } catch (failure) {
    if (failure instanceof DeniedError) return toCallToolResult(failure);
    const text = failure instanceof PageError ? failure.message : 'The page could not be asked.';
    return {
      content: [{ type: /** @type {const} */ ('text'), text }],
      structuredContent: { ok: false },
      isError: true,
    };
  }
}
