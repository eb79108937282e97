/**
 * Holds back an implausible TRX/USD rate. It waits in `market_state`, shared by all processes, until the operator
 * confirms it or it has persisted for an hour. Ages are by the database's clock.
 */
import { Injectable } from '@nestjs/common';
import { parseRate, rateText } from '../../domain/conversion.js';
import type { RateE8 } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';

export const RATE_NAME = 'trx-usd';
const HELD_NAME = 'trx-usd-held';

/** A rate further from the last stored one than this, in percent, is doubtful. */
const MOVE_PERCENT_MAX = 20n;
/** A rate this many times above or below FALLBACK_TRX_USD is doubtful, regardless of the stored rate. */
const BAND_FACTOR = 10n;
/** Readings this close to the held rate, in percent, count as the same rate. */
const SAME_PERCENT = 5;
/** Readings further apart than this do not prove that the rate persisted in between. */
const GAP_SEC_MAX = 300;

export interface StoredRate {
  readonly rate: RateE8;
  /**
   * Out of the band, but confirmed by the operator or persistent. Later rates within the allowed move raise no new
   * doubt.
   */
  readonly isVouched: boolean;
}

export interface HeldRate {
  readonly rate: RateE8;
  /** Seconds since the same rate was first read. */
  readonly heldSec: number;
  /** Seconds since it was last read. */
  readonly seenSec: number;
}

export function encodeRate({ rate, isVouched }: StoredRate) {
  return { rate: rateText(rate), ...(isVouched && { vouched: true }) };
}

export function decodeRate(json: unknown): StoredRate | undefined {
  if (typeof json !== 'object' || json === null || !('rate' in json) || typeof json.rate !== 'string') return undefined;
  const rate = parseRate(json.rate);
  return rate === undefined ? undefined : { rate, isVouched: 'vouched' in json && json.vouched === true };
}

export function isInBand(rate: RateE8, fallback: RateE8): boolean {
  return rate * BAND_FACTOR >= fallback && rate <= fallback * BAND_FACTOR;
}

/** Returns the reason why a rate must not be charged at without confirmation, as a clause; undefined when it may be. */
export function doubtOf(rate: RateE8, last: StoredRate | undefined, fallback: RateE8): string | undefined {
  if (last !== undefined) {
    const moved = rate > last.rate ? rate - last.rate : last.rate - rate;
    if (moved * 100n > last.rate * MOVE_PERCENT_MAX) {
      return `it moved by more than ${MOVE_PERCENT_MAX.toString()} % from ${rateText(last.rate)}`;
    }
    if (last.isVouched) return undefined;
  }
  if (isInBand(rate, fallback)) return undefined;
  return `it differs by more than a factor of ${BAND_FACTOR.toString()} from FALLBACK_TRX_USD (${rateText(fallback)})`;
}

interface HeldRow {
  readonly rate: string;
  readonly held_sec: number;
  readonly seen_sec: number;
}

const COLUMNS = `value->>'rate' AS rate, extract(epoch FROM clock_timestamp() - measured_at)::float8 AS held_sec,
  (extract(epoch FROM clock_timestamp()) - (value->>'seen')::float8)::float8 AS seen_sec`;

const LOOK = { name: 'held-rate-look', text: `SELECT ${COLUMNS} FROM market_state WHERE name = $1` };

