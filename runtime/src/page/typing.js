/**
 * What a user or a driver types, drops or pastes into a script does not run. A payload can make a script editable in many ways, and change
 * which it is up to the very edit. So each script that an edit could start counts as started before it (HTML §4.12.1.1): an empty
 * statement has run in it.
 */
import { G } from '../natives.js';
import { pageNotes } from '../shared.js';
import { appendChild, elementsInDocument, elementsInFragment, home, makeText, nodeCount, removeChild, listen } from './dom.js';
import { isScript, tagOf } from './elements.js';
import { isUnstarted, shadowRootOf } from './trees.js';

const notes = pageNotes();

const startAll = (list) => {
  const count = nodeCount(list);
  for (let i = 0; i < count; i++) {
    if (isScript(tagOf(list[i])) && isUnstarted(list[i])) {
      const statement = makeText(home, ';');
      appendChild(list[i], statement);
      removeChild(list[i], statement);
    }
    const shadow = shadowRootOf(list[i]);
    if (shadow) startAll(elementsInFragment(shadow, '*'));
  }
};

/** Registers what comes before each edit, once for a page. */
export const installTyping = () => {
  if (notes.isListening) return;
  notes.isListening = true;
  listen(G, 'beforeinput', () => startAll(elementsInDocument(home, '*')), true);
};
