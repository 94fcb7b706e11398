// Bundle the page into the files that the Python package carries: `npm run build` writes them, `npm run current` fails
// where they are not what the sources give.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { rollup } from 'rollup';
import { minify } from 'terser';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = (name) => here(`../src/evalward/playground/static/${name}`);

/** Return the script, and the names of the packages whose code is in it. */
async function script() {
  const bundle = await rollup({
    input: here('src/main.js'),
    plugins: [nodeResolve({ browser: true })],
    onwarn(warning) {
      if (warning.code !== 'CIRCULAR_DEPENDENCY') throw new Error(warning.message);
    },
  });
  const { output } = await bundle.generate({ format: 'iife' });
  const { code } = await minify(output[0].code, { ecma: 2022, format: { comments: false, ascii_only: true } });
  const inside = Object.entries(output[0].modules).filter(([, module]) => module.renderedLength > 0);
  const names = inside.flatMap(([id]) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []);
  return { code: `${code}\n`, packages: [...new Set(names)].sort() };
}

/** Return the licences of the packages, each text once. */
async function licences(packages) {
  const byText = new Map();
  for (const name of packages) {
    const folder = here(`node_modules/${name}/`);
    const { version } = JSON.parse(await readFile(`${folder}package.json`, 'utf8'));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e(\.|$)/i.test(each));
    if (!file) throw new Error(`${name} has no licence`);
    const text = (await readFile(folder + file, 'utf8')).trim();
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
  }
  const parts = [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`);
  return `app.js contains code of these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

const { code, packages } = await script();
const built = {
  'app.js': code,
  'LICENSES.txt': await licences(packages),
  'app.css': await readFile(here('src/app.css'), 'utf8'),
  'index.html': await readFile(here('src/index.html'), 'utf8'),
  'icon.svg': await readFile(here('src/icon.svg'), 'utf8'),
};
const stale = [];
for (const [name, text] of Object.entries(built)) {
  if (!process.argv.includes('--check')) {
    await writeFile(target(name), text);
    console.log(`${name}: ${text.length} bytes`);
  } else if ((await readFile(target(name), 'utf8').catch(() => '')) !== text) {
    stale.push(name);
  }
}
if (stale.length) {
  console.error(`not what the sources give: ${stale.join(', ')}; run npm run build`);
  process.exitCode = 1;
}
