// Tabs as in the ARIA Authoring Practices: one stop for the Tab key, arrows between the tabs.
import { h } from './dom.js';

/** Return the list and the panels; `tabs` are [id, label, panel]. `shown` is called with the id of the open one. */
export function tabs(name, items, shown = () => {}) {
  const buttons = items.map(([id, label, panel]) => {
    panel.id = `panel-${id}`;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', `tab-${id}`);
    panel.tabIndex = 0;
    return h('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': panel.id, on: { click: () => open(id) } }, label);
  });
  const list = h('div', { class: 'tabs', role: 'tablist', 'aria-label': name, on: { keydown: move } }, buttons);

  function open(id) {
    items.forEach(([own, , panel], place) => {
      const chosen = own === id;
      panel.hidden = !chosen;
      buttons[place].setAttribute('aria-selected', String(chosen));
      buttons[place].tabIndex = chosen ? 0 : -1;
    });
    shown(id);
  }

  function move(event) {
    const here = buttons.indexOf(document.activeElement);
    const steps = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: buttons.length - 1 };
    if (here < 0 || !(event.key in steps)) return;
    event.preventDefault();
    const place = (steps[event.key] + buttons.length) % buttons.length;
    buttons[place].focus();
    open(items[place][0]);
  }

  open(items[0][0]);
  return { list, panels: items.map(([, , panel]) => panel), open };
}
