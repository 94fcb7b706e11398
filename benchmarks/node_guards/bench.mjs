// Times one guard for benchmarks/validate.py: node bench.mjs NAME. One JSON object a line on stdin, one answer a
// line on stdout: {code} sets the payload and warms the JIT on it, {count} runs that many judgements and answers
// {ns} for one.
import { createInterface } from 'node:readline';

const { judge } = await import(`./${process.argv[2]}.mjs`);
const WARM_NS = 300_000_000n;
let code = '';

function run(count) {
  let allowed = 0;
  const start = process.hrtime.bigint();
  for (let i = 0; i < count; i++) allowed += judge(code).allowed ? 1 : 0;
  return { ns: Number(process.hrtime.bigint() - start) / count, allowed: allowed === count };
}

function answer(request) {
  if (request.code === undefined) return run(request.count);
  ({ code } = request);
  const start = process.hrtime.bigint();
  let last = run(1);
  while (process.hrtime.bigint() - start < WARM_NS) last = run(8);
  return last;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
}
