/** Members that move nodes: what comes from another document is judged and made the page's before it is inserted. */
import { apply, isObject } from '../natives.js';
import { deny } from '../denial.js';
import {
  ATTRIBUTE, attributeOwner, branded, copyRange, DOCUMENT, ELEMENT, endRange, FRAGMENT, home, INSTRUCTION, kindOf, ownerDocument, parentOf,
  rangeAt, rangeCount, rangeEnd, rangeEndAt, rangeStart, rangeStartAt, startRange,
} from './dom.js';
import { at, string } from './text.js';
import { admit, guarded, isAlive, isNested, isScriptNode, judgeTree, refuseUnjudged, release, rememberShadow } from './trees.js';

const refuseScript = (node) => {
  if (isScriptNode(node)) deny('dom-script-injection');
};

/**
 * The arguments as the native takes them: nodes, and strings converted once. Conversions run before anything is judged,
 * because they may be the payload's. The list is the run-time's own.
 */
const converted = (args) => {
  for (let i = 0; i < args.length; i++) {
    const x = args[i];
    if (x !== null && x !== undefined && kindOf(x) === 0) args[i] = string(x);
  }
  return args;
};

/** Deny what may transform a document: `<?xml-stylesheet?>` before its root, alone or in a fragment. */
const refuseInstruction = (target, node) => {
  const kind = kindOf(node);
  if (kind === INSTRUCTION || (kind === FRAGMENT && kindOf(target) === DOCUMENT)) deny('dom-script-injection');
};

/** `node` as it is inserted below `target`, which may be where nothing is alive. */
const entering = (target, node) => {
  refuseInstruction(target, node);
  if (isAlive(target)) return admit(node);
  release(node);
  return node;
};

/** `list` with each node that enters the page admitted. */
const admitAll = (target, list) => {
  if (kindOf(target) === 0) return list;
  refuseScript(target);
  for (let i = 0; i < list.length; i++) if (kindOf(list[i]) !== 0) list[i] = entering(target, list[i]);
  return list;
};

/** `appendChild(node)` and the like: the first argument is inserted below `this`, and returned. */
const child = guarded((self, args, real) => {
  const given = at(args, 0);
  if (kindOf(self) === 0 || kindOf(given) === 0) return apply(real, self, args);
  refuseScript(self);
  args[0] = entering(self, given);
  const inserted = args[0];
  const result = apply(real, self, args);
  return result === inserted ? given : result;
});

/** `append(...nodes)` and the like, below `this`. */
const children = guarded((self, args, real) => apply(real, self, admitAll(self, converted(args))));

/** `before(...nodes)` and the like, beside `this`. */
const siblings = guarded((self, args, real) => {
  const list = converted(args);
  const parent = kindOf(self) === 0 ? null : parentOf(self);
  return apply(real, self, parent === null ? list : admitAll(parent, list));
});

const adjacentElement = guarded((self, args, real) => {
  const list = converted(args);
  if (kindOf(self) !== ELEMENT || list.length < 2) return apply(real, self, list);
  const given = list[1];
  const parent = parentOf(self);
  refuseScript(self);
  if (parent !== null) refuseScript(parent);
  if (kindOf(given) !== 0) list[1] = entering(parent !== null && isAlive(parent) ? parent : self, given);
  return apply(real, self, list);
});

/** A setter whose value becomes a child of `this`, such as `document.body`. */
const slot = guarded((self, args, real) => {
  const given = at(args, 0);
  if (kindOf(self) !== 0 && kindOf(given) !== 0) entering(self, given);
  return apply(real, self, [given]);
});

/** `select.add(option, before)`. */
const option = guarded((self, args, real) => {
  if (args.length > 1 && isObject(args[1]) && kindOf(args[1]) === 0) args[1] = +args[1];
  if (kindOf(at(args, 0)) !== 0) {
    args[0] = admit(args[0]);
    release(args[0]);
  }
  return apply(real, self, args);
});

