// `npm run races`: every race at full size (or `-- --short`). Prints a table; exit code 1 if a result differs.
import { parseArgs } from 'node:util';
import { startServices, stopServices } from '../../setup/services.js';
import type { Row } from './cluster.js';
import { FULL, SHORT, runRaces } from './programme.js';

function print(row: Row): void {
  const mark = row.wanted === row.found ? 'ok ' : 'OFF';
  console.log(`${mark}  ${row.race}: ${row.done}`);
  console.log(`       found   ${row.found}`);
  if (row.wanted !== row.found) console.log(`       wanted  ${row.wanted}`);
}

const HELP = `npm run races -- [--short]

  --short  a small round of every race
`;

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { short: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  await startServices();
  try {
    const rows = await runRaces(values.short ? SHORT : FULL, print);
    const off = rows.filter((row) => row.wanted !== row.found).length;
    console.log(`\n${(rows.length - off).toString()} of ${rows.length.toString()} figures as wanted.`);
    return off === 0 ? 0 : 1;
  } finally {
    await stopServices();
  }
}
