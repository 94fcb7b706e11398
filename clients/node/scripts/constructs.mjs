// Keeps what the package needs of the constructs: `evalward explain --list --format json | node scripts/constructs.mjs`.
import { readFileSync, writeFileSync } from 'node:fs';

const { schema, constructs } = JSON.parse(readFileSync(0, 'utf8'));
const rows = constructs.map(({ label, use_instead, repairable }) => ({ label, use_instead, repairable }));
const kept = { schema, constructs: rows };
writeFileSync(new URL('../constructs.json', import.meta.url), `${JSON.stringify(kept, null, 2)}\n`);
