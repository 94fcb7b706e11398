// The same question outside the page, and the payload as a case of a corpus.
import { ask } from './api.js';
import { copyButton, fill, h, printable, saveButton } from './dom.js';
import { question, whenShown } from './state.js';

const MOST_SHOWN = 4000;
const NOTES = {
  'evalward check': 'Without a service. A policy that is typed here has to be saved as policy.yaml.',
  grpcurl: 'Asks a running service, which was started with --reflection. It judges under its own policy.',
  Python: 'Asks the service at EVALWARD_ADDRESS, else at the default address.',
  Node: 'Asks the service at EVALWARD_ADDRESS, else at the default address.',
};

export function usePanel() {
  const panel = h('section', {});
  const blocks = h('div', { class: 'snippets' });
  const refresh = whenShown(panel, async (isLast) => {
    try {
      const found = await ask('snippets', question());
      if (isLast()) fill(blocks, Object.entries(found).map(([name, text]) => block(name, text, NOTES[name])));
    } catch (error) {
      if (isLast()) fill(blocks, h('p', { class: 'bad' }, error.message));
    }
  });
  fill(panel, h('p', { class: 'note' }, 'The same question outside this page.'), blocks, caseForm());
  return { panel, refresh };
}

function caseForm() {
  const name = h('input', { id: 'case-id', value: 'my/case', autocomplete: 'off', spellcheck: 'false' });
  const said = h('p', { class: 'bad', role: 'alert' });
  const out = h('div', {});
  const make = async () => {
    fill(said);
    try {
      const { text } = await ask('as-case', { id: name.value, question: question() });
      fill(out, block('Case', text, 'It expects the verdicts of now, also of the other profile.', saveButton('Save', () => [`${name.value.replace(/[^\w.-]+/g, '-')}.yaml`, text])));
    } catch (error) {
      fill(out);
      fill(said, error.message);
    }
  };
  return h('div', { class: 'block' }, h('h2', {}, 'Save as a case'), h('div', { class: 'row' }, h('label', { for: 'case-id' }, 'Id'), name, h('button', { type: 'button', on: { click: make } }, 'Make')), said, out);
}

function block(name, text, note, more = null) {
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  return h('div', { class: 'block' }, h('div', { class: 'row' }, h('h2', {}, name), h('span', { class: 'row' }, more, copyButton('Copy', () => text))), h('p', { class: 'note' }, note), h('pre', { tabindex: 0, 'aria-label': name }, printable(shown)));
}
