// Runs driver code against real browsers, one payload after another. A line of standard input is a request
// {driver, body, alone}; a line of standard output is its answer {result} or {name, message}, or {ready: true} at the start.
// `body` is the body of an async function, which may use SITE, the URL of a server. Playwright gives it a page of its own,
// and a browser context of its own if it is `alone`: a context costs twice as much as a page. The arguments are the paths of Chromium and of ChromeDriver.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import vm from 'node:vm';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { Builder, By, until } from 'selenium-webdriver';
import * as chrome from 'selenium-webdriver/chrome.js';

const [executablePath, chromedriver] = process.argv.slice(2);
const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
const CONTENT = '<title>T</title><h1 id=x>Hello</h1><ul><li>a<li>b</ul><input id=i value=v><a href=/path>link</a>';
// What a site says: a page with a script of its own, `/echo?`, which answers with the text that it is asked for, and
// `/typing`, a page with an empty script.
const server = createServer((request, response) => {
  const { url } = request;
  const isScript = url.endsWith('.js');
  const type = url.startsWith('/echo?') ? 'text/plain' : isScript ? 'text/javascript' : 'text/html';
  response.writeHead(200, { 'content-type': type });
  if (url.startsWith('/echo?')) response.end(decodeURIComponent(url.slice(6)));
  else if (url === '/typing') response.end(`${CONTENT}<script id=empty></script>`);
  else response.end(isScript ? 'window.app = 1' : `${CONTENT}<script src=/app.js></script>`);
}).listen(0);
await new Promise((done) => { server.on('listening', done); });
const SITE = `http://127.0.0.1:${server.address().port}/`;
const AsyncFunction = (async () => {}).constructor;
const started = new Set();
const once = (make) => {
  let made;
  return () => {
    if (made === undefined) started.add((made = make()));
    return made;
  };
};
const playwright = once(() => chromium.launch({ executablePath, args }));
// Its first page stays, so that the window of the other pages does. The browser closes it.
let sharedContext;
async function shared() {
  if (sharedContext === undefined) {
    sharedContext = await (await playwright()).newContext();
    await sharedContext.newPage();
  }
  return sharedContext;
}
const launched = once(() => puppeteer.launch({ executablePath, args, headless: true }));
const selenium = once(() => {
  const options = new chrome.Options().setChromeBinaryPath(executablePath).addArguments('--headless=new', ...args);
  return new Builder().forBrowser('chrome').setChromeOptions(options).setChromeService(new chrome.ServiceBuilder(chromedriver)).build();
});

/** Close the pages of a program in the shared context, and take away the cookies. */
async function cleared(context) {
  for (const page of context.pages().slice(1)) await page.close();
  await context.clearCookies();
}

// As Playwright's: the text of the function runs in the main process, here a context of `vm` with a module `electron`.
class JSHandle {
  constructor(realm, value) { Object.assign(this, { _realm: realm, _value: value }); }
  async evaluate(fn, arg) { return structuredClone(await this._realm(String(fn))(this._value, arg)); }
  async evaluateHandle(fn, arg) { return new JSHandle(this._realm, await this._realm(String(fn))(this._value, arg)); }
  async jsonValue() { return structuredClone(this._value); }
}

class ElectronApplication extends JSHandle {
  async browserWindow() { return new JSHandle(this._realm, this._value.BrowserWindow.getAllWindows()[0]); }
  async firstWindow() {
    const context = vm.createContext({ document: { title: 'window' } });
    return new JSHandle((text) => vm.runInContext(`(${text})`, context), 'window');
  }
}

function application() {
  const context = vm.createContext({ console, setTimeout, process: { versions: { node: '20.0.0' }, platform: 'linux', exit: () => { context.exited = true; } } });
  const electron = vm.runInContext(`
    class App { getName() { return 'app' } getVersion() { return '1.0' } exit() { globalThis.exited = true } }
    class BrowserWindow { static getAllWindows() { return [new BrowserWindow()] } getTitle() { return 'window' } isVisible() { return true } }
    class MenuItem { constructor({ role }) { this.role = role.toLowerCase() } click() { if (this.role === 'quit') globalThis.exited = true } }
    ({ app: new App(), BrowserWindow, MenuItem, shell: { openExternal() { globalThis.exited = true } } })`, context);
  return { app: new ElectronApplication((text) => vm.runInContext(`(${text})`, context), electron), context };
}

const DRIVERS = {
  async playwright(body, alone) {
    const context = alone ? await (await playwright()).newContext() : await shared();
    const page = await context.newPage();
    await page.setContent(CONTENT);
    // What a page may hold: a function that leads further than it seems.
    await page.evaluate(() => { window.made = { get it() { return (() => 1).constructor; } }; });
    try {
      return await new AsyncFunction('page', 'context', 'browser', 'SITE', body)(page, context, await playwright(), SITE);
    } finally {
      for (const each of (await playwright()).contexts()) await (each === sharedContext ? cleared(each) : each.close());
    }
  },
  async puppeteer(body) {
    const page = await (await launched()).newPage();
    await page.setContent(CONTENT);
    try {
      return await new AsyncFunction('page', 'SITE', body)(page, SITE);
    } finally {
      await page.close();
    }
  },
  async selenium(body) {
    const driver = await selenium();
    await driver.get(`data:text/html,${CONTENT}`);
    // A block, in which a program may declare these names itself.
    return new AsyncFunction('driver', 'By', 'until', 'SITE', `{${body}\n}`)(driver, By, until, SITE);
  },
  async electron(body) {
    const { app, context } = application();
    const result = await new AsyncFunction('electronApp', body)(app);
    if (context.exited) throw new Error('the application has ended');
    return result;
  },
};

// A denial ends the program; a callback that a driver waits for rejects with it, and the program has reported it.
process.on('unhandledRejection', () => {});
const write = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
write({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const { driver, body, alone } = JSON.parse(line);
  try {
    write({ result: (await DRIVERS[driver](body, alone)) ?? null });
  } catch (error) {
    write({ name: error?.name ?? 'none', message: String(error?.message ?? error) });
  }
}
const opened = await Promise.all(started);
await Promise.all(opened.map((each) => (each.quit ? each.quit() : each.close())));
server.close();
