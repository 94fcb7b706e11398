// What V8 and acorn say about a program: one JSON request {text, module} a line on stdin, one answer {v8, acorn} a line on stdout.
// An answer is the error, an empty string where there is none, or null where acorn is not installed. Nothing is run.
import { createInterface } from 'node:readline';
import { Script, SourceTextModule } from 'node:vm';

const acorn = await import('acorn').catch(() => null);

const said = (parse) => {
  try {
    parse();
    return '';
  } catch (error) {
    return String(error.message);
  }
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { text, module } = JSON.parse(line);
  const answer = {
    v8: said(() => (module ? new SourceTextModule(text) : new Script(text))),
    acorn: acorn && said(() => acorn.parse(text, { ecmaVersion: 'latest', sourceType: module ? 'module' : 'script' })),
  };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
