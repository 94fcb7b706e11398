'use strict';
// Times programs in fresh realms, alternating: {original, hardened, rounds} -> {original, hardened} in ms, a time a round.
const vm = require('node:vm');

function time(script) {
  const context = vm.createContext({});
  const begun = process.hrtime.bigint();
  script.runInContext(context);
  return Number(process.hrtime.bigint() - begun) / 1e6;
}

require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { original, hardened, rounds } = JSON.parse(line);
  const scripts = [new vm.Script(original), new vm.Script(hardened)];
  const times = [[], []];
  for (const script of scripts) time(script);
  for (let round = 0; round < rounds; round++) {
    // The first of a round takes turns.
    for (const which of round % 2 ? [0, 1] : [1, 0]) times[which].push(time(scripts[which]));
  }
  process.stdout.write(`${JSON.stringify({ original: times[0], hardened: times[1] })}\n`);
});
