// URLs that a host opens: allowed are those of sites and files, and `data:` URLs whose content is surely inert.
import { apply, construct, createDataProperty, G, get, getPrototypeOf, isObject, ownDescriptor, StringCtor, stringIndexOf, stringSlice, TypeError } from '../natives.js';
import { isForged, shared } from '../shared.js';
import { deny } from '../membrane.js';
import { behind } from './behind.js';
import { letter, lowerCase, match } from './captured.js';
import { judgeMarkup } from './markup.js';
import { isInertType, isMarkupType } from './types.js';

const SCHEME = /^([a-z][a-z0-9+.-]*):/;
const SITE = /^(?:https?|wss?|app):/;
// A document that a browser reads by its ending, and no folder: what a payload has saved has another one (drivers.toml).
const FILE = /^file:[^?#]*[^?#\/\\.]\.(?:html?|xhtml|xml|svg|pdf|txt|json|css|png|jpe?g|gif|webp)(?:[?#]|$)/;
const BLANK = /^about:blank(?:[?#]|$)/;
// A type as the Fetch standard reads it, with no parameter that could mean another encoding.
const HEADER = /^([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)?(?:;(?:charset=(?:utf-8|us-ascii|iso-8859-1|windows-1252)|utf-?8))?(;base64)?$/;
const HEX = '0123456789abcdef';

/** `url`, if following it runs no script of the payload's. @throws a denial */
export function judgeUrl(url) {
  const bare = withoutBlanks(url);
  const lower = lowerCase(bare);
  // Without a scheme it is relative to where the host is, which a payload may have said.
  const isRelative = match(SCHEME, lower) === null;
  for (let i = 0; isRelative && i < bases.length; i++) judgeDebugger(url, bases[i]);
  if (isRelative && match(/^[\\/]{2}/, bare) !== null) judgeDebugger(bare);
  if (isRelative && apply(stringIndexOf, lower, ['127.0.0.1']) === 0) judgeDebugger('http://' + bare); // as Playwright completes it
  if (isRelative || match(FILE, lower) !== null || match(BLANK, lower) !== null) return url;
  if (match(SITE, lower) !== null) {
    judgeDebugger(url);
    return url;
  }
  if (apply(stringIndexOf, lower, ['data:']) !== 0) deny('nested-evaluation', 'the URL is no page of a site');
  const comma = apply(stringIndexOf, bare, [',']);
  const header = comma < 0 ? null : match(HEADER, apply(stringSlice, lower, [5, comma]));
  if (header === null) deny('nested-evaluation', 'the type of a data: URL');
  const content = apply(stringSlice, bare, [comma + 1]);
  const [, type, encoded] = header;
  if (type === undefined ? content === '' : isInertType(type)) return url;
  if (type === undefined || !isMarkupType(type)) deny('nested-evaluation', 'the type of a data: URL');
  if (encoded !== undefined) deny('nested-evaluation', 'the URL is an encoded document');
  judgeMarkup(unescaped(content));
  return url;
}

/** `text` as a URL parser reads it: without tabs and line ends, and without blanks around it. */
function withoutBlanks(text) {
  let out = '';
  let from = 0;
  let to = text.length;
  while (from < to && text[from] <= ' ') from++;
  while (to > from && text[to - 1] <= ' ') to--;
  for (let i = from; i < to; i++) if (text[i] !== '\t' && text[i] !== '\n' && text[i] !== '\r') out += text[i];
  return out;
}

/** `text` without its percent escapes, one character for each byte; what is no escape stays as it is. */
function unescaped(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const high = text[i] === '%' && i + 2 < text.length ? digit(text, i + 1) : -1;
    const low = high < 0 ? -1 : digit(text, i + 2);
    out += low < 0 ? text[i] : letter(16 * high + low);
    if (low >= 0) i += 2;
  }
  return out;
}

const digit = (text, at) => apply(stringIndexOf, HEX, [lowerCase(text[at])]);

const { URL: RealURL } = G;
const reader = (name, member) => (typeof G[name] === 'function' && !isForged(name) ? ownDescriptor(G[name].prototype, member)?.get : undefined);
const readHost = reader('URL', 'hostname');
const readPath = reader('URL', 'pathname');
const readUrl = reader('Request', 'url');

// What a browser's debugger answers to: it takes requests to an address or to `localhost`, under any port.
const LOCAL = /^(?:[\d.]+|\[.*\]|(?:.*\.)?localhost\.?)$/;
// Of Chromium (/json/new opens any URL), and of WebDriver (/session starts a browser, and runs scripts in it), where `wd/` may be in
// the base of a relative URL.
const DEBUGGER = /^\/+(?:json(?:\/(?:new|activate|close|version|list|protocol)(?:\/.*)?)?|devtools\/.*|(?:(?:wd\/+)?hub\/+)?sessions?(?:\/.*)?)\/*$/;
// The same names anywhere in a text that no parser can take apart.
const NAMES = /(?:^|[/\\])(?:json|devtools|sessions?)(?:[/\\?#]|$)/;

// A part of such a path, of which the rest may be in a relative URL.
const PART = /\/(?:json|devtools|sessions?|wd|hub)(?:\/|$)/;

// What an earlier program has said counts, too: its contexts are still there.
const bases = shared.bases ??= [];

/** Judge what URLs are relative to. */
export function judgeBase(text) {
  judgeDebugger(text);
  const url = readPath === undefined ? undefined : parse(text);
  if (url === undefined || match(LOCAL, apply(readHost, url, [])) === null) return;
  if (match(PART, lowerCase(apply(readPath, url, []))) !== null) deny('nested-evaluation', 'the debugger of a browser');
  createDataProperty(bases, bases.length, text);
}

/** The native's answer about `x`, undefined for what is none of its kind. */
function answer(read, x) {
  try {
    return apply(read, x, []);
  } catch (error) {
    if (getPrototypeOf(error) !== TypeError.prototype) throw error;
    return undefined;
  }
}

const isTypeError = (error) => {
  for (let q = error; isObject(q); q = getPrototypeOf(q)) if (q === TypeError.prototype) return true;
  return false;
};

const parse = (text, base = 'http://localhost/') => {
  try {
    return construct(RealURL, [text, base]);
  } catch (error) {
    if (!isTypeError(error)) throw error; // a stack overflow says nothing
    return undefined; // nobody else reads it either
  }
};

/** Deny the URL of a debugger, to which a request is a program. */
export function judgeDebugger(text, base) {
  if (readPath === undefined) { // a realm without URL, such as a context of node:vm: the names alone decide
    if (match(NAMES, lowerCase(unescaped(withoutBlanks(text)))) !== null) deny('nested-evaluation', 'the debugger of a browser');
    return;
  }
  const url = parse(text, base);
  if (url === undefined || match(LOCAL, apply(readHost, url, [])) === null) return;
  if (match(DEBUGGER, lowerCase(apply(readPath, url, []))) !== null) deny('nested-evaluation', 'the debugger of a browser');
}

/** The URL, or the request with one, that the host itself sends a request to: converted once, and judged. */
export function judgedSite(x) {
  if (x === undefined) return x;
  const facts = isObject(x) ? behind(x) : undefined;
  let url;
  if (facts !== undefined) {
    const ask = get(facts.real, 'url');
    url = typeof ask === 'function' ? apply(ask, facts.real, []) : undefined;
  } else if (isObject(x) && readUrl !== undefined) url = answer(readUrl, x);
  const site = url === undefined && facts === undefined ? StringCtor(x) : x;
  judgeDebugger(url === undefined ? StringCtor(site) : url);
  return site;
}
