// Documents that a host shows: allowed are elements that run nothing, wherever in the text they stand. What is a comment,
// a value or text to a parser is judged as if it were markup, so that no difference between parsers matters.
import { apply, create, get, isObject, stringIndexOf, stringLastIndexOf, stringSlice } from '../natives.js';
import { deny } from '../membrane.js';
import { letter, lowerCase, match } from './captured.js';
import { spread } from './tables.js';
import { isInertType } from './types.js';

const ELEMENTS = spread(
  'a abbr acronym address area article aside audio b bdi bdo big blockquote body br button canvas caption center cite code col colgroup '
  + 'data datalist dd del details dfn dialog dir div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header '
  + 'hgroup hr html i img input ins kbd label legend li main map mark marquee menu meter nav nobr noscript ol optgroup option output p '
  + 'picture pre progress q rp rt ruby s samp search section select slot small source span strike strong style sub summary sup table '
  + 'tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr '
  + 'svg g path circle rect line polyline polygon ellipse text tspan textpath defs symbol marker mask clippath pattern lineargradient '
  + 'radialgradient stop filter desc metadata image switch foreignobject view '
  + 'math mi mn mo ms mtext mrow mfrac msqrt mroot msup msub msubsup munder mover munderover mtable mtr mtd mspace mstyle mpadded '
  + 'mphantom menclose semantics annotation',
  true, create(null),
);
const TAG = /^<\/?([a-z][a-z0-9-]*)(?=[\s\/>])/;
// No element that runs something has a name of one letter or two.
const CUSTOM = /^(?:[a-z][a-z0-9]?|fe[a-z]+|[a-z][a-z0-9]*(?:-[a-z0-9]+)+)$/;
// What begins with `<` and is neither a tag nor anything that a parser of XML takes for one.
const PASSED = /^<(?:!--|!doctype\s[^<>\[\]]*>|!\[endif\]-->|\?xml\s+version="1\.[01]"(?:\s+encoding="utf-8")?(?:\s+standalone="(?:yes|no)")?\s*\?>|[\s\d=<>&;,.()\[\]|+*%$#@~^"'`{}\\-])/;
// A description of the document: without `http-equiv`, which may send the page elsewhere.
const META = /^<meta\s+(?:charset\s*=\s*["']?utf-?8["']?|(?:name|property)\s*=\s*["']?[\w:.-]+["']?\s+content\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))\s*\/?>/;
// A style sheet or an icon, and a frame of a site; their URLs are judged like all others in the text.
const LINK = /^<link(?:\s+(?:rel\s*=\s*["']?(?:stylesheet|icon|canonical)["']?|(?:href|type|media|sizes|crossorigin)(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+))?))*\s*\/?>/;
const FRAME = /^<\/?iframe(?:\s+src\s*=\s*["']?(?:https?:\/\/|[\/.?#])[^\s"'<>]*["']?|\s+(?:id|class|name|title|style|width|height|loading|sandbox|allow|allowfullscreen)(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+))?)*\s*>/;
const LONGEST = 2000;
const HANDLER = /[\s"'\/]on[^\s"'<>\/=]*\s*=|srcdoc\s*=/;
const SCHEME = /(?:java|vb)script:/;
// An escape character switches to another character set (ISO 2022), a NUL is half of a UTF-16 letter.
const CONTROL = /[\0-\x08\x0b\x0e-\x1f\x7f]/;
const NAMED = /^&(tab|newline|colon|lpar|rpar);/;
const NAMES = { __proto__: null, tab: '\t', newline: '\n', colon: ':', lpar: '(', rpar: ')' };

/** `markup`, if a page that shows it runs no script. @throws a denial */
export function judgeMarkup(markup) {
  const text = lowerCase(markup);
  const isActive = match(CONTROL, text) !== null || match(HANDLER, text) !== null || !hasInertTags(text) || !hasInertUrls(text);
  if (isActive) deny('nested-evaluation', 'the page\'s content holds script');
  return markup;
}

function hasInertTags(text) {
  for (let at = indexOf(text, '<', 0); at >= 0; at = indexOf(text, '<', at + 1)) {
    const here = apply(stringSlice, text, [at, at + LONGEST]);
    const tag = match(TAG, here);
    if (tag === null ? match(PASSED, here) === null : !isInertElement(tag[1], here)) return false;
  }
  return true;
}

const isInertElement = (name, here) =>
  ELEMENTS[name] === true || match(CUSTOM, name) !== null || (name === 'meta' && match(META, here) !== null)
  || (name === 'link' && match(LINK, here) !== null) || (name === 'iframe' && match(FRAME, here) !== null);

// An address or `localhost` with a path that a browser's debugger or WebDriver answers to (urls.js).
const DEBUGGING =
  /(?:[\\/]{2}|(?:https?|wss?):)[\\/]*(?:[^"'<>\\/?#]*@)?(?:\d[\da-fx.]*|\[[^\]]*\]|[^"'<>\\/?#:]*(?:localhost\.?|[^\0-\x7f][^"'<>\\/?#:]*|[%?][^"'<>\\/#:]*))(?::\d*)?[\\/](?:[^"'<>?#]*[\\/])?(?:json|devtools|sessions?|wd|hub)(?![\w-])/;

/** Whether no URL in the text has a scheme that runs, or is a document: with character references, and without what a URL parser drops. */
function hasInertUrls(text) {
  const read = withoutBlanks(decoded(text));
  if (match(SCHEME, read) !== null || match(DEBUGGING, read) !== null) return false;
  for (let at = indexOf(read, 'data:', 0); at >= 0; at = indexOf(read, 'data:', at + 1)) {
    if (at === 0 || indexOf('=\'"`', read[at - 1], 0) < 0) continue;
    const type = match(/^data:([^,;"'<>]*)[,;]/, apply(stringSlice, read, [at, at + LONGEST]));
    if (type === null || !isInertType(type[1]) && (type[1] !== 'image/svg+xml' || !isShown(text, read, at))) return false;
  }
  return true;
}

// The start of an element that shows a picture, up to the value of an attribute: what links to a picture opens it as a document.
const PICTURE = /^<(?:(?:img|source|video)(?:[^"'<>]*(?:"[^"<>]*"|'[^'<>]*'))*[^"'<>]*(?:src|srcset|poster)|(?:image|feimage)(?:[^"'<>]*(?:"[^"<>]*"|'[^'<>]*'))*[^"'<>]*href)=["'`]?$/;
const QUOTED = /&(?:quot|apos|#)/;

/** Whether what is at `at` of `read` is the picture of an element or of a style; `text` is what `read` was decoded from. */
const isShown = (text, read, at) => match(/url\(["']?$/, apply(stringSlice, read, [at > 5 ? at - 5 : 0, at])) !== null
  || match(QUOTED, text) === null && match(PICTURE, apply(stringSlice, read, [apply(stringLastIndexOf, read, ['<', at]), at])) !== null;

const indexOf = (text, part, from) => apply(stringIndexOf, text, [part, from]);

function withoutBlanks(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) if (text[i] > ' ') out += text[i];
  return out;
}

/** `text`, which is in lower case, with the character references with which a scheme can be spelled. */
function decoded(text) {
  let out = '';
  for (let from = 0; ;) {
    const at = indexOf(text, '&', from);
    if (at < 0) return out + apply(stringSlice, text, [from]);
    out += apply(stringSlice, text, [from, at]);
    from = at + 1;
    if (text[from] === '#') {
      const isHex = text[from + 1] === 'x';
      let end = from + (isHex ? 2 : 1);
      let code = 0;
      for (let value; end < text.length && (value = indexOf(isHex ? '0123456789abcdef' : '0123456789', text[end], 0)) >= 0; end++) {
        code = code > 0x10ffff ? code : code * (isHex ? 16 : 10) + value;
      }
      out += code < 128 ? lowerCase(letter(code)) : '?';
      from = text[end] === ';' ? end + 1 : end;
    } else {
      const named = match(NAMED, apply(stringSlice, text, [at, at + 10]));
      out += named === null ? '&' : NAMES[named[1]];
      if (named !== null) from = at + named[0].length;
    }
  }
}

/** The bytes of a typed array as text, one character each. */
export function bytesAsText(bytes) {
  let out = '';
  const length = get(bytes, 'length');
  for (let i = 0; i < length; i++) {
    const byte = get(bytes, i);
    if (isObject(byte)) deny('nested-evaluation', 'a body that is no text');
    out += letter(byte);
  }
  return out;
}

const EDITABLE = /user-modify|@import/;
const HEXADECIMAL = '0123456789abcdef';

/** A style sheet with its escapes decoded, in lower case (CSS Syntax §4.3.7). */
function unescaped(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '\\') {
      out += text[i];
      continue;
    }
    let code = 0;
    let end = i + 1;
    for (let value; end < text.length && end < i + 7 && (value = indexOf(HEXADECIMAL, text[end], 0)) >= 0; end++) code = 16 * code + value;
    if (end === i + 1) continue;
    out += code < 128 ? lowerCase(letter(code)) : '?';
    i = text[end] <= ' ' ? end : end - 1;
  }
  return out;
}

/**
 * The texts among options that a page shows. A style sheet that makes elements editable, or takes rules from elsewhere, is denied: a driver
 * could type into a script then. The templates of a printed page are markup.
 */
export function judgeStyle(options) {
  if (!isObject(options)) return;
  judgeSheet(get(options, 'content'));
  judgeSheet(get(options, 'style'));
  judgeTemplate(get(options, 'headerTemplate'));
  judgeTemplate(get(options, 'footerTemplate'));
}

/** The markup above or below a printed page. */
function judgeTemplate(markup) {
  if (markup === undefined) return;
  if (typeof markup !== 'string') deny('nested-evaluation', 'markup that is no text');
  judgeMarkup(markup);
}

/** The text of a style sheet; undefined where there is none. @throws a denial */
export function judgeSheet(content) {
  if (content === undefined) return;
  if (typeof content !== 'string') deny('nested-evaluation', 'a style sheet that is no text');
  if (match(EDITABLE, unescaped(lowerCase(content))) !== null) deny('nested-evaluation', 'a style sheet that makes elements editable');
}
