/** The only writer of the price table: sun per energy by the longest duration a row holds for (Contract 3). */
import { Injectable } from '@nestjs/common';
import type { PriceRow } from '../domain/price.js';
import { recordAct, type Author } from '../store/audit-log.js';
import { Database } from '../store/database.js';
import { OperatorError } from '../domain/operator-error.js';

export interface PriceView {
  readonly duration_max_sec: number;
  readonly sun_per_energy: bigint;
}

@Injectable()
export class Prices {
  constructor(private readonly database: Database) {}

  /** Shortest duration first. */
  async list(): Promise<PriceView[]> {
    return this.database.query<PriceView>(
      `SELECT duration_max_sec, sun_per_energy FROM price_row ORDER BY duration_max_sec`,
    );
  }

  /** The table as quotes read it. */
  async rows(): Promise<PriceRow[]> {
    return (await this.list()).map((row) => ({
      durationMaxSec: row.duration_max_sec,
      sunPerEnergy: row.sun_per_energy,
    }));
  }

  /** Sets the price of durations up to `durationMaxSec`, down to the next shorter row. Returns the price before. */
  async set(durationMaxSec: number, sunPerEnergy: bigint, act: Author): Promise<bigint | undefined> {
    return this.database.transaction(async (tx) => {
      const [before] = await tx.query<PriceView>(
        `SELECT duration_max_sec, sun_per_energy FROM price_row WHERE duration_max_sec = $1 FOR UPDATE`,
        [durationMaxSec],
      );
      await tx.query(
        `INSERT INTO price_row (duration_max_sec, sun_per_energy) VALUES ($1, $2)
         ON CONFLICT (duration_max_sec) DO UPDATE SET sun_per_energy = excluded.sun_per_energy`,
        [durationMaxSec, sunPerEnergy],
      );
      await recordAct(tx, act, 'price.set', durationMaxSec.toString(), {
        before: before?.sun_per_energy.toString() ?? null,
        after: sunPerEnergy.toString(),
      });
      return before?.sun_per_energy;
    });
  }

  /** Removes a row; the durations it held for fall to the next longer one. The last row stays. */
  async remove(durationMaxSec: number, act: Author): Promise<void> {
    await this.database.transaction(async (tx) => {
      const rows = await tx.query<PriceView>(`SELECT duration_max_sec FROM price_row FOR UPDATE`);
      if (!rows.some((row) => row.duration_max_sec === durationMaxSec)) {
        throw new OperatorError(`There is no price row of ${durationMaxSec.toString()} s.`, 1, 'NOT_FOUND');
      }
      if (rows.length === 1) throw new OperatorError('The last price row stays: without one nothing can be sold.');
      await tx.query(`DELETE FROM price_row WHERE duration_max_sec = $1`, [durationMaxSec]);
      await recordAct(tx, act, 'price.remove', durationMaxSec.toString(), {});
    });
  }
}
