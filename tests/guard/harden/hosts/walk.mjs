// Walks the live objects of real drivers and prints their members by class: {<class>: [<member>, …]}.
// The arguments are the folder with the drivers' packages and Chromium's path.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, chromium] = process.argv.slice(2);
const need = createRequire(pathToFileURL(`${folder}/package.json`));
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
const members = {};

/** Note the members of `object` under the name of each of its classes. */
function note(...objects) {
  for (const object of objects) {
    if (object === null || object === undefined) continue;
    const names = new Set();
    for (let holder = object; holder && holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
      for (const name of Object.getOwnPropertyNames(holder)) names.add(name);
    }
    const { name } = object.constructor;
    const own = (typeof name === 'string' ? name : 'By').replace(/^_/, '').replace(/\d+$/, '');
    members[own] = [...new Set([...(members[own] ?? []), ...names])];
  }
}

const PAGE = `<title>t</title><input type=file><a href="/down" download>d</a><iframe srcdoc=x></iframe>
<script>console.log(1); new Worker(URL.createObjectURL(new Blob(['1'])))</script>`;

async function playwright() {
  const { chromium: type, request, selectors } = need('playwright-core');
  const browser = await type.launch({ executablePath: chromium, args: ARGS });
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    note(type, browser, context, page, page.mainFrame(), request, selectors);
    note(page.keyboard, page.mouse, page.touchscreen, page.clock, page.coverage, page.request, context.tracing);
    note(page.localStorage, page.screencast, context.credentials);
    page.on('worker', (worker) => note(worker));
    page.on('console', (message) => note(message));
    page.on('dialog', (dialog) => { note(dialog); dialog.dismiss(); });
    page.on('websocket', (socket) => note(socket));
    await page.routeWebSocket('ws://site.test/', (socket) => note(socket));
    await context.route('http://site.test/**', async (route) => {
      note(route, route.request());
      const down = route.request().url().endsWith('/down');
      await route.fulfill({ body: down ? 'x' : PAGE, contentType: down ? 'application/zip' : 'text/html' });
    });
    note(await page.goto('http://site.test/'));
    note(page.locator('a'), page.frameLocator('iframe'), await page.$('a'), await page.evaluateHandle(() => ({ x: 1 })));
    await page.evaluate(() => { alert(1); new WebSocket('ws://site.test/'); });
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a')]);
    note(download);
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('input')]);
    note(chooser);
    const api = await request.newContext();
    note(api);
    await api.dispose();
  } finally {
    await browser.close();
  }
}

async function puppeteer() {
  const { default: driver } = await import(pathToFileURL(need.resolve('puppeteer-core')));
  const browser = await driver.launch({ executablePath: chromium, args: ARGS, headless: true });
  try {
    const page = await browser.newPage();
    note(browser, page.browserContext(), page, page.mainFrame(), page.target(), page.keyboard, page.mouse, page.touchscreen);
    note(page.coverage, page.tracing, page.accessibility, page.locator('a'), page.locator('a').map((x) => x));
    page.on('console', (message) => note(message));
    page.on('dialog', (dialog) => { note(dialog); dialog.dismiss(); });
    page.on('workercreated', (worker) => note(worker));
    await page.setRequestInterception(true);
    page.on('request', (request) => { note(request); request.respond({ body: PAGE, contentType: 'text/html' }); });
    note(await page.goto('http://site.test/'));
    note(await page.$('a'), await page.evaluateHandle(() => ({ x: 1 })));
    await page.evaluate(() => alert(1));
    const [chooser] = await Promise.all([page.waitForFileChooser(), page.click('input')]);
    note(chooser);
  } finally {
    await browser.close();
  }
}

function selenium() {
  const driver = need('selenium-webdriver');
  const classes = { ...need('selenium-webdriver/lib/webdriver'), ...need('selenium-webdriver/lib/input'), ...driver, Driver: need('selenium-webdriver/chrome').Driver };
  for (const [name, made] of Object.entries(classes)) {
    if (typeof made === 'function' && made.prototype && /^[A-Z]/.test(name)) note(made.prototype);
  }
  members.By = [...(members.By ?? []), ...Object.getOwnPropertyNames(driver.By)];
  members.until = Object.getOwnPropertyNames(driver.until);
  members.Key = Object.getOwnPropertyNames(driver.Key);
}

const drivers = { playwright, puppeteer, selenium };
for (const [name, walk] of Object.entries(drivers)) {
  const before = Object.keys(members).length;
  await walk();
  if (Object.keys(members).length === before) throw new Error(`${name} shows no classes`);
}
process.stdout.write(JSON.stringify(members));
