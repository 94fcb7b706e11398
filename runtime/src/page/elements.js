/** Which elements may be made, moved into the page or written to. */
import { deny } from '../denial.js';
import { isUnknown, localName } from './dom.js';
import { lower } from './text.js';
import { words } from './words.js';

const PASSIVE = words(
  'a abbr acronym address area article aside audio b bdi bdo bgsound big blink blockquote body br button canvas caption ' +
  'center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em fieldset figcaption figure font ' +
  'footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i image img input ins kbd keygen label legend li link listing ' +
  'main map mark marquee menu menuitem meta meter nav nobr noembed noframes noscript ol optgroup option output p param ' +
  'picture plaintext pre progress q rb rp rt rtc ruby s samp search section select selectedcontent slot small source ' +
  'spacer span strike strong style sub summary sup table tbody td template textarea tfoot th thead time title tr track tt ' +
  'u ul var video wbr xmp ' +
  'svg g defs symbol use path rect circle ellipse line polyline polygon text tspan textpath marker lineargradient ' +
  'radialgradient stop clippath mask pattern filter feblend fecolormatrix fecomponenttransfer fecomposite ' +
  'feconvolvematrix fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb fefuncg ' +
  'fefuncr fegaussianblur feimage femerge femergenode femorphology feoffset fepointlight fespecularlighting fespotlight ' +
  'fetile feturbulence desc metadata switch view foreignobject animate set animatemotion animatetransform mpath ' +
  'math mi mo mn ms mtext mrow mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts mprescripts ' +
  'mtable mtr mtd mspace mpadded mphantom mstyle merror menclose semantics annotation annotation-xml maction none',
);

/**
 * Interfaces of elements that run something. What a setter of theirs writes is judged as the attribute of that name: the lists of
 * attributes say which of them may be written.
 */
export const RUNNING = 'HTMLScriptElement SVGScriptElement HTMLIFrameElement HTMLFrameElement HTMLObjectElement HTMLEmbedElement ' +
  'HTMLFencedFrameElement HTMLPortalElement';

/** Interfaces of links, and what their setters change of a URL that may be the page's own script. */
export const LINKING = 'HTMLAnchorElement HTMLAreaElement SVGAElement MathMLAnchorElement';
export const PARTS = words('username password host hostname port pathname search hash');

const FRAMES = words('iframe frame object embed applet fencedframe portal webview');

/** An element's name in lower case, in every namespace. */
export const tagOf = (element) => lower(localName(element));

export const isPassiveTag = (tag) => PASSIVE[tag] === true;
export const isScript = (tag) => tag === 'script';
export const isFrame = (tag) => FRAMES[tag] === true;

const isCustom = (tag) => {
  for (let i = 1; i < tag.length; i++) if (tag[i] === '-') return true;
  return false;
};

/** Deny an element that is not on the list, unless its name means nothing to the engine or is a custom element's. */
export const judgeElement = (element) => {
  const tag = tagOf(element);
  // A frame may be: its attributes say what it shows, and no read leads to its window.
  if (PASSIVE[tag] || tag === 'iframe' || (isCustom(tag) && !isFrame(tag)) || (!isFrame(tag) && !isScript(tag) && isUnknown(element))) return tag;
  return deny('dom-script-injection');
};
