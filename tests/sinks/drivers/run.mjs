// Runs texts through real drivers, and through what the sinks' data say of them; prints which texts ran their P.
// The argument names a file: {chromium, chromedriver, sinks: [{id, texts: [{code, readings: [{source, frame, called}]}]}]}.
// Standard output: {<sink>: {ran: [bool], said: [bool]}}.
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { Builder } from 'selenium-webdriver';
import * as chrome from 'selenium-webdriver/chrome.js';

const asked = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
// One realm per text, since declarations of one would be in the way of the next.
const PAGE = `data:text/html,<body>${'<iframe></iframe>'.repeat(Math.max(1, ...asked.sinks.map(({ texts }) => texts.length)))}`;
const settled = () => new Promise((done) => setTimeout(done, 0));
const quietly = async (step) => {
  try {
    return await step();
  } catch {
    return undefined; // errors of the text are ignored
  }
};
// A promise that never settles must not hold the driver.
const briefly = (step) => Promise.race([quietly(step), new Promise((done) => setTimeout(done, 400))]);

// What a text is given, and how: each takes a frame that has just been loaded.
const PLAYWRIGHT = {
  'playwright.evaluate-function': (frame, code) =>
    frame.evaluate(Object.assign(() => undefined, { toString: () => code })),
  // playwright-core/src/tools/backend/evaluate.ts
  'playwright-mcp.evaluate': (frame, code) =>
    frame.evaluate(async (expr) => {
      const value = eval(`(${expr})`);
      const isFunction = typeof value === 'function';
      return { result: await (isFunction ? value() : value), isFunction };
    }, code),
};
const PUPPETEER = {
  'puppeteer.evaluate': (frame, code) => frame.evaluate(code),
  // puppeteer-mcp-server/src/tools/handlers.ts
  'puppeteer-mcp-server.evaluate': (frame, code) =>
    frame.evaluate(`(async () => {
          try {
            const result = (function() { ${code} })();
            return result;
          } catch (e) {
            console.error('Script execution error:', e.message);
            return { error: e.message };
          }
        })()`),
  // chrome-devtools-mcp/src/tools/script.ts, in both its formats
  'chrome-devtools-mcp.evaluate-script': async (frame, code) => {
    await quietly(async () => {
      const fn = await frame.evaluateHandle(`(\n${code.trimEnd().replace(/;$/, '')}\n)`);
      await frame.evaluate(async (fn, ...args) => JSON.stringify(await fn(...args)), fn);
    });
    await quietly(() => frame.evaluateHandle(code));
  },
  // seleniumbase/core/sb_cdp.py, evaluate
  'seleniumbase-mcp.run-javascript': (frame, code, cdp, contextId) => {
    const lines = code.trim().split('\n');
    const last = lines.pop();
    const expression = last.trim().startsWith('return ') ? [...lines, last.trim().slice('return '.length)].join('\n').trim() : code.trim();
    return cdp.send('Runtime.evaluate', { contextId, expression });
  },
  'cdp.runtime-evaluate': (frame, code, cdp, contextId) => cdp.send('Runtime.evaluate', { contextId, expression: code, awaitPromise: true }),
  'cdp.runtime-evaluate-repl': (frame, code, cdp, contextId) =>
    cdp.send('Runtime.evaluate', { contextId, expression: code, replMode: true, awaitPromise: true }),
  'cdp.call-function-on': async (frame, code, cdp, contextId) => {
    const { result } = await cdp.send('Runtime.evaluate', { contextId, expression: 'document.body' });
    await cdp.send('Runtime.callFunctionOn', { functionDeclaration: code, objectId: result.objectId, awaitPromise: true });
  },
};
const NODE = {
  'node.vm': (code, context) => vm.runInContext(code, context),
  'node.async-function': (code, context) => vm.runInContext('(async () => {}).constructor', context)(code)(),
  'node.function': (code, context) => vm.runInContext('Function', context)(code)(),
  // playwright-core/src/tools/backend/runCode.ts
  'playwright.run-code': async (code, context) => {
    context.page = {};
    context.__fn__ = vm.runInContext(`(${code})`, context);
    await vm.runInContext('(async () => {\n  try {\n    await __fn__(page);\n  } catch (e) {\n  }\n})()', context);
  },
  // @electron-stagewright/core/src/transports/playwright-electron.ts
  'electron-stagewright.main': (body, context) =>
    vm.runInContext('Function', context)(
      'electronApp',
      'arg',
      `"use strict"; return (async () => { ${body} })()`,
    )({}, undefined),
  'electron-stagewright.renderer': (body, context) =>
    vm.runInContext('Function', context)('arg', `"use strict"; return (async () => { ${body} })()`)(undefined),
};

