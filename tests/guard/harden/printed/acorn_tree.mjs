// Whether acorn reads P' as the emitter printed it. Its argument is the folder in which acorn is installed.
// Standard input: a line of JSON {text, opening, shift, module, parts: [[kind, start, end, facts], …]} for each program.
// Standard output: a line of JSON for each, {error} or {faults: […], kinds: {kind: [type, …]}}.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';

const acorn = createRequire(process.argv[2] + '/')('acorn');

const isNode = (value) => value !== null && typeof value === 'object' && typeof value.type === 'string';

/** All nodes of a tree by where they begin and end, the outer ones first; statements by where they begin, and by where they end. */
function index(root) {
  const found = { nodes: new Map(), begins: new Map(), ends: new Map() };
  const add = (map, key, value) => { if (map.has(key)) map.get(key).push(value); else map.set(key, [value]); };
  const pending = [[root, undefined]];
  while (pending.length > 0) {
    const [node, list] = pending.pop();
    add(found.nodes, node.start + ' ' + node.end, node);
    if (list !== undefined) {
      add(found.begins, node.start, list);
      add(found.ends, node.end, [list, node]);
    }
    const children = [];
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) for (const each of value) { if (isNode(each)) children.push([each, value]); } else if (isNode(value)) children.push([value, undefined]);
    }
    pending.push(...children.reverse());
  }
  return found;
}

const inner = (node) => (node.type === 'ParenthesizedExpression' ? inner(node.expression) : node);

/** Operators of one precedence from the left, as the emitter has them. */
function operatorsOf(node) {
  if (node.type !== 'BinaryExpression' && node.type !== 'LogicalExpression') return [];
  return [...(node.left.type === 'ParenthesizedExpression' ? [] : operatorsOf(node.left)), node.operator];
}

const armsOf = (node) => (node.type === 'ConditionalExpression' ? 1 + (node.alternate.type === 'ParenthesizedExpression' ? 0 : armsOf(node.alternate)) : 0);

/** The function that a call of the run-time's registers. */
const registered = (node) => (node.type === 'CallExpression' ? registered(inner(node.arguments[0] ?? node.callee)) : node);

const HELD = {
  name: (node) => node.name,
  raw: (node) => node.raw,
  value: (node) => (node.type === 'CallExpression' ? node.arguments[0].value : node.value),
  operators: operatorsOf,
  count: (node) => node.expressions?.length,
  arms: armsOf,
  elements: (node) => node.elements?.length,
  function: (node) => { const made = registered(node); return [made.async, made.generator]; },
};

function compare(request) {
  const shift = request.shift;
  const options = { ecmaVersion: 'latest', sourceType: request.module ? 'module' : 'script', preserveParens: true };
  const { nodes, begins, ends } = index(acorn.parse(request.text, options));
  const faults = [];
  const kinds = {};
  for (const [kind, start, end, facts] of request.parts) {
    const from = start + shift;
    const to = end + shift;
    const fault = (why) => faults.push(kind + ' ' + why + ': ' + request.text.slice(from, Math.min(to, from + 100)));
    // The outermost node there that is no statement: `x` is the expression in `x` of a body, too.
    const at = (nodes.get(from + ' ' + to) ?? []).find((node) => request.statements.includes(kind) || !/Statement$|^Program$/.test(node.type));
    if (at === undefined && request.statements.includes(kind)) {
      const [, last] = (ends.get(to) ?? []).find(([list]) => (begins.get(from) ?? []).includes(list)) ?? [];
      if (last === undefined) fault('is no statement');
      else (kinds[kind] ??= []).push(last.type);
      continue;
    }
    if (at === undefined) { fault('is no node'); continue; }
    const node = inner(at);
    (kinds[kind] ??= []).push(node.type);
    for (const [fact, expected] of Object.entries(facts)) {
      const held = HELD[fact](node);
      if (JSON.stringify(held) !== JSON.stringify(expected)) fault('has ' + fact + ' ' + JSON.stringify(held));
    }
  }
  for (const kind of Object.keys(kinds)) kinds[kind] = [...new Set(kinds[kind])];
  return { faults, kinds };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  let answer;
  try {
    answer = compare(JSON.parse(line));
  } catch (error) {
    answer = { error: String(error.message) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
