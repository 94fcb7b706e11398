// Rewrites payloads with one tool: node mutate.mjs TOOL, payloads {id, code} as a JSON list on stdin, answers
// {id, configuration, code} or {id, configuration, error} as a JSON list on stdout. `configurations.json` holds, by
// tool and name, the options as the tool itself calls them; nothing here depends on a clock or on chance.
import { readFileSync } from 'node:fs';

const TOOLS = {
  async 'javascript-obfuscator'() {
    const { default: obfuscator } = await import('javascript-obfuscator');
    return (code, options) => obfuscator.obfuscate(code, options).getObfuscatedCode();
  },
  async terser() {
    const { minify } = await import('terser');
    return async (code, options) => (await minify(code, structuredClone(options))).code;
  },
  async esbuild() {
    const { transformSync } = await import('esbuild');
    return (code, options) => transformSync(code, options).code;
  },
  async '@swc/core'() {
    const { transformSync } = await import('@swc/core');
    return (code, options) => transformSync(code, options).code;
  },
  async 'uglify-js'() {
    const { default: uglify } = await import('uglify-js');
    return (code, options) => {
      const { code: text, error } = uglify.minify(code, structuredClone(options));
      if (error) throw error;
      return text;
    };
  },
  async jscrewit() {
    const { default: jscrewit } = await import('jscrewit');
    return (code, options) => jscrewit.encode(code, options);
  },
};

const [tool] = process.argv.slice(2);
const configurations = JSON.parse(readFileSync(new URL('configurations.json', import.meta.url), 'utf8'))[tool];
const payloads = JSON.parse(readFileSync(0, 'utf8'));
const mutate = await TOOLS[tool]();
const answers = [];
for (const [configuration, options] of Object.entries(configurations)) {
  for (const { id, code } of payloads) {
    try {
      answers.push({ id, configuration, code: await mutate(code, options) });
    } catch (error) {
      answers.push({ id, configuration, error: String(error.message ?? error) });
    }
  }
}
process.stdout.write(JSON.stringify(answers));
