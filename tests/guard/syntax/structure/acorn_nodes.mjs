// Reads {text, module} a line and answers the nodes of acorn's tree: [type, start, end, details], or null for an error.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const acorn = createRequire(process.argv[2])("acorn");

function detailsOf(node) {
  switch (node.type) {
    case "MethodDefinition": {
      const kind = node.kind === "constructor" ? "method" : node.kind;
      return [node.static && "static", kind, node.value.async && "async", node.value.generator && "*"].filter(Boolean).join(" ");
    }
    case "PropertyDefinition":
      return node.static ? "static" : "";
    case "Literal":
      return node.regex ? "regex" : typeof node.value === "bigint" ? "number" : typeof node.value;
    case "VariableDeclaration":
      return node.kind;
    default:
      return node.operator ?? "";
  }
}

function isPartOfMethod(node, parent) {
  return (
    node.type === "FunctionExpression" &&
    (parent?.type === "MethodDefinition" || (parent?.type === "Property" && (parent.method || parent.kind !== "init")))
  );
}

function collect(node, parent, key, found) {
  if (Array.isArray(node)) {
    for (const each of node) collect(each, parent, key, found);
    return;
  }
  if (typeof node?.type !== "string") return;
  const inHead = node.type === "VariableDeclaration" && /^For(In|Of)/.test(parent?.type) && key === "left";
  if (!inHead && !isPartOfMethod(node, parent)) found.push([node.type, node.start, node.end, detailsOf(node)]);
  for (const [name, value] of Object.entries(node)) {
    if (name === "type" || value === null || typeof value !== "object") continue;
    const repeated = node.type === "Property" && node.shorthand && name === "value";
    if (!repeated) collect(value, node, name, found);
    else if (value.type === "AssignmentPattern") collect(value.right, node, name, found);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { text, module } = JSON.parse(line);
  let found = [];
  try {
    collect(acorn.parse(text, { ecmaVersion: "latest", sourceType: module ? "module" : "script" }), null, "", found);
  } catch {
    found = null;
  }
  console.log(JSON.stringify(found));
}
