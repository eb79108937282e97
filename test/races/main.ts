// `npm run races`: every race at full size (or `-- --short`), a table of figures, exit code 1 when one is off.
import { startServices, stopServices } from '../setup/services.js';
import type { Row } from './arena.js';
import { FULL, SHORT, runRaces } from './programme.js';

function print(row: Row): void {
  const mark = row.wanted === row.found ? 'ok ' : 'OFF';
  console.log(`${mark}  ${row.race}: ${row.done}`);
  console.log(`       found   ${row.found}`);
  if (row.wanted !== row.found) console.log(`       wanted  ${row.wanted}`);
}

await startServices();
try {
  const rows = await runRaces(process.argv.includes('--short') ? SHORT : FULL, print);
  const off = rows.filter((row) => row.wanted !== row.found).length;
  console.log(`\n${(rows.length - off).toString()} of ${rows.length.toString()} figures as wanted.`);
  process.exitCode = off === 0 ? 0 : 1;
} finally {
  await stopServices();
}
