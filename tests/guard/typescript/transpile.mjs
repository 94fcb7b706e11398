// Reads one JSON text a line, answers what TypeScript's own compiler makes of it, or null where it reports an error.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const ts = createRequire(process.argv[2])("typescript");
const options = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, removeComments: true };

for await (const line of createInterface({ input: process.stdin })) {
  const made = ts.transpileModule(JSON.parse(line), {
    compilerOptions: { ...options, useDefineForClassFields: true, verbatimModuleSyntax: true },
    reportDiagnostics: true,
  });
  console.log(JSON.stringify(made.diagnostics.length > 0 ? null : made.outputText));
}
