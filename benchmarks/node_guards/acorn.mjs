// The seed guard: six substrings over the raw text, then literal keys in acorn's tree. What does not parse
// is deferred to the engine, that is, it passes.
import { parse } from 'acorn';
import { simple } from 'acorn-walk';

const KEYWORDS = ['process.exit', 'require(', 'eval(', 'Function(', '__proto__', 'child_process'];
const PROCESS_CALLS = new Set(['exit', 'kill', 'abort']);
const GLOBALS = new Set(['globalThis', 'window', 'global', 'self']);
const CALLED_BY_NAME = new Map([['eval', 'eval()'], ['require', 'require()'], ['Function', 'Function()']]);
const OPTIONS = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
};

function literalKey(node) {
  if (!node.computed) return node.property.name;
  return node.property.type === 'Literal' ? String(node.property.value) : undefined;
}

// The name that an expression has when it is a global, read bare or as a literal member of the global object.
function globalName(node) {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'MemberExpression' && node.object.type === 'Identifier' && GLOBALS.has(node.object.name)) {
    return literalKey(node);
  }
  return undefined;
}

export function judge(code) {
  const keyword = KEYWORDS.find((word) => code.includes(word));
  if (keyword) return { allowed: false, code: 'EVAL_BLOCKED_KEYWORD', keyword };
  let tree;
  try {
    tree = parse(code, OPTIONS);
  } catch {
    return { allowed: true, deferred: true };
  }
  let construct;
  const found = (label) => {
    construct ??= label;
  };
  simple(tree, {
    MemberExpression(node) {
      const key = literalKey(node);
      if (PROCESS_CALLS.has(key) && globalName(node.object) === 'process') found(`process.${key}`);
      if (key === 'constructor' && node.object.type === 'MemberExpression' && literalKey(node.object) === key) {
        found('.constructor.constructor');
      }
    },
    CallExpression(node) {
      const label = CALLED_BY_NAME.get(globalName(node.callee));
      if (label) found(label);
    },
    NewExpression(node) {
      if (globalName(node.callee) === 'Function') found('new Function()');
    },
    ImportExpression() {
      found('import()');
    },
  });
  return construct ? { allowed: false, code: 'EVAL_BLOCKED_CONSTRUCT', construct } : { allowed: true };
}
