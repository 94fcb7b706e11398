// Node reads dist/cjs as CommonJS although the package itself is of type "module".
import { writeFileSync } from 'node:fs';

writeFileSync(new URL('../dist/cjs/package.json', import.meta.url), '{ "type": "commonjs" }\n');
