// The races of `npm run races` at a small size: two API processes on one Postgres.
import { SHORT, runRaces } from '../../programmes/races/programme.js';

test('in every race exactly one wins, and nothing is lost or doubled', async () => {
  const rows = await runRaces(SHORT, () => undefined);
  const asFound = rows.map(({ race, found }) => ({ race, figure: found }));
  const asWanted = rows.map(({ race, wanted }) => ({ race, figure: wanted }));
  expect(asFound).toEqual(asWanted);
  expect(rows).toHaveLength(27);
}, 240_000);
