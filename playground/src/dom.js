// Elements are made here and nowhere else: every text is a text node, so that no payload, policy or record is markup.

/** Make an element: `on` are listeners, `null` and `false` attributes are left out, `true` is an empty one. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function filled(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replace everything in an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Return a text in which control, bidirectional and invisible characters are escapes; line breaks and tabs stay. */
export function printable(text) {
  return text.replace(INVISIBLE, (char) => {
    if (char === '\n' || char === '\t') return char;
    return `\\u{${char.codePointAt(0).toString(16)}}`;
  });
}

/** Return the paragraphs of a construct's page: `code` and **bold** are elements, everything else is text. */
export function prose(text) {
  return text
    .split('\n\n')
    .filter((each) => each.trim())
    .map((paragraph) => h('p', {}, ...inline(paragraph.replace(/\s+/g, ' '))));
}

/** Return the inline elements of a line of prose. */
export function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return h('code', {}, part.slice(1, -1));
    return part.startsWith('**') ? h('strong', {}, part.slice(2, -2)) : part;
  });
}

/** A button that copies what `text()` returns, and reports it until it loses the focus. */
export function copyButton(label, text) {
  const said = h('span', { class: 'said', role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(await text());
      fill(said, 'Copied');
    } catch {
      fill(said, 'Not copied: the browser refused');
    }
  };
  return h('span', { class: 'copy' }, h('button', { type: 'button', on: { click: copy, blur: () => fill(said) } }, label), said);
}

/** A button that saves `file()`, a name and a text, as a file of the user's. */
export function saveButton(label, file) {
  const save = () => {
    const [download, text] = file();
    const href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    h('a', { href, download }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  };
  return h('button', { type: 'button', on: { click: save } }, label);
}
