// Whether acorn parses what it is given: one JSON string a line on stdin, the error or an empty string a line on stdout.
import { createInterface } from 'node:readline';
import { parse } from 'acorn';

createInterface({ input: process.stdin }).on('line', (line) => {
  let said = '';
  try {
    parse(JSON.parse(line), { ecmaVersion: 'latest', sourceType: 'script' });
  } catch (error) {
    said = String(error.message);
  }
  process.stdout.write(`${JSON.stringify(said)}\n`);
});