// A clock set back, a gap in the readings or another rate restarts the wait: only a continuously seen rate has
// persisted.
const HOLD = {
  name: 'held-rate-hold',
  text: `INSERT INTO market_state AS m (name, value, measured_at)
         VALUES ($1, jsonb_build_object('rate', $2::text, 'seen', extract(epoch FROM clock_timestamp())), clock_timestamp())
         ON CONFLICT (name) DO UPDATE SET
           value = CASE WHEN m.measured_at <= clock_timestamp()
                         AND extract(epoch FROM clock_timestamp()) - (m.value->>'seen')::numeric BETWEEN 0 AND $3
                         AND abs((m.value->>'rate')::numeric - $2::numeric) * 100 <= (m.value->>'rate')::numeric * $4
                        THEN m.value || jsonb_build_object('seen', extract(epoch FROM clock_timestamp()))
                        ELSE excluded.value END,
           measured_at = CASE WHEN m.measured_at <= clock_timestamp()
                               AND extract(epoch FROM clock_timestamp()) - (m.value->>'seen')::numeric BETWEEN 0 AND $3
                               AND abs((m.value->>'rate')::numeric - $2::numeric) * 100 <= (m.value->>'rate')::numeric * $4
                              THEN m.measured_at ELSE excluded.measured_at END
         RETURNING ${COLUMNS}`,
};

const DROP = { name: 'held-rate-drop', text: `DELETE FROM market_state WHERE name = $1` };

// Stored with the age of its last reading, so that a confirmation does not make the rate look younger.
const STORE = `INSERT INTO market_state (name, value, measured_at)
  VALUES ($1, $2::jsonb, clock_timestamp() - make_interval(secs => $3::float8))
  ON CONFLICT (name) DO UPDATE SET value = excluded.value, measured_at = excluded.measured_at, lease_until = NULL`;

@Injectable()
export class HeldRates {
  constructor(private readonly database: Database) {}

  /** Returns the held rate; undefined without one. */
  async readHeld(): Promise<HeldRate | undefined> {
    const [row] = await this.database.query<HeldRow>(LOOK, [HELD_NAME]);
    return heldFrom(row);
  }

  /** Holds a rate back, or records another reading of the held one. */
  async hold(rate: RateE8): Promise<HeldRate | undefined> {
    const [row] = await this.database.query<HeldRow>(HOLD, [HELD_NAME, rateText(rate), GAP_SEC_MAX, SAME_PERCENT]);
    return heldFrom(row);
  }

  async drop(): Promise<void> {
    await this.database.query(DROP, [HELD_NAME]);
  }

  /** Returns the rate used for charges and its age in seconds; undefined before the first one. */
  async stored(): Promise<{ readonly rate: RateE8; readonly ageSec: number } | undefined> {
    const [row] = await this.database.query<{ value: unknown; age_sec: number }>(
      `SELECT value, extract(epoch FROM clock_timestamp() - measured_at)::float8 AS age_sec
         FROM market_state WHERE name = $1`,
      [RATE_NAME],
    );
    const stored = decodeRate(row?.value);
    return row === undefined || stored === undefined ? undefined : { rate: stored.rate, ageSec: row.age_sec };
  }

  /** Makes the held rate the one used for charges. Returns false when the held rate is no longer `rate`. */
  async confirm(rate: RateE8, fallback: RateE8, act: Author): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.query<HeldRow>(`${LOOK.text} FOR UPDATE`, [HELD_NAME]);
      const held = heldFrom(row);
      if (held?.rate !== rate) return false;
      const [before] = await tx.query<{ value: unknown }>(`SELECT value FROM market_state WHERE name = $1`, [
        RATE_NAME,
      ]);
      const value = JSON.stringify(encodeRate({ rate, isVouched: !isInBand(rate, fallback) }));
      await tx.query(STORE, [RATE_NAME, value, Math.max(0, held.seenSec)]);
      await tx.query(DROP, [HELD_NAME]);
      const last = decodeRate(before?.value);
      await recordAct(tx, act, {
        action: 'price.confirm-rate',
        subject: RATE_NAME,
        detail: {
          before: last === undefined ? null : rateText(last.rate),
          after: rateText(rate),
          held_sec: Math.round(held.heldSec),
        },
      });
      return true;
    });
  }
}

function heldFrom(row: HeldRow | undefined): HeldRate | undefined {
  const rate = row === undefined ? undefined : parseRate(row.rate);
  return row === undefined || rate === undefined ? undefined : { rate, heldSec: row.held_sec, seenSec: row.seen_sec };
}
