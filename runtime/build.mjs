// Bundle each entry into one JavaScript expression: `npm run build` writes the files that the Python package carries,
// `npm run current` fails where they are not what the sources give.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rollup } from 'rollup';
import { minify } from 'terser';

const PROFILES = ['main', 'renderer', 'sandbox'];
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = (profile) => here(`../src/evalward/guard/harden/built/${profile}.js`);

/** The text of one profile: an expression whose value is a function from the configuration to the run-time's functions. */
async function expression(profile) {
  const bundle = await rollup({
    input: here(`src/entry/${profile}.js`),
    // Nothing of the run-time may be dropped because reading a built-in is assumed to do nothing.
    treeshake: { moduleSideEffects: true, propertyReadSideEffects: 'always', tryCatchDeoptimization: true },
    onwarn(warning) { throw new Error(warning.message); },
  });
  // Not frozen: `Object.freeze` would be read from the realm when a program starts.
  const { output } = await bundle.generate({ format: 'iife', name: 'R', exports: 'default', strict: false, esModule: false, freeze: false });
  // The function around the modules is the one that takes the configuration, so that a stack has one frame for both. Where a
  // profile divides capture from use (src/prepared.js), what captures is a function around it.
  const parts = /^var R = \(function \(\) \{([^]*)\}\)\(\);\s*$/.exec(output[0].code);
  if (parts === null) throw new Error('the bundle is not one function');
  const [modules, ...more] = parts[1].split(/^\s*CAPTURED\(\);$/m);
  if (more.length > 1) throw new Error('the bundle is divided twice');
  const text = more.length
    ? `X=(function(){'use strict';${modules};return function(CONFIG,PLACE){${more[0]}}})()`
    : `X=(function(CONFIG){'use strict';${modules}})`;
  const { code } = await minify(text, {
    ecma: 2020,
    mangle: true,
    compress: { passes: 3, keep_fargs: true, unsafe: false, typeofs: false, arguments: false, keep_infinity: true, pure_getters: false },
    format: { ascii_only: true, comments: false },
  });
  return `(${code.replace(/^X=/, '').replace(/;$/, '')})`;
}

const check = process.argv.includes('--check');
const stale = [];
for (const profile of PROFILES) {
  const text = `${await expression(profile)}\n`;
  if (check) {
    const built = await readFile(target(profile), 'utf8').catch(() => '');
    if (built !== text) stale.push(profile);
  } else {
    await mkdir(here('../src/evalward/guard/harden/built/'), { recursive: true });
    await writeFile(target(profile), text);
    console.log(`${profile}.js: ${text.length} bytes, ${gzipSync(text).length} compressed`);
  }
}
if (stale.length) {
  console.error(`not what the sources give: ${stale.join(', ')}; run npm run build`);
  process.exitCode = 1;
}
