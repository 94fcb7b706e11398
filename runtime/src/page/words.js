/** Lists of words as data: one string in the source, an object without a prototype at run time. */
import { create } from '../natives.js';

/** The words of a text as keys. */
export const words = (text) => {
  const table = create(null);
  let word = '';
  for (let i = 0; i <= text.length; i++) {
    const letter = i < text.length ? text[i] : ' ';
    if (letter !== ' ') word += letter;
    else if (word !== '') {
      table[word] = true;
      word = '';
    }
  }
  return table;
};
