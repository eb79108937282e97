// The races in their order, at a size. Each gives rows of a table: what was done, what is wanted, what was found.
import { booksAtLarge, openArena, type Row } from './arena.js';
import { cutConnections, killedAtPoints, killedDuringCommit } from './deaths.js';
import { differentBodies, oneQuote, sameKey, twoBodies } from './keys.js';
import { freeze, interleaved, lastCredit } from './money.js';

export interface Size {
  readonly rounds: number;
  readonly parallel: number;
  readonly interleaved: number;
  readonly freezes: number;
  readonly kills: number;
  readonly cuts: number;
}

export const FULL: Size = { rounds: 50, parallel: 200, interleaved: 10_000, freezes: 50, kills: 5, cuts: 50 };
export const SHORT: Size = { rounds: 2, parallel: 40, interleaved: 300, freezes: 2, kills: 1, cuts: 2 };

/** Runs every race; `onRow` hears of each row as it comes. */
export async function runRaces(size: Size, onRow: (row: Row) => void): Promise<Row[]> {
  const rows: Row[] = [];
  const note = (...added: readonly Row[]) => {
    for (const row of added) {
      rows.push(row);
      onRow(row);
    }
  };
  const few = Math.max(1, Math.round(size.rounds / 5));
  const half = size.parallel / 2;
  const arena = await openArena(16);
  try {
    note(await sameKey(arena, size.rounds, size.parallel));
    note(await oneQuote(arena, few, half));
    note(await differentBodies(arena, few, half));
    note(await twoBodies(arena, few, half));
    note(await lastCredit(arena, 'prepaid', size.parallel));
    note(await lastCredit(arena, 'postpaid', size.parallel));
    note(await interleaved(arena, size.interleaved));
    note(await freeze(arena, size.freezes, half));
    note(...(await killedAtPoints(arena, size.kills)));
    note(await killedDuringCommit(arena, size.kills));
    note(...(await cutConnections(arena, size.cuts)));
    note(await booksAtLarge(arena));
  } finally {
    await arena.close();
  }
  const narrow = await openArena(1);
  try {
    const named = (row: Row): Row => ({ ...row, race: `${row.race} (pool of one connection)` });
    note(named(await sameKey(narrow, few, size.parallel)));
    note(named(await oneQuote(narrow, few, half)));
    note(named(await differentBodies(narrow, few, half)));
    note(named(await lastCredit(narrow, 'prepaid', size.parallel)));
    note(named(await lastCredit(narrow, 'postpaid', size.parallel)));
    note(named(await interleaved(narrow, Math.round(size.interleaved / 10))));
    note(named(await freeze(narrow, Math.max(1, Math.round(size.freezes / 5)), half)));
    note(named(await booksAtLarge(narrow)));
  } finally {
    await narrow.close();
  }
  return rows;
}
