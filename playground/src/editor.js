// The editors, and what is drawn over the payload: findings as underlines, the trace as numbered steps with a path.
import { closeBrackets, closeBracketsKeymap, autocompletion, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { EditorState, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  EditorView,
  hoverTooltip,
  highlightSpecialChars,
  keymap,
  layer,
  lineNumbers,
  WidgetType,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { h, svg } from './dom.js';

const nonce = document.querySelector('meta[name=editor-nonce]').content;

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], class: 'tok-keyword' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], class: 'tok-string' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], class: 'tok-number' },
  { tag: [tags.comment], class: 'tok-comment' },
  { tag: [tags.definition(tags.propertyName)], class: 'tok-key' },
  { tag: [tags.function(tags.variableName)], class: 'tok-function' },
]);

// Control characters, bidirectional overrides and invisible ones are shown as boxes; a lone carriage return is one of them.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
const special = highlightSpecialChars({
  specialChars: INVISIBLE,
  render: (code, description) =>
    h('span', { class: 'invisible', role: 'img', 'aria-label': description ?? `U+${code.toString(16)}` }, `\\u{${code.toString(16)}}`),
});

const common = [
  EditorView.cspNonce.of(nonce),
  EditorState.lineSeparator.of('\n'),
  special,
  syntaxHighlighting(colours),
  EditorView.lineWrapping,
];

const named = (label) => EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' });

// A selection is replaced here: the browser would keep its style in an attribute, which the page forbids.
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    if (event.inputType !== 'insertText' || !event.data || main.empty || view.composing) return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, main.from, main.to, event.data, insert))) view.dispatch(insert());
    return true;
  },
});

const editing = [replacing, bracketMatching(), history(), closeBrackets(), indentOnInput(), keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap])];

/** An editor for a payload; `typed` is called with each new text. */
export function payloadEditor(parent, typed) {
  return new EditorView({
    parent,
    extensions: [
      ...common,
      ...editing,
      lineNumbers(),
      javascript(),
      autocompletion({ override: [] }),
      findingsField,
      tracePath,
      explained,
      named('Payload'),
      EditorView.updateListener.of((update) => update.docChanged && typed(update.state.doc.toString())),
    ],
  });
}

/** An editor for a policy. */
export function policyEditor(parent, typed, more) {
  return new EditorView({
    parent,
    extensions: [
      ...common,
      ...editing,
      lineNumbers(),
      yaml(),
      ...more,
      named('Policy'),
      EditorView.updateListener.of((update) => update.docChanged && typed(update.state.doc.toString())),
    ],
  });
}

/** A program that can be read and selected only. */
export function reader(parent, label) {
  return new EditorView({
    parent,
    extensions: [...common, lineNumbers(), javascript(), EditorState.readOnly.of(true), checksField, named(label), keymap.of(defaultKeymap)],
  });
}

/** Replace the whole text. */
export function replace(view, text) {
  if (view.state.doc.toString() !== text) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 } });
}

/** Select a place, show it and put the focus there. */
export function goTo(view, { from, to }) {
  view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
  view.focus();
}

const within = (span, length) => span && span[0] < span[1] && span[1] <= length;

class Step extends WidgetType {
  constructor(steps) {
    super();
    this.steps = steps;
    this.said = steps.map(({ number, note }) => `Step ${number}: ${note}`).join('. ');
  }

  eq(other) {
    return other.said === this.said;
  }

  toDOM() {
    const [first, last] = [this.steps[0].number, this.steps.at(-1).number];
    return h('span', { class: 'step', role: 'img', 'aria-label': this.said, title: this.said }, first === last ? String(first) : `${first}–${last}`);
  }
}

const showFindings = StateEffect.define();

/** Show the findings of a verdict in the editor; the steps are those of the chosen one. */
export function show(view, findings, chosen) {
  view.dispatch({ effects: showFindings.of({ findings, chosen }) });
}

