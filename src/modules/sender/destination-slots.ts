/** Spaces the requests of all senders to one host or address: twenty a second. */
import { Injectable } from '@nestjs/common';
import { Batcher } from '../../platform/support/batcher.js';
import { Database } from '../../platform/database/database.js';
import { isFromLaterClock } from '../../platform/database/lease-sql.js';

const SPACING_MS = 50;
const SPACING = `${SPACING_MS.toString()} * interval '1 millisecond'`;
const NOW = 'statement_timestamp()';

/** A slot beyond the usual distance was written by a later clock. */
const IS_STALE = isFromLaterClock('d.free_at', 1, NOW);

/**
 * $1 names, $2 slots wanted of each. Gives only slots that begin within a second, and no row for a name without one.
 * Rows are locked in one order, so that senders cannot deadlock. A row that another sender has just inserted is only
 * known at the conflict: our slots follow its.
 */
const RESERVE = {
  name: 'reserve_slots',
  text: `WITH wanted AS (SELECT * FROM unnest((SELECT $1::text[]), $2::int[]) AS v(name, slots)),
    known AS (SELECT d.name, d.free_at FROM webhook_destination d WHERE d.name IN (SELECT name FROM wanted)
       ORDER BY d.name FOR UPDATE),
    free AS (SELECT name, w.slots, CASE WHEN ${IS_STALE} THEN ${NOW} ELSE greatest(d.free_at, ${NOW}) END AS at
       FROM wanted w LEFT JOIN known d USING (name)),
    given AS (SELECT name, at,
         least(slots, ceil(extract(epoch FROM ${NOW} + interval '1 second' - at) * 1000 / ${SPACING_MS.toString()}))::int AS slots
       FROM free),
    kept AS (INSERT INTO webhook_destination AS d (name, free_at)
       SELECT name, at + slots * ${SPACING} FROM given WHERE slots > 0 ORDER BY name
       ON CONFLICT (name) DO UPDATE SET free_at = CASE WHEN ${IS_STALE} THEN excluded.free_at
         ELSE greatest(excluded.free_at, d.free_at + (SELECT slots FROM given g WHERE g.name = d.name) * ${SPACING}) END
       RETURNING name, free_at)
    SELECT name, slots, extract(epoch FROM free_at - slots * ${SPACING} - clock_timestamp())::float8 * 1000 AS "waitMs"
      FROM given JOIN kept USING (name)`,
};

interface Given {
  readonly name: string;
  readonly slots: number;
  /** Time until the first slot, ms; negative if it has begun. */
  readonly waitMs: number;
}

const LIMITS = { concurrent: 4, size: 100, waitMs: 10_000 };

@Injectable()
export class DestinationSlots {
  private readonly batcher: Batcher<string, number | undefined>;

  constructor(private readonly database: Database) {
    this.batcher = new Batcher(LIMITS, async (names) => this.reserveAll(names));
  }

  /** Returns the ms until the next request may go to a host or address; undefined if it is busy for a second. */
  async reserve(name: string): Promise<number | undefined> {
    return this.batcher.add(name);
  }

  /** The slots of a name go to its requests in their order. */
  private async reserveAll(names: readonly string[]): Promise<(number | undefined)[]> {
    const wanted = new Map<string, number>();
    for (const name of names) wanted.set(name, (wanted.get(name) ?? 0) + 1);
    const given = await this.database.query<Given>(RESERVE, [[...wanted.keys()], [...wanted.values()]]);
    const waits = new Map(
      given.map(({ name, slots, waitMs }) => [
        name,
        Array.from({ length: slots }, (_, index) => Math.max(0, waitMs + index * SPACING_MS)),
      ]),
    );
    return names.map((name) => waits.get(name)?.shift());
  }
}
