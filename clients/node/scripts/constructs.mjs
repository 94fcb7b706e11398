// Keeps what the package needs of the constructs: `evalward explain --list --format json | node scripts/constructs.mjs`.
import { readFileSync, writeFileSync } from 'node:fs';

const { schema, constructs } = JSON.parse(readFileSync(0, 'utf8'));
const kept = { schema, constructs: constructs.map(({ label, use_instead }) => ({ label, use_instead })) };
writeFileSync(new URL('../constructs.json', import.meta.url), `${JSON.stringify(kept, null, 2)}\n`);
