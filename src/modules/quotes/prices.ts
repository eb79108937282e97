/** The only writer of the price table: prices by the longest duration that a row covers. */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { OperatorError } from '../../domain/operator-error.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { PriceRow } from '../../platform/database/entities/price-row.entity.js';

/** Serializes changes of the same rows. */
const LOCKED = { mode: 'pessimistic_write' } as const;

@Injectable()
export class Prices {
  constructor(
    @InjectRepository(PriceRow) private readonly prices: Repository<PriceRow>,
    private readonly database: Database,
  ) {}

  /** Returns the rows, shortest duration first. */
  async list(): Promise<PriceRow[]> {
    return this.prices.find({ order: { durationMaxSec: 'ASC' } });
  }

  /** Sets the price of durations up to `durationMaxSec`, down to the next shorter row. Returns the previous price. */
  async set(durationMaxSec: number, sunPerEnergy: bigint, act: Author): Promise<bigint | undefined> {
    return this.database.transaction(async (tx) => {
      const before = await lockedPrice(tx, durationMaxSec);
      await write(tx, { durationMaxSec, sunPerEnergy, before }, act);
      return before;
    });
  }

  /** Like `set`, but returns false if the price is no longer `expected` (undefined: no row). */
  async setIf(
    durationMaxSec: number,
    sunPerEnergy: bigint,
    expected: bigint | undefined,
    act: Author,
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const before = await lockedPrice(tx, durationMaxSec);
      if (before !== expected) return false;
      await write(tx, { durationMaxSec, sunPerEnergy, before }, act);
      return true;
    });
  }

  /**
   * Sets the price of one unit of bandwidth in an existing row; null sells none. Returns the previous price. Throws
   * OperatorError if there is no such row.
   */
  async setBandwidth(durationMaxSec: number, sunPerBandwidth: bigint | null, act: Author): Promise<bigint | null> {
    return this.database.transaction(async (tx) => {
      const rows = tx.repository(PriceRow);
      const row = await rows.findOne({ where: { durationMaxSec }, lock: LOCKED });
      if (row === null) throw noSuchRow(durationMaxSec);
      await rows.update({ durationMaxSec }, { sunPerBandwidth });
      await recordAct(tx, act, {
        action: 'price.set-bandwidth',
        subject: durationMaxSec.toString(),
        detail: { before: row.sunPerBandwidth, after: sunPerBandwidth },
      });
      return row.sunPerBandwidth;
    });
  }

  /** Removes a row; the next longer row then covers its durations. Refuses to remove the last row. */
  async remove(durationMaxSec: number, act: Author): Promise<void> {
    await this.database.transaction(async (tx) => this.removeIn(tx, durationMaxSec, act));
  }

  /** Like `remove`, but returns false if the price is no longer `expected`. */
  async removeIf(durationMaxSec: number, expected: bigint | undefined, act: Author): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      if ((await lockedPrice(tx, durationMaxSec)) !== expected) return false;
      await this.removeIn(tx, durationMaxSec, act);
      return true;
    });
  }

  private async removeIn(tx: Transaction, durationMaxSec: number, act: Author): Promise<void> {
    const prices = tx.repository(PriceRow);
    const rows = await prices.find({ lock: LOCKED });
    if (!rows.some((row) => row.durationMaxSec === durationMaxSec)) {
      throw noSuchRow(durationMaxSec);
    }
    if (rows.length === 1)
      throw new OperatorError('The last price row cannot be removed: nothing could be sold without it.');
    await prices.delete({ durationMaxSec });
    await recordAct(tx, act, { action: 'price.remove', subject: durationMaxSec.toString(), detail: {} });
  }
}

function noSuchRow(durationMaxSec: number): OperatorError {
  return new OperatorError(
    `There is no price row of ${durationMaxSec.toString()} s. \`price list\` shows the rows.`,
    1,
    'NOT_FOUND',
  );
}

async function lockedPrice(tx: Transaction, durationMaxSec: number): Promise<bigint | undefined> {
  return (await tx.repository(PriceRow).findOne({ where: { durationMaxSec }, lock: LOCKED }))?.sunPerEnergy;
}

interface EnergyPrice {
  readonly durationMaxSec: number;
  readonly sunPerEnergy: bigint;
  readonly before: bigint | undefined;
}

async function write(
  tx: Transaction,
  { durationMaxSec, sunPerEnergy, before }: EnergyPrice,
  act: Author,
): Promise<void> {
  await tx.repository(PriceRow).upsert({ durationMaxSec, sunPerEnergy }, ['durationMaxSec']);
  await recordAct(tx, act, {
    action: 'price.set',
    subject: durationMaxSec.toString(),
    detail: { before: before ?? null, after: sunPerEnergy },
  });
}
