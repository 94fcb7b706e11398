/** What may be written to an attribute: one rule for properties, methods, Attr nodes, maps and markup. */
import { deny } from '../denial.js';
import { isFrame, isScript } from './elements.js';
import { judgeAnyValue, judgeUrl } from './urls.js';
import { lower } from './text.js';
import { words } from './words.js';

const LINK = words(
  'href action formaction cite ping manifest codebase classid archive code data profile longdesc',
);
const MEDIA = words('src poster background lowsrc dynsrc icon');
const TEXT = words('id class style title alt placeholder value label content name summary abbr lang dir role');
const HARMLESS_ON_SCRIPTS = words('id class title lang');
const HARMLESS_ON_FRAMES = words(
  'id class style title lang dir role width height hidden tabindex loading frameborder scrolling align marginwidth ' +
  'marginheight border name slot part allow allowfullscreen referrerpolicy',
);
// What takes something away from a frame, where it has not been there before.
const RESTRICTING = words('sandbox csp credentialless');
const ANIMATIONS = words('animate set animatemotion animatetransform');
const ANIMATED = words('values to from by');
const PRAGMAS = words('content-type content-language default-style x-ua-compatible');
const LOADS_AS_MEDIA = words('image feimage link');

let judgeDocument;
/** How the text of a document is judged; creation.js provides it. */
export const onFrameDocument = (judge) => { judgeDocument = judge; };

const startsWith = (text, start) => {
  for (let i = 0; i < start.length; i++) if (text[i] !== start[i]) return false;
  return true;
};

const isAnnotation = (name) =>
  name[4] === '-' && (startsWith(name, 'data-') || startsWith(name, 'aria-'));

/** Whether any element may have the attribute called `name`, in lower case, with any value. */
export const isHarmless = (name) => HARMLESS_ON_SCRIPTS[name] === true || isAnnotation(name);

/**
 * Deny `name="value"` on an element called `tag` where it runs script, or may once the element is used.
 *
 * @param {string} tag the element's local name in lower case; '' where it has none yet
 * @param {string} attribute the attribute's local name
 * @param {string} value what is written, converted
 * @param {boolean} isNew whether the element does not have the attribute yet
 */
export const judgeAttribute = (tag, attribute, value, isNew) => {
  const name = lower(attribute);
  if (name[0] === 'o' && name[1] === 'n') deny('dom-script-injection');
  if (isAnnotation(name)) return;
  if (isScript(tag) && !HARMLESS_ON_SCRIPTS[name]) deny('dom-script-injection');
  if (isFrame(tag)) {
    if (tag === 'iframe' && name === 'src') judgeUrl(value, 'frame');
    else if (tag === 'iframe' && name === 'srcdoc') judgeDocument(value);
    else if (!HARMLESS_ON_FRAMES[name] && !(isNew && RESTRICTING[name])) deny('dom-script-injection');
    return;
  }
  if (tag === 'base' || name === 'srcdoc') deny('dom-script-injection');
  if (name === 'http-equiv' && !PRAGMAS[lower(value)]) deny('dom-script-injection');
  if (name === 'attributename') judgeAnimated(value);
  if (ANIMATED[name] && (tag === '' || ANIMATIONS[tag])) judgeAnimatedValues(value);
  if (LINK[name]) judgeUrl(value, LOADS_AS_MEDIA[tag] ? 'media' : tag === '' ? 'frame' : 'link');
  else if (MEDIA[name]) judgeUrl(value, tag === '' ? 'frame' : 'media');
  else if (!TEXT[name]) judgeAnyValue(value);
};

/** Deny a list of values to animate an attribute with, of which one would run script as a URL: the animation may be of a link. */
const judgeAnimatedValues = (value) => {
  let one = '';
  for (let i = 0; i <= value.length; i++) {
    if (i < value.length && value[i] !== ';') one += value[i];
    else {
      judgeUrl(one, 'link');
      one = '';
    }
  }
};

/** Deny an animation of an attribute that is a handler or a URL: its values are written past every setter. */
const judgeAnimated = (value) => {
  let name = '';
  for (let i = 0; i < value.length; i++) {
    if (value[i] === ':') name = '';
    else if (value[i] > ' ') name += value[i];
  }
  name = lower(name);
  if (LINK[name] || MEDIA[name] || (name[0] === 'o' && name[1] === 'n')) deny('dom-script-injection');
};

/** Deny the removal of an attribute that keeps a script or a frame from running. */
export const judgeRemoval = (tag, attribute) => {
  const name = lower(attribute);
  if (isAnnotation(name)) return;
  if (isScript(tag) && !HARMLESS_ON_SCRIPTS[name]) deny('dom-script-injection');
  if (isFrame(tag) && !HARMLESS_ON_FRAMES[name]) deny('dom-script-injection');
  if (tag === 'base') deny('dom-script-injection');
};
