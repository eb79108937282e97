// Computes a report's expected sums from the rows, one by one, without the database.
import type { ReportBy } from '../../../src/modules/reports/report-service.js';
import type { Database } from '../../../src/platform/database/database.js';

const RECOVERY = '00000000-0000-0000-0000-000000000000';

interface Raw {
  readonly entries: readonly {
    kind: string;
    credits: bigint;
    project_id: string;
    order_id: bigint | null;
    created_at: Date;
  }[];
  readonly orders: ReadonlyMap<
    bigint,
    { project_id: string; price_sun: bigint; trx_usd_e8: bigint; energy: bigint | null; duration_sec: number | null }
  >;
  readonly legs: readonly {
    order_id: bigint;
    leg_no: number;
    wallet_id: number;
    amount_sun: bigint;
    status: string;
    top_up: boolean;
    id: bigint;
    energy: bigint | null;
  }[];
  readonly burnt: readonly {
    order_id: bigint;
    leg_id: bigint;
    purpose: string;
    wallet_id: number;
    block_at: Date;
    fee_sun: bigint | null;
    status: string;
  }[];
  readonly wallets: ReadonlyMap<number, string>;
}

/** Returns every row that a report uses. */
export async function rawRows(database: Database): Promise<Raw> {
  const all = async <R extends object>(table: string) => database.query<R>(`SELECT * FROM ${table} ORDER BY id`);
  const orders = await all<{
    id: bigint;
    project_id: string;
    price_sun: bigint;
    trx_usd_e8: bigint;
    energy: bigint | null;
    duration_sec: number | null;
  }>('orders');
  const wallets = await all<{ id: number; address: string }>('pool_wallet');
  return {
    entries: await all('credit_entry'),
    orders: new Map(orders.map((row) => [row.id, row])),
    legs: await all('leg'),
    burnt: await all('chain_tx'),
    wallets: new Map(wallets.map(({ id, address }) => [id, address])),
  };
}

type Sums = Map<string, Record<string, bigint>>;

function add(sums: Sums, key: string, name: string, amount: bigint): void {
  const row = sums.get(key) ?? {};
  row[name] = (row[name] ?? 0n) + amount;
  sums.set(key, row);
}

/** Splits an amount over the legs that bear it. The first leg takes the remainder. */
function partsOf(amount: bigint, legs: Raw['legs']): [number | undefined, bigint][] {
  const bearing = legs.filter((leg) => !leg.top_up);
  const live = bearing.filter((leg) => leg.status !== 'released');
  const chosen = (live.length > 0 ? live : bearing).sort((a, b) => a.leg_no - b.leg_no);
  if (chosen.length === 0) return [[undefined, amount]];
  const total = chosen.reduce((sum, leg) => sum + leg.amount_sun, 0n);
  const parts = chosen.map((leg): [number, bigint] => [leg.wallet_id, (amount * leg.amount_sun) / total]);
  parts[0]![1] += amount - parts.reduce((sum, [, part]) => sum + part, 0n);
  return parts;
}

const NAMES: Readonly<Record<string, string>> = {
  charge: 'revenueCredits',
  refund: 'refundsCredits',
  compensation: 'compensationsCredits',
  topup: 'topupsCredits',
  adjustment: 'adjustmentsCredits',
};

/** Computes the report's sums one row at a time. */
export function addedUp({ entries, orders, legs, burnt, wallets }: Raw, by: ReportBy, from: Date, before: Date): Sums {
  const sums: Sums = new Map();
  const dayOf = (at: Date): string => at.toISOString().slice(0, 10);
  for (const entry of entries) {
    if (entry.created_at < from || entry.created_at >= before) continue;
    const order = entry.order_id === null ? undefined : orders.get(entry.order_id);
    const sign = entry.kind === 'charge' ? 1n : -1n;
    const isPriced = entry.kind === 'charge' || entry.kind === 'refund';
    const sun =
      order === undefined
        ? 0n
        : isPriced
          ? sign * order.price_sun
          : -((entry.credits * 10_000_000n) / order.trx_usd_e8);
    const energy = order !== undefined && isPriced ? sign * (order.energy ?? 0n) * BigInt(order.duration_sec ?? 0) : 0n;
    const amount = entry.kind === 'charge' ? -entry.credits : entry.credits;
    const ofOrder = legs.filter((leg) => leg.order_id === entry.order_id);
    for (const [name, value] of [
      [NAMES[entry.kind]!, amount],
      ['netSun', sun],
      ['energySec', energy],
    ] as const) {
      if (by === 'wallet') {
        for (const [wallet, part] of partsOf(value, ofOrder)) add(sums, wallets.get(wallet ?? 0) ?? 'none', name, part);
      } else add(sums, by === 'day' ? dayOf(entry.created_at) : entry.project_id, name, value);
    }
  }
  for (const tx of burnt) {
    if (tx.status !== 'solid' || tx.block_at < from || tx.block_at >= before) continue;
    const order = orders.get(tx.order_id)!;
    const key = { day: dayOf(tx.block_at), project: order.project_id, wallet: wallets.get(tx.wallet_id)! }[by];
    add(sums, key, 'transactions', 1n);
    add(sums, key, 'transactionsWithoutCost', tx.fee_sun === null ? 1n : 0n);
    add(sums, key, 'chainCostSun', tx.fee_sun ?? 0n);
    const leg = legs.find(({ id }) => id === tx.leg_id)!;
    if (leg.top_up) {
      add(sums, key, 'freeTopUpCostSun', tx.fee_sun ?? 0n);
      if (tx.purpose === 'delegate') add(sums, key, 'freeTopUpEnergy', leg.energy ?? 0n);
    }
    if (order.project_id !== RECOVERY) add(sums, key, 'chainCostUsdE14', (tx.fee_sun ?? 0n) * order.trx_usd_e8);
  }
  return sums;
}
