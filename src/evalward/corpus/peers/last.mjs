// Follows a guard's module: {code} a line on standard input, {allowed, why} a line on standard output. A guard that throws
// denies.
import { createInterface } from 'node:readline';

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await judge(JSON.parse(line).code);
  } catch (error) {
    answer = { allowed: false, why: String(error?.name ?? 'error') };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
