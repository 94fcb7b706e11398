/** Objects of other windows: nodes and documents whose interfaces are another realm's are not handed out. */
import { getPrototypeOf, ObjectPrototype } from '../natives.js';
import { denied } from '../membrane.js';
import { deny } from '../denial.js';
import { ELEMENT, kindOf } from './dom.js';
import { isFrame, tagOf } from './elements.js';

const isFromHere = (x) => {
  for (let above = getPrototypeOf(x), i = 0; above !== null && i < 50; above = getPrototypeOf(above), i++) {
    if (above === ObjectPrototype) return true;
  }
  return false;
};

/** The stand-in of a node of another window; undefined for anything else. */
export const foreignNode = (x) => (isFromHere(x) || kindOf(x) === 0 ? undefined : denied(x, 'dom-script-injection'));

/** Deny the read of a frame's window before it is made: nothing in it may be used. */
export const judgeWindowRead = (x) => {
  if (kindOf(x) === ELEMENT && isFrame(tagOf(x))) deny('dom-script-injection', 'the window of a frame');
};
