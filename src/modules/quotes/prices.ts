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

/** One of the service's advisory locks. Two changes may add the same row, which neither can lock before. */
const CHANGING = 4_202_003;
const CHANGE_ALONE = `SELECT pg_advisory_xact_lock(${CHANGING.toString()})`;

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
      const before = (await lockedRow(tx, durationMaxSec))?.sunPerEnergy;
      await write(tx, { durationMaxSec, sunPerEnergy, before }, act);
      return before;
    });
  }

  /** Sets both prices of a row; returns false and changes nothing if they are no longer `expected`. */
  async setIf(
    row: BothPrices & { readonly durationMaxSec: number },
    expected: BothPrices,
    act: Author,
  ): Promise<boolean> {
    const { durationMaxSec, sunPerEnergy, sunPerBandwidth = null } = row;
    return this.database.transaction(async (tx) => {
      const found = await lockedRow(tx, durationMaxSec);
      if (!isAsExpected(found, expected) || sunPerEnergy === undefined) return false;
      await write(tx, { durationMaxSec, sunPerEnergy, before: found?.sunPerEnergy }, act);
      const before = found?.sunPerBandwidth ?? null;
      if (sunPerBandwidth !== before) await writeBandwidth(tx, { durationMaxSec, price: sunPerBandwidth, before }, act);
      return true;
    });
  }

  /**
   * Sets the price of one unit of bandwidth in an existing row; null sells none. Returns the previous price. Throws
   * OperatorError if there is no such row.
   */
  async setBandwidth(durationMaxSec: number, sunPerBandwidth: bigint | null, act: Author): Promise<bigint | null> {
    return this.database.transaction(async (tx) => {
      const row = await lockedRow(tx, durationMaxSec);
      if (row === undefined) throw noSuchRow(durationMaxSec);
      const before = row.sunPerBandwidth;
      await writeBandwidth(tx, { durationMaxSec, price: sunPerBandwidth, before }, act);
      return before;
    });
  }

  /** Removes a row; the next longer row then covers its durations. Refuses to remove the last row. */
  async remove(durationMaxSec: number, act: Author): Promise<void> {
    await this.database.transaction(async (tx) => this.removeIn(tx, durationMaxSec, act));
  }

  /** Like `remove`, but returns false if the prices are no longer `expected`. */
  async removeIf(durationMaxSec: number, expected: BothPrices, act: Author): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      if (!isAsExpected(await lockedRow(tx, durationMaxSec), expected)) return false;
      await this.removeIn(tx, durationMaxSec, act);
      return true;
    });
  }

  private async removeIn(tx: Transaction, durationMaxSec: number, act: Author): Promise<void> {
    await tx.query(CHANGE_ALONE);
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

/** The prices of a row; undefined for no row, or where no bandwidth is sold. */
interface BothPrices {
  readonly sunPerEnergy: bigint | undefined;
  readonly sunPerBandwidth: bigint | undefined;
}

/** Returns the row. Until the transaction ends, no other one changes, adds or removes it. */
async function lockedRow(tx: Transaction, durationMaxSec: number): Promise<PriceRow | undefined> {
  await tx.query(CHANGE_ALONE);
  return (await tx.repository(PriceRow).findOne({ where: { durationMaxSec }, lock: LOCKED })) ?? undefined;
}

function isAsExpected(row: PriceRow | undefined, { sunPerEnergy, sunPerBandwidth }: BothPrices): boolean {
  return row?.sunPerEnergy === sunPerEnergy && (row?.sunPerBandwidth ?? undefined) === sunPerBandwidth;
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

interface BandwidthPrice {
  readonly durationMaxSec: number;
  readonly price: bigint | null;
  readonly before: bigint | null;
}

async function writeBandwidth(
  tx: Transaction,
  { durationMaxSec, price, before }: BandwidthPrice,
  act: Author,
): Promise<void> {
  await tx.repository(PriceRow).update({ durationMaxSec }, { sunPerBandwidth: price });
  await recordAct(tx, act, {
    action: 'price.set-bandwidth',
    subject: durationMaxSec.toString(),
    detail: { before, after: price },
  });
}
