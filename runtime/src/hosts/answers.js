// What a payload answers to a page's requests, or makes of them. An answer is what the page would run, so that its type has to be
// one that runs nothing, or markup that is judged; and no script or document comes from another URL than the page has asked for.
import { apply, create, createDataProperty, get, isArray, isObject, ownKeys, stringIndexOf, stringSlice, StringCtor } from '../natives.js';
import { deny, v } from '../membrane.js';
import { behind } from './behind.js';
import { copyOfBytes, dataOfText, isJson, lowerCase, match, textOfData } from './captured.js';
import { bytesAsText, judgeMarkup, judgeSheet } from './markup.js';
import { isPlain } from './results.js';
import { spread } from './tables.js';
import { isInertType, isMarkupType } from './types.js';
import { judgeDebugger } from './urls.js';

const TOKEN = /^[!#$%&'*+.^_`|~a-z0-9-]+$/;
const CHARSET = /^[^;]*(?:;\s*charset\s*=\s*"?(?:utf-?8|us-ascii|iso-8859-1|windows-1252)"?)?\s*;?\s*$/;
// Files whose type the driver takes from their name, as one that runs nothing.
const FILE = /\.(?:json|css|csv|txt|png|jpe?g|gif|webp|avif|ico|bmp|woff2?|ttf|otf|mp[34]|webm|ogg|wav)$/;
// Headers by which a browser goes elsewhere, or reads the body in another way.
const MOVING = spread(
  'location refresh link content-encoding content-location transfer-encoding service-worker-allowed speculation-rules sourcemap '
  + 'x-sourcemap use-as-dictionary supports-loading-mode origin-trial x-content-type-options',
  true, create(null),
);
// What a page asks for and does not run. A style sheet makes a script editable, into which a driver types.
const DATA = spread('fetch xhr image media font ping websocket eventsource texttrack', true, create(null));

const refuse = () => deny('nested-evaluation', 'the answer to a request may be run by the page');

/** What the host's object says when it is asked by the method `name`. */
const ask = (object, name) => {
  const method = get(object, name);
  return typeof method === 'function' ? apply(method, object, []) : undefined;
};

/** The request that is answered: a route has one, and some drivers' requests are answered themselves. */
const requestOf = (real) => (typeof get(real, 'request') === 'function' ? ask(real, 'request') : real);

const withoutFragment = (url) => {
  const at = apply(stringIndexOf, url, ['#']);
  return at < 0 ? url : apply(stringSlice, url, [0, at]);
};

/** What a page asks for. A service worker fetches what the page has asked it for, which may be anything. */
const purposeOf = (request) => (isObject(ask(request, 'serviceWorker')) ? 'other' : ask(request, 'resourceType'));

/** Whether the page may run what it gets for the request. */
const mayRun = (request) => {
  const purpose = purposeOf(request);
  return DATA[purpose] !== true && purpose !== 'document';
};

/**
 * The options of an answer to `real` as the host gets them: a copy in the same order, with what was judged.
 * @param {unknown} options a copy of the payload's options
 */
export function judgedAnswer(options, real) {
  if (!isObject(options)) return options;
  if (!isPlain(options) || isArray(options)) deny('nested-evaluation', 'an answer is no plain data');
  const given = get(options, 'response');
  const response = isObject(given) ? describe(given, real) : undefined;
  const body = bodyOf(options);
  const file = get(options, 'path');
  const isOriginal = response !== undefined && body === undefined && file === undefined;
  if (isOriginal && !response.isSame) refuse();
  const headers = headersOf(get(options, 'headers'), response);
  const type = typeOf(options, headers, response);
  const changed = create(null);
  if (file !== undefined) {
    if (typeof file !== 'string' || match(FILE, lowerCase(file)) === null || type !== undefined && !isInertType(essence(type))) refuse();
  } else if (isOriginal) {
    // The site's own answer, under its own type or one that runs nothing.
    if (type !== response.type && (type === undefined || !isInertType(essence(type)))) refuse();
    if (type !== undefined) changed.contentType = type;
  } else if (body !== undefined && body.text !== '') {
    judgeContent(body.text, type === undefined ? '' : essence(type), type === undefined);
    if (get(options, 'json') === undefined) changed.body = body.value;
    // The driver converts it again. What is JSON all the same needs no second look.
    else if (!isInertType(essence(type))) changed.json = dataOfText(body.text);
  }
  // Nothing but a script is run as a script then.
  const isCode = file !== undefined || isOriginal && type !== response.type || body !== undefined && body.text !== '' && !isJson(body.text);
  const isRun = isCode && mayRun(requestOf(real));
  if (isRun) {
    if (type === undefined && body !== undefined) changed.contentType = match(/^\s*</, body.text) === null ? 'text/plain' : 'text/html';
    createDataProperty(headers, 'x-content-type-options', 'nosniff');
  }
  if (isRun || get(options, 'headers') !== undefined || isOriginal) changed.headers = headers;
  return withChanges(options, changed);
}

const KNOWN = ['response', 'status', 'headers', 'contentType', 'body', 'json', 'path'];

/** A copy of the options that a driver knows, with other values for those in `changed`. */
function withChanges(options, changed) {
  const made = {};
  const keys = ownKeys(options);
  for (let i = 0; i < keys.length; i++) {
    for (let j = 0; j < KNOWN.length; j++) {
      if (keys[i] === KNOWN[j]) createDataProperty(made, keys[i], changed[keys[i]] === undefined ? plainOption(keys[i], options) : changed[keys[i]]);
    }
  }
  for (const key in changed) createDataProperty(made, key, changed[key]);
  return made;
}

const plainOption = (key, options) => {
  const value = get(options, key);
  return key === 'response' || key === 'headers' || key === 'json' ? value : plainValue(value);
};

/** An answer of the site's, with its type and headers, and whether it is the one to the same request. */
function describe(response, real) {
  const facts = behind(v(response));
  if (facts === undefined || facts.table.path !== 'playwright.response') refuse();
  const headers = ask(response, 'headers');
  const isSame = withoutFragment(ask(response, 'url')) === withoutFragment(ask(requestOf(real), 'url'));
  return { __proto__: null, headers, type: get(headers, 'content-type'), isSame };
}

const plainValue = (x) => (isObject(x) || typeof x === 'symbol' ? refuse() : x);

/** A copy of the headers with names in lower case and texts as values; those of the site's answer where none are given. */
function headersOf(given, response) {
  const made = {};
  const from = given === undefined && response !== undefined ? response.headers : given;
  if (from === undefined || from === null) return made;
  if (!isObject(from) || !isPlain(from)) return given === undefined ? made : refuse();
  const names = ownKeys(from);
  for (let i = 0; i < names.length; i++) {
    const name = lowerCase(names[i]);
    if (match(TOKEN, name) === null) refuse();
    const value = valueOfHeader(get(from, names[i]));
    if (MOVING[name] === true && !(response !== undefined && response.isSame && get(response.headers, name) === value)) refuse();
    createDataProperty(made, name, value);
  }
  return made;
}

function valueOfHeader(value) {
  if (!isArray(value)) return StringCtor(plainValue(value));
  const list = [];
  for (let i = 0; i < value.length; i++) createDataProperty(list, i, StringCtor(plainValue(value[i])));
  return list;
}

/** The body as the host gets it, and as text to judge; undefined where there is none. */
function bodyOf(options) {
  const json = get(options, 'json');
  const body = json === undefined ? get(options, 'body') : textOfData(json);
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return { __proto__: null, value: body, text: body };
  const copy = isObject(body) ? copyOfBytes(body) : undefined;
  if (copy === undefined) refuse();
  return { __proto__: null, value: copy, text: bytesAsText(copy) };
}

/** The type that the answer says it has. */
function typeOf(options, headers, response) {
  const said = get(options, 'contentType');
  if (said !== undefined) return typeof said === 'string' ? said : refuse();
  if (get(options, 'json') !== undefined) return 'application/json';
  const listed = get(headers, 'content-type');
  if (listed === undefined && response !== undefined) return response.type;
  return listed === undefined || typeof listed === 'string' ? listed : refuse();
}

/** A type without its parameters; '' where it says an encoding that hides markup. */
function essence(type) {
  const lower = lowerCase(type);
  const found = match(/^\s*([^\s;,]+)\s*(?:;|$)/, lower);
  return found === null || match(CHARSET, lower) === null ? '' : found[1];
}

/** Deny a body that runs something; without a type a browser may take it for markup. */
function judgeContent(text, type, isUntyped) {
  if (type === 'text/css') judgeSheet(text);
  if (!isUntyped && isInertType(type)) return;
  if (!isUntyped && !isMarkupType(type)) refuse();
  judgeMarkup(text);
}

/** What an intercepted request becomes: only what is no script or document may come from elsewhere, or be asked for by the host. */
export function judgedRequest(options, real, isAsked) {
  if (!isObject(options)) return options;
  if (!isPlain(options) || isArray(options)) deny('nested-evaluation', 'the request is no plain data');
  const given = get(options, 'url');
  const request = requestOf(real);
  const url = given === undefined || given === null ? ask(request, 'url') : given;
  if (typeof url !== 'string') refuse();
  judgeDebugger(url);
  if (!isAsked && url !== ask(request, 'url') && DATA[purposeOf(request)] !== true) refuse();
  return options;
}
