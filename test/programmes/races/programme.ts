// The races in order, at a size. Each returns table rows: action, expected result, actual result.
import { recordsOfAll, deliveredAndVerified } from './aftermath.js';
import { extendedOnce, keptSupplied, type KeepSize } from './auto-delegations.js';
import { lastBandwidth } from './bundles.js';
import { openCluster, type RaceCluster, type Row } from './cluster.js';
import { cutConnections, killedAtPoints, killedDuringCommit } from './deaths.js';
import { differentBodies, oneQuote, sameKey, TWO_BODIES, twoBodies } from './keys.js';
import { freeze, interleaved, lastCredit } from './money.js';

export interface Size {
  /** Pool sizes of the service's Postgres connections, one run with each. */
  readonly pools: readonly number[];
  readonly rounds: number;
  readonly parallel: number;
  readonly interleaved: number;
  readonly freezes: number;
  readonly kills: number;
  readonly cuts: number;
  readonly supply: KeepSize;
}

export const FULL: Size = {
  pools: [16, 1],
  rounds: 50,
  parallel: 200,
  interleaved: 10_000,
  freezes: 50,
  kills: 5,
  cuts: 50,
  supply: { rounds: 50, observers: 100, cuts: 20, interleaved: 5000 },
};
export const SHORT: Size = {
  pools: [16],
  rounds: 2,
  parallel: 40,
  interleaved: 300,
  freezes: 2,
  kills: 1,
  cuts: 2,
  supply: { rounds: 4, observers: 100, cuts: 2, interleaved: 300 },
};

/** Runs every race at every pool size; `onRow` receives each row immediately. */
export async function runRaces(size: Size, onRow: (row: Row) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const connections of size.pools) {
    const cluster = await openCluster(connections);
    const note = (...added: readonly Row[]) => {
      for (const row of added) {
        const named = connections === 1 ? { ...row, race: `${row.race} (pool of one connection)` } : row;
        rows.push(named);
        onRow(named);
      }
    };
    try {
      await raceAll(cluster, size, note);
    } finally {
      await cluster.close();
    }
  }
  return rows;
}

async function raceAll(cluster: RaceCluster, size: Size, note: (...added: readonly Row[]) => void): Promise<void> {
  const few = Math.max(1, Math.round(size.rounds / 5));
  const half = size.parallel / 2;
  note(await sameKey(cluster, size.rounds, size.parallel));
  note(await oneQuote(cluster, few, half));
  note(await differentBodies(cluster, few, half));
  for (const difference of TWO_BODIES) note(await twoBodies(cluster, few, half, difference));
  note(await lastBandwidth(cluster, size.parallel));
  note(await lastCredit(cluster, 'prepaid', size.parallel));
  note(await lastCredit(cluster, 'postpaid', size.parallel));
  note(await interleaved(cluster, size.interleaved));
  note(await freeze(cluster, size.freezes, half));
  note(...(await killedAtPoints(cluster, size.kills)));
  note(await killedDuringCommit(cluster, size.kills));
  note(...(await cutConnections(cluster, size.cuts)));
  await keptSupplied(cluster, size.supply, note);
  note(await recordsOfAll(cluster));
  await extendedOnce(cluster, size.supply, note);
  note(await deliveredAndVerified(cluster));
}