async function inNode(step) {
  const context = vm.createContext({ setTimeout });
  await briefly(() => step(context));
  await settled();
  return context.ran !== undefined;
}

async function saidInNode(readings) {
  for (const { source, called } of readings) {
    const ran = await inNode(async (context) => {
      const value = vm.runInContext(source, context);
      // Every driver may wait for the value and serialise it.
      JSON.stringify(await (called && typeof value === 'function' ? value({}) : value));
    });
    if (ran) return true;
  }
  return false;
}

const found = {};
const bodies = { ran: [], said: [] };
const of = (id) => asked.sinks.find((sink) => sink.id === id)?.texts ?? [];
const note = (id) => (found[id] ??= structuredClone(bodies));

// V8 is V8: what the data say is run in contexts of Node, but for the REPL, which only an inspector has.
for (const { id, texts } of asked.sinks) {
  for (const { readings } of texts) note(id).said.push(await saidInNode(readings));
}

for (const [id, step] of Object.entries(NODE)) {
  for (const { code } of of(id)) note(id).ran.push(await inNode((context) => step(code, context)));
}

const settle = (page) => page.waitForFunction(() => new Promise((done) => setTimeout(() => done(true), 50)));
const marks = (page) => page.evaluate(() => Array.from(window.frames, (frame) => frame.ran !== undefined));

const launched = await puppeteer.launch({ executablePath: asked.chromium, args: ARGS, headless: true });
try {
  for (const [id, step] of Object.entries(PUPPETEER)) {
    const page = await launched.newPage();
    await page.goto(PAGE);
    const cdp = await page.createCDPSession();
    const contexts = new Map();
    cdp.on('Runtime.executionContextCreated', ({ context }) => {
      if (context.auxData.isDefault) contexts.set(context.auxData.frameId, context.id);
    });
    await cdp.send('Runtime.enable');
    const frames = page.mainFrame().childFrames();
    await Promise.all(
      of(id).map(({ code }, index) => briefly(() => step(frames[index], code, cdp, contexts.get(frames[index]._id)))),
    );
    await settle(page);
    note(id).ran.push(...(await marks(page)).slice(0, of(id).length));
    await page.close();
  }
} finally {
  await launched.close();
}

const browser = await chromium.launch({ executablePath: asked.chromium, args: ARGS });
try {
  for (const [id, step] of Object.entries(PLAYWRIGHT)) {
    const page = await browser.newPage();
    await page.goto(PAGE);
    const frames = page.mainFrame().childFrames();
    await Promise.all(of(id).map(({ code }, index) => briefly(() => step(frames[index], code))));
    await settle(page);
    note(id).ran.push(...(await marks(page)).slice(0, of(id).length));
    await page.close();
  }
} finally {
  await browser.close();
}

if (of('selenium.execute-script').length > 0) {
  const options = new chrome.Options().setChromeBinaryPath(asked.chromium).addArguments('--headless=new', ...ARGS);
  const service = new chrome.ServiceBuilder(asked.chromedriver);
  const driver = await new Builder().forBrowser('chrome').setChromeOptions(options).setChromeService(service).build();
  try {
    for (const id of ['selenium.execute-script', 'selenium.execute-async-script']) {
      await driver.get(PAGE);
      for (const [index, { code }] of of(id).entries()) {
        // Most texts never call the callback of the asynchronous form; one that should run has the time for it.
        const patience = note(id).said[index] ? 1_000 : 100;
        await driver.manage().setTimeouts({ script: id.includes('async') ? patience : 5_000 });
        await driver.switchTo().defaultContent();
        await driver.switchTo().frame(index);
        await quietly(() => (id.includes('async') ? driver.executeAsyncScript(code) : driver.executeScript(code)));
      }
      await driver.switchTo().defaultContent();
      const ran = await driver.executeScript('return Array.from(frames, (frame) => frame.ran !== undefined)');
      note(id).ran.push(...ran.slice(0, of(id).length));
    }
  } finally {
    await driver.quit();
  }
}

process.stdout.write(JSON.stringify(found));
