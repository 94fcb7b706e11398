/** URLs: judged as the engine's own parser reads them, against a list of schemes for each use. */
import { apply, construct, G, getPrototypeOf, regexpExec, TypeError } from '../natives.js';
import { deny } from '../denial.js';
import { readLocation, readPath, readProtocol, RealURL } from './captured.js';
import { judgeLinked } from './debugger.js';
import { includes, lower } from './text.js';
import { words } from './words.js';

const ParseError = TypeError.prototype;

const EVERYWHERE = words('http: https: about:');
const LINKS = words('mailto: tel: sms: ftp: blob:');

/** What a `data:` URL may hold where it may become a document: nothing that an engine renders as markup. */
const DATA_TYPES = words(
  'text/plain text/csv text/markdown text/calendar text/vcard application/json application/octet-stream ' +
  'application/zip application/gzip image/png image/jpeg image/gif image/webp image/avif image/bmp image/x-icon ' +
  'audio/mpeg audio/wav audio/ogg audio/webm video/mp4 video/webm video/ogg font/woff font/woff2 text/css',
);

const parse = (text) => {
  try {
    return construct(RealURL, [text, 'http://relative/']);
  } catch (error) {
    if (getPrototypeOf(error) !== ParseError) throw error;
    return null; // the engine does not read it either
  }
};

const homeUrl = readLocation === undefined || readProtocol === undefined ? null : parse(`${apply(readLocation, G, [])}`);
const homeScheme = homeUrl === null ? '' : apply(readProtocol, homeUrl, []);
const EXECUTABLE = words('javascript: vbscript: data: blob: filesystem: about:');

// `token/token`, and parameters of tokens: engines disagree about anything else, and take the last of several types for one.
const TYPE = /^[a-z\d!#$&^_.+-]+\/[a-z\d!#$&^_.+-]+(?= *(?:; *[a-z\d_.+-]+=[a-z\d_.+-]+ *)*$)/;

/** The media type in a text, without its parameters; '' where there is none, '*' where it cannot be told. */
export const essence = (type) => {
  if (type === '') return '';
  const found = apply(regexpExec, TYPE, [lower(type)]);
  return found === null ? '*' : found[0];
};

/** The media type of a `data:` URL's path, without its parameters: it ends at the first comma. */
const essenceOfData = (path) => {
  let end = 0;
  while (end < path.length && path[end] !== ';' && path[end] !== ',') end++;
  let out = '';
  for (let i = 0; i < end; i++) if (path[i] > ' ') out += path[i];
  return lower(out);
};

/** Whether a document of this media type cannot run script. */
export const isPassive = (type) => type === '' || DATA_TYPES[type] === true;

/** Whether content of this media type is a picture, sound or film, and no document. */
export const isMedia = (type) => {
  if (includes(type, 'xml') || includes(type, 'html')) return false;
  const kind = type.length > 6 ? type[0] + type[1] + type[2] + type[3] + type[4] + type[5] : '';
  return kind === 'image/' || kind === 'audio/' || kind === 'video/';
};

/** The scheme as the URL Standard (§4.4, basic URL parser) reads it, where the engine has no parser; 'http:' for a relative URL. */
const readScheme = (text) => {
  let scheme = '';
  for (let i = 0; i < text.length; i++) {
    const letter = text[i];
    if (letter === ':' && scheme !== '') return lower(scheme) + ':';
    if (letter <= ' ' && (scheme === '' || letter === '\t' || letter === '\n' || letter === '\r')) continue;
    if (!isSchemeLetter(letter)) break;
    scheme += letter;
  }
  return 'http:';
};

const isSchemeLetter = (letter) =>
  (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
  letter === '+' || letter === '-' || letter === '.';

/** The scheme that an engine would follow, with its colon; '' where there is none to follow. */
export const schemeOf = (text) => {
  const first = text[0];
  if (text.length === 0 || first === '#' || first === '/' || first === '?' || first === '.') return 'http:';
  if (readProtocol === undefined) return readScheme(text);
  const url = parse(text);
  return url === null ? '' : apply(readProtocol, url, []);
};

/** Whether a text with a colon is no URL that an engine follows, as names of classes (`md:bold`) are none. */
export const isNoUrl = (text) => {
  const scheme = schemeOf(text);
  return !EVERYWHERE[scheme] && !EXECUTABLE[scheme] && !LINKS[scheme] && scheme !== homeScheme;
};

const isAllowed = (text, use) => {
  const scheme = schemeOf(text);
  if (scheme === '' || EVERYWHERE[scheme]) return true;
  if (scheme === homeScheme && !EXECUTABLE[scheme]) return true;
  // The content of a blob that a payload has made is judged when it gets a URL.
  if (use === 'frame') return scheme === 'blob:';
  if (LINKS[scheme]) return true;
  if (scheme !== 'data:' || readPath === undefined) return false;
  return use === 'media' || isPassive(essenceOfData(apply(readPath, parse(text), [])));
};

/** Deny a URL that runs script where it is used as `use`: link, media or frame; and that of a browser's debugger. */
export const judgeUrl = (text, use) => {
  if (!isAllowed(text, use)) deny('dom-script-injection');
  judgeLinked(text);
};

// The URL Standard (§4.4) drops controls and blanks before a scheme, and tabs and line breaks in it.
const SCRIPT_URL = /^[\0-\x20]*(?:j[\t\n\r]*a[\t\n\r]*v[\t\n\r]*a|v[\t\n\r]*b)[\t\n\r]*s[\t\n\r]*c[\t\n\r]*r[\t\n\r]*i[\t\n\r]*p[\t\n\r]*t[\t\n\r]*:/i;

/** Deny a value of unknown use that would run script if it is a URL. */
export const judgeAnyValue = (text) => {
  if (apply(regexpExec, SCRIPT_URL, [text]) !== null) deny('dom-script-injection');
};