/** Whether a boundary of a range is in a script: then its changes would write the script's text. */
const refuseScriptRange = (range) => {
  const ends = [rangeStart(range), rangeEnd(range)];
  for (let i = 0; i < 2; i++) {
    refuseScript(ends[i]);
    refuseInstruction(ends[i], ends[i]);
    const parent = parentOf(ends[i]);
    if (parent !== null) refuseScript(parent);
  }
};

/**
 * `surroundContents` moves what is in the range below its argument, which nobody has judged where it is not the page's: it may not
 * go into a node that is alive, or may be on its way to the page.
 */
const refuseForeignRange = (range, into) => {
  const start = rangeStart(range);
  if (start === home || ownerDocument(start) === home) return;
  if (isNested() || kindOf(into) !== 0 && isAlive(into)) deny('dom-script-injection', 'an insertion of what nobody has judged');
};

/**
 * Let `change` work on a copy of a range, where its boundaries are in no script: the payload holds the range, and its code may run
 * in the middle of a native and move it.
 */
const onCopy = (range, change) => {
  const copy = copyRange(range);
  refuseScriptRange(copy);
  const result = change(copy);
  startRange(range, rangeStart(copy), rangeStartAt(copy));
  endRange(range, rangeEnd(copy), rangeEndAt(copy));
  return result;
};

const inRange = (isMoving) => guarded((self, args, real) => {
  const list = converted(args);
  if (!branded(rangeStart, self) || kindOf(at(list, 0)) === 0) return apply(real, self, list);
  return onCopy(self, (range) => {
    if (isMoving) refuseScript(list[0]);
    if (isMoving || isNested()) refuseForeignRange(range, list[0]);
    list[0] = entering(rangeStart(range), list[0]);
    refuseScriptRange(range);
    return apply(real, range, list);
  });
});

const deleteRange = (self, args, real) => {
  if (branded(rangeStart, self)) return onCopy(self, (range) => apply(real, range, args));
  if (branded(rangeCount, self)) for (let i = 0; i < rangeCount(self); i++) refuseScriptRange(rangeAt(self, i));
  return apply(real, self, args);
};

/** `range.cloneContents()`: a script that is partly in the range would be copied with a part of its text. */
const cloneRange = (self, args, real) => {
  if (branded(rangeStart, self)) refuseScriptRange(self);
  return apply(real, self, args);
};

/** `document.adoptNode(node)` and `importNode(node, deep)`. An attribute leaves its element, which may need it. */
const bring = guarded((self, args, real) => {
  const given = at(args, 0);
  if (kindOf(given) === ATTRIBUTE && attributeOwner(given) !== null) deny('dom-script-injection');
  if (kindOf(self) === DOCUMENT && self === home && kindOf(given) !== 0) {
    refuseUnjudged();
    judgeTree(given);
  } else release(given);
  return apply(real, self, args.length > 1 ? [given, typeof args[1] === 'object' || !!args[1]] : [given]);
});

/** `attachShadow(init)`: the root is remembered, and is never copied where it could not be found again. */
const shadow = (self, args, real) => {
  const init = at(args, 0);
  if (kindOf(self) !== ELEMENT || !isObject(init)) return apply(real, self, args.length ? [init] : []);
  const { mode, delegatesFocus, slotAssignment, serializable } = init;
  const plain = { __proto__: null, mode: string(mode), delegatesFocus: !!delegatesFocus, serializable: !!serializable };
  if (slotAssignment !== undefined) plain.slotAssignment = string(slotAssignment);
  const root = apply(real, self, [plain]);
  rememberShadow(self, root);
  return root;
};

export const insertion = {
  __proto__: null,
  child: () => child,
  children: () => children,
  siblings: () => siblings,
  beside: () => adjacentElement,
  slot: () => slot,
  option: () => option,
  range: (member) => inRange(member === 'surroundContents'),
  bring: () => bring,
  deleteRange: () => deleteRange,
  cloneRange: () => cloneRange,
  shadow: () => shadow,
};
