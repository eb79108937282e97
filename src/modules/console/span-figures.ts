/** The spending and saving of a project between two moments, by the ledger and the energy that its receivers used. */
import { Injectable } from '@nestjs/common';
import { creditsOf } from '../../domain/conversion.js';
import { sun, toJsonInteger, type RateE8 } from '../../domain/units.js';
import { ACTIVATIONS_OF_ENTRY } from '../../platform/database/order-details-sql.js';
import { Replica } from '../../platform/database/replica.js';
import { money } from './answers.js';
import type { MeasuredSaving } from './data-shapes.js';
import { OrderRecordReader } from './order-records.js';

/** Limits the newest entries of a span. Beyond it the figures cover only these, and state since when. */
const ENTRIES_MAX = 50_000;

/**
 * Sums ledger entries from `$3` to `$4` by UTC day: charges minus refunds and compensations. The energy that the
 * receiver of a rental used is compared with burning it, at the energy fee (`$5` if it was not kept) and the rate of the
 * sale, on the day of the charge. What an order got back counts there on that day too, whenever it came: otherwise the
 * day of a refund would save what the day of its charge lost. Activations and bandwidth count as spent but burn no
 * energy: an order with them counts only the share of its energy.
 */
const DAYS_OF = {
  name: 'console_month',
  text: `WITH span AS (
      SELECT credits, order_id, kind, entry_key, created_at,
             CASE kind WHEN 'charge' THEN 1 WHEN 'refund' THEN -1 ELSE 0 END AS sales
        FROM credit_entry
       WHERE project_id = $1 AND created_at > $3 AND created_at <= $4
         AND kind IN ('charge', 'refund', 'compensation')
       ORDER BY created_at DESC, id DESC LIMIT $2)
    SELECT to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
      coalesce(-sum(e.credits) FILTER (WHERE e.is_of_span), 0)::bigint AS credits,
      coalesce(-sum(e.credits - coalesce(div(e.credits::numeric * s.beside, s.whole), 0))
        FILTER (WHERE o.kind = 'rental' AND (e.kind = 'charge' OR NOT e.is_of_span)), 0)::bigint AS energy_credits,
      coalesce(sum(e.sales) FILTER (WHERE o.kind = 'rental' AND x.number IS NULL), 0)::int AS orders,
      coalesce(sum(e.sales * o.energy) FILTER (WHERE x.number IS NULL), 0)::bigint AS energy,
      coalesce(sum(u.energy * coalesce(o.energy_fee_sun, $5)::numeric * o.trx_usd_e8)
        FILTER (WHERE e.kind = 'charge' AND x.number IS NULL), 0)::text AS burning_rate,
      coalesce(sum(u.energy) FILTER (WHERE e.kind = 'charge' AND x.number IS NULL), 0)::bigint AS used_energy,
      coalesce(bool_or(o.test OR u.order_id IS NOT NULL AND coalesce(o.energy_fee_sun, $5) IS NULL), false) AS is_unmeasured,
      CASE WHEN sum(count(*) FILTER (WHERE e.is_of_span)) OVER () >= $2 THEN min(min(e.created_at)) OVER () END AS since
    FROM (SELECT span.*, true AS is_of_span FROM span
          UNION ALL
          SELECT b.credits, b.order_id, b.kind, b.entry_key, span.created_at, 0, false
            FROM span CROSS JOIN LATERAL (
              SELECT credits, order_id, kind, entry_key FROM credit_entry
               WHERE entry_key = 'refund:' || span.order_id AND order_id = span.order_id
              UNION ALL
              SELECT credits, order_id, kind, entry_key FROM credit_entry
               WHERE kind = 'compensation' AND order_id = span.order_id) b
           WHERE span.kind = 'charge' AND span.entry_key = 'charge:' || span.order_id) e
    LEFT JOIN orders o ON o.id = e.order_id
    LEFT JOIN order_extension x ON x.order_id = e.order_id AND x.number = CASE WHEN e.kind = 'charge'
      AND e.entry_key LIKE 'charge:%:ext:%' THEN split_part(e.entry_key, ':', 4)::smallint END
    LEFT JOIN rental_use u ON u.order_id = e.order_id
    CROSS JOIN LATERAL (SELECT ${ACTIVATIONS_OF_ENTRY} AS activations) a
    CROSS JOIN LATERAL (SELECT coalesce(o.bandwidth_credits, 0) + a.activations * coalesce(o.activation_credits, 0) AS beside,
      nullif(o.credits - (1 - a.activations) * coalesce(o.activation_credits, 0), 0) AS whole) s
    GROUP BY 1`,
};

export interface DayRow {
  readonly day: string;
  readonly credits: bigint;
  readonly energy_credits: bigint;
  readonly orders: number;
  readonly energy: bigint;
  /** Sun times rate. */
  readonly burning_rate: string;
  readonly used_energy: bigint;
  readonly is_unmeasured: boolean;
  readonly since: Date | null;
}

@Injectable()
export class SpanFigures {
  constructor(
    private readonly replica: Replica,
    private readonly orderRecordReader: OrderRecordReader,
  ) {}

  /** Reads entries later than `from`, up to `to`. */
  async entries(projectId: string, from: Date | string, to: Date | string, fee: bigint | undefined): Promise<DayRow[]> {
    return this.replica.readNow((on) => on.query<DayRow>(DAYS_OF, [projectId, ENTRIES_MAX, from, to, fee]));
  }

  /**
   * Returns what the orders charged in a UTC month saved by now. Undefined without a measured use, and with more
   * entries than are counted.
   */
  async savingOf(projectId: string, month: string): Promise<MeasuredSaving | undefined> {
    const fee = await this.orderRecordReader.energyFee();
    const rows = await this.entries(projectId, lastMomentBefore(month), lastMomentBefore(nextMonth(month)), fee);
    const { burning, forEnergy } = sumOf(rows);
    const used = total(rows, (row) => row.used_energy);
    if (burning === undefined || used === 0n || rows.some(({ since }) => since !== null)) return undefined;
    return {
      used_energy: toJsonInteger(used),
      burning: money(burning),
      saved: money(burning - forEnergy),
    };
  }
}

/** `month` is YYYY-MM, as the result is. */
function nextMonth(month: string): string {
  const next = new Date(`${month}-01T00:00:00Z`);
  next.setUTCMonth(next.getUTCMonth() + 1);
  return next.toISOString().slice(0, 7);
}

/** Entries are read after a moment, which is not in the span itself. Postgres counts microseconds. */
function lastMomentBefore(month: string): string {
  return `${new Date(Date.parse(`${month}-01T00:00:00Z`) - 1).toISOString().slice(0, -1)}999Z`;
}

interface DaySums {
  readonly spent: bigint;
  readonly forEnergy: bigint;
  readonly burning: bigint | undefined;
}

export function total<T>(of: readonly T[], valueOf: (one: T) => bigint): bigint {
  return of.reduce((sum, one) => sum + valueOf(one), 0n);
}

/** `burning` is undefined where savings are not measured. */
export function sumOf(of: readonly DayRow[]): DaySums {
  return {
    spent: total(of, ({ credits }) => credits),
    forEnergy: total(of, ({ energy_credits: credits }) => credits),
    burning: of.some((row) => row.is_unmeasured)
      ? undefined
      : total(of, (row) => creditsOf(sun(BigInt(row.burning_rate)), 1n as RateE8)),
  };
}