const findingsField = StateField.define({
  create: () => ({ findings: [], chosen: null, marks: Decoration.none, points: [] }),
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(showFindings)) return drawn(effect.value, transaction.state.doc.length);
    if (!transaction.docChanged) return value;
    const points = value.points.map((point) => transaction.changes.mapPos(point));
    return { ...value, points, marks: value.marks.map(transaction.changes) };
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.marks),
});

function drawn({ findings, chosen }, length) {
  const marks = [];
  findings.forEach((finding, place) => {
    if (!within(finding.span, length)) return;
    const kind = `finding ${finding.blocks ? 'blocks' : 'audits'}${finding === chosen ? ' chosen' : ''}`;
    marks.push(Decoration.mark({ class: kind, attributes: { 'data-finding': String(place) } }).range(...finding.span));
  });
  const steps = (chosen?.steps ?? []).map((step, place) => ({ ...step, number: place + 1 })).filter((step) => within(step.span, length));
  // Consecutive steps at one place share a mark.
  const groups = [];
  for (const step of steps) {
    if (groups.at(-1)?.[0].span[0] === step.span[0]) groups.at(-1).push(step);
    else groups.push([step]);
  }
  for (const group of groups) marks.push(Decoration.widget({ widget: new Step(group), side: -1 }).range(group[0].span[0]));
  const points = groups.map(([step]) => step.span[0]);
  return { findings, chosen, marks: Decoration.set(marks, true), points };
}

class Path {
  constructor(points) {
    this.points = points;
  }

  eq(other) {
    return JSON.stringify(other.points) === JSON.stringify(this.points);
  }

  draw() {
    const lines = this.points.slice(1).map(([x, y], place) => {
      const [fromX, fromY] = this.points[place];
      const bend = Math.max(Math.abs(y - fromY) * 0.5, 18);
      return `M${fromX} ${fromY} C${fromX} ${fromY + (y >= fromY ? bend : -bend)}, ${x} ${y - (y >= fromY ? bend : -bend)}, ${x} ${y}`;
    });
    const width = Math.max(...this.points.map(([x]) => x)) + 40;
    const height = Math.max(...this.points.map(([, y]) => y)) + 40;
    const drawing = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, svg('path', { d: lines.join(' ') }));
    return h('div', { class: 'trace-path' }, drawing);
  }
}

// The way of the value, from its source to its use, below the text.
const tracePath = layer({
  above: false,
  class: 'trace-layer',
  update: (update) => update.docChanged || update.viewportChanged || update.geometryChanged || update.transactions.some((each) => each.effects.some((effect) => effect.is(showFindings))),
  markers(view) {
    const { points } = view.state.field(findingsField);
    const box = view.scrollDOM.getBoundingClientRect();
    const places = points.flatMap((point) => {
      const at = point >= view.viewport.from && point <= view.viewport.to ? view.coordsAtPos(point, 1) : null;
      return at ? [[Math.round(at.left - box.left + view.scrollDOM.scrollLeft), Math.round((at.top + at.bottom) / 2 - box.top + view.scrollDOM.scrollTop)]] : [];
    });
    return places.length > 1 ? [new Path(places)] : [];
  },
});

const explained = hoverTooltip((view, position) => {
  const { findings } = view.state.field(findingsField);
  const here = findings.find((each) => each.span && each.span[0] <= position && position <= each.span[1]);
  if (!here) return null;
  return {
    pos: here.span[0],
    end: here.span[1],
    above: true,
    create: () => ({ dom: h('div', { class: 'hint' }, h('strong', {}, here.name), ` ${here.blocks ? 'is blocked' : 'is only audited'}`) }),
  };
});

const showChecks = StateEffect.define();

/** Mark the calls of the run-time in a program: `checks` are {from, to, kind, about}. */
export function markChecks(view, checks) {
  view.dispatch({ effects: showChecks.of(checks) });
}

const checksField = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(showChecks)) return Decoration.set(effect.value.map(({ from, to, kind, about }) => Decoration.mark({ class: `check ${kind}`, attributes: { title: about } }).range(from, to)), true);
    }
    return value.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});
