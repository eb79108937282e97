// Auto-delegations on the fulfilment fixture: set as a merchant would, read from the records.
import type { Credits } from '../../../src/domain/units.js';
import { Refills } from '../../../src/modules/auto-delegations/refills.js';
import type { Customer } from '../api/client.js';
import { keepSelling } from '../api/factory.js';
import type { SteppedWorker } from './fulfilment-fixture.js';
import { api, customer, devnet, mine } from './fulfilment-fixture.js';

export interface Settings {
  readonly keep_energy?: number;
  readonly refill_below?: number;
  readonly duration_sec?: number;
  readonly max_sun_per_energy?: number;
  readonly daily_cap_credits?: number;
  readonly idle_after_sec?: number;
  readonly until?: Date;
  /** The service chooses the duration of each purchase, as if the request had named none. */
  readonly auto_duration?: boolean;
}

const DEFAULTS = { keep_energy: 130_000, duration_sec: 3600, daily_cap_credits: 1_000_000_000, idle_after_sec: 86_400 };

/** Upserts an auto-delegation as the API does. Returns its id. */
export async function setAuto(address: string, settings: Settings = {}, of: Customer = customer): Promise<bigint> {
  const all = { ...DEFAULTS, ...settings };
  const below = all.refill_below ?? Math.floor(all.keep_energy * 0.8);
  const [row] = await api.database.query<{ id: bigint }>(
    `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
         max_sun_per_energy, daily_cap_credits, idle_after_sec, until, auto_duration, due_at)
       VALUES ($1, $2, $1, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp())
       ON CONFLICT (project_id, address) DO UPDATE SET keep_energy = excluded.keep_energy, refill_below = excluded.refill_below,
         duration_sec = excluded.duration_sec, max_sun_per_energy = excluded.max_sun_per_energy,
         daily_cap_credits = excluded.daily_cap_credits, idle_after_sec = excluded.idle_after_sec, until = excluded.until,
         due_at = excluded.due_at, asleep = false, used_at = NULL, fence = auto_delegation.fence + 1
       RETURNING id`,
    [
      ...[of.merchant, address, all.keep_energy, below, all.duration_sec, all.max_sun_per_energy ?? null],
      ...[all.daily_cap_credits, all.idle_after_sec, all.until ?? null, all.auto_duration ?? false],
    ],
  );
  return row!.id;
}

export interface AutoRow {
  readonly asleep: boolean;
  readonly pause_reason: string | null;
  readonly paused_at: Date | null;
  readonly purchases: bigint;
  readonly open_order_id: bigint | null;
  readonly spent_credits: Credits;
  readonly usable_energy: bigint | null;
  readonly used_block: bigint | null;
  readonly daily_uses: readonly number[] | null;
  readonly due_at: Date | null;
  readonly change_at: Date | null;
  readonly check_at: Date | null;
  readonly failures: number;
}

/** Returns the seconds until the turn of an auto-delegation in the slow round. */
export async function turnSecOf(id: bigint): Promise<number> {
  const [row] = await api.database.query<{ sec: number }>(
    'SELECT extract(epoch FROM check_at - clock_timestamp())::float8 AS sec FROM auto_delegation WHERE id = $1',
    [id],
  );
  return row!.sec;
}

export async function autoRow(id: bigint): Promise<AutoRow> {
  const [row] = await api.database.query<AutoRow>(`SELECT * FROM auto_delegation WHERE id = $1`, [id]);
  return row!;
}

export interface AutoOrder {
  readonly id: bigint;
  readonly key: string;
  readonly energy: bigint;
  readonly status: string;
  readonly credits: bigint;
  readonly extensions: number;
  readonly settled: boolean;
  readonly ends_at: Date | null;
  readonly duration_sec: number;
}

/** Records uses as a worker that has watched the address would: `daily` from the newest day, which is `onMs`. */
export async function leaveUses(id: bigint, onMs: number, daily: readonly number[]): Promise<void> {
  await api.database.query('UPDATE auto_delegation SET uses_on = $2, daily_uses = $3 WHERE id = $1', [
    ...[id, new Date(onMs).toISOString().slice(0, 10), daily],
  ]);
}

/** Returns the orders of an auto-delegation, oldest first. */
export async function ordersOf(id: bigint): Promise<AutoOrder[]> {
  return api.database.query<AutoOrder>(
    `SELECT id, key, energy, status, credits, extensions, settled, ends_at, duration_sec FROM orders
      WHERE key LIKE 'auto\\_' || $1 || '\\_%' ORDER BY id`,
    [id.toString()],
  );
}

/** Makes every waiting auto-delegation due and checks all of them. */
export async function refill(worker: SteppedWorker): Promise<void> {
  await keepSelling(api.database);
  await api.database.query(`UPDATE auto_delegation SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()`);
  await worker.chain().pool.nodes[0]!.readHead();
  for (let rest = 20; rest > 0 && (await worker.part(Refills).checkDue()); rest -= 1);
}

/** Makes blocks and runs all work that follows from them. */
export async function nextBlock(worker: SteppedWorker, count = 1): Promise<void> {
  await mine(count);
  await worker.followChain();
  await refill(worker);
  await worker.advance();
}

/** Returns the energy that the address can use, as the chain reports it. */
export async function usableOf(address: string): Promise<number> {
  const response = await fetch(`${devnet.fullUrl}/wallet/getaccountresource`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ address, visible: true }),
    signal: AbortSignal.timeout(5000),
  });
  const { EnergyLimit: limit = 0, EnergyUsed: used = 0 } = (await response.json()) as Record<string, number>;
  return limit - used;
}
