// Customers with overlapping rentals for one receiver: a long one, and short ones that end after their energy was used.
// After healing, each receiver's usable energy is compared with the purchased energy, block by block.
import { sleep } from '../../../src/platform/support/clock.js';
import { namedChainAccount, type ChainAccount, type Wallet } from '../../../packages/local/src/chain-account.js';
import type { Merchant } from '../../../packages/local/src/merchant.js';
import type { LocalService } from '../../../packages/local/src/local-service.js';
import type { ReadRows } from '../../support/webhooks/webhook-judge.js';
import { expectedUsable, type Rental } from './usable-judge.js';
import { UsesOnChain } from './uses-on-chain.js';

const CUSTOMERS = 2;
/** Ended by a jump of the chain's clock, so that it outlasts every fault. */
const LONG = { energy: 60_000, duration_sec: 7_200 };
/** More than a transfer to a holder uses. */
const SHORT = { energy: 70_000, duration_sec: 120 };
/** In chain time: a rental gets no further leg in its last minute. */
const TOP_UP_TIME_LEFT_MS = 60_000;
/** The service compensates for growth of the network's stake from 1 % on. */
const DRIFT = 0.01;
/** Without pool capacity, a top-up is retried every 30 s; a killed process needs as long to recover. */
const GRACE_MS = 90_000;
const LOOK_MS = 500;
const ANSWERS_MAX = 60;
const READS_MAX = 20;
const FEE_LIMIT_SUN = 100_000_000;
const SPENDING_SUN = 5_000_000_000;
const TOKENS = 1_000_000_000n;

const RENTALS = `SELECT o.key, o.receive_address AS receiver, o.energy::text, o.settled,
    round(extract(epoch FROM o.delivered_at) * 1000)::text AS delivered, round(extract(epoch FROM o.ends_at) * 1000)::text AS ends,
    o.reclaimed_at IS NOT NULL AS over,
    EXISTS (SELECT FROM reclaim_usage u JOIN chain_tx t ON t.id = u.tx_id
      WHERE u.order_id = o.id AND t.status IN ('included', 'solid')) AS read
  FROM orders o WHERE o.key LIKE $1 AND o.status = 'delivered'`;

/**
 * The energy that the pool can delegate now. Customers' used energy moves to the pool with their reclaims and recovers
 * within a day of the chain, and a wallet that failed to deliver is left out for minutes.
 */
const ROOM = `SELECT coalesce(sum(w.free_sun) * 1000000 / (SELECT max(sun_per_energy_e6) FROM orders WHERE key LIKE $1), 0)::float8 AS energy,
    (SELECT json_agg(json_build_object('address', address, 'status', status, 'recovering_sun', recovering_sun)) FROM pool_wallet)::text AS wallets,
    (SELECT max(top_up_after) FROM orders WHERE key LIKE $1 AND reclaimed_at IS NULL)::text AS top_up_after
  FROM (SELECT sum(s.free_sun) AS free_sun FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
    WHERE w.role = 'pool' AND w.status = 'active' AND w.sells_until > clock_timestamp()
    GROUP BY s.wallet_id HAVING sum(s.free_transactions) >= 2) w`;

interface Room {
  readonly energy: number;
  readonly wallets: string;
  readonly top_up_after: string | null;
}

interface Shortage {
  readonly missing: number;
  readonly says: string;
}

const STATUS = `SELECT status FROM orders WHERE key = $1`;

interface RentalRow {
  readonly key: string;
  readonly receiver: string;
  readonly energy: string;
  readonly settled: boolean;
  readonly delivered: string;
  readonly ends: string;
  readonly over: boolean;
  readonly read: boolean;
}

interface Play {
  /** One project at each API. */
  readonly merchants: readonly Merchant[];
  /** Prefix of every key. */
  readonly run: string;
  readonly read: ReadRows;
}

interface Customer {
  readonly account: ChainAccount;
  readonly name: string;
  orders: number;
}

export class Overlapping {
  private uses: UsesOnChain;
  private judged = 0;
  private unread = 0;
  /** True after a failover lost reclaims: the service cannot compensate for usage that those left behind. */
  private isExcused = false;

  private constructor(
    private readonly service: LocalService,
    /** Wallet client that bypasses injected node faults. */
    private readonly directWallet: Wallet,
    private readonly customers: readonly Customer[],
  ) {
    this.uses = new UsesOnChain(directWallet, this.addresses);
  }

  /** Gives each customer TRX to burn and tokens to send. */
  static async begin(service: LocalService, directWallet: Wallet): Promise<Overlapping> {
    const customers = Array.from({ length: CUSTOMERS }, (_, n) => {
      const name = `overlap-${n.toString()}`;
      return { account: namedChainAccount(name), name, orders: 0 };
    });
    for (const { account } of customers) {
      const body = { owner_address: service.bank.address, to_address: account.address, amount: SPENDING_SUN };
      await directWallet.sendUntilIncluded('createtransaction', body, service.bank);
      await directWallet.transferToken(service.token, service.accounts[0]!, account.address, TOKENS, FEE_LIMIT_SUN);
    }
    return new Overlapping(service, directWallet, customers);
  }

  get addresses(): readonly string[] {
    return this.customers.map(({ account }) => account.address);
  }

  /** Comparisons of usable energy in this round; undefined if it was not judged. */
  get comparisons(): number | undefined {
    return this.isExcused ? undefined : this.judged;
  }

  get summary(): string {
    return (
      `usable energy was compared ${this.judged.toString()} times` +
      (this.isExcused ? '; not judged, since commits were lost' : '') +
      (this.unread > 0 ? `; ${this.unread.toString()} reclaims went without a reading` : '')
    );
  }

  excuse(): void {
    this.isExcused = true;
  }

  /** Rents and uses energy repeatedly until the signal aborts. */
  async keepRenting(play: Play, signal: AbortSignal): Promise<void> {
    this.isExcused = false;
    [this.judged, this.unread] = [0, 0];
    this.uses = new UsesOnChain(this.directWallet, this.addresses);
    await this.uses.begin();
    await Promise.all(
      this.customers.map(async (customer) => {
        while (!signal.aborted) {
          await this.useOne(customer, play, signal).catch(() => undefined);
          await sleep(LOOK_MS, signal);
        }
      }),
    );
  }

  /**
   * Lets one more short rental of each customer end. Returns each receiver that had less than sold minus used energy
   * for longer than the grace period. Ends the long rentals by advancing the chain's clock. `limitMs` bounds the short
   * rentals.
   */
  async violations(play: Play, limitMs: number): Promise<string[]> {
    const over = AbortSignal.timeout(limitMs);
    const last = new AbortController();
    const watching = this.watch(play, last.signal);
    await Promise.all(this.customers.map(async (customer) => this.useOne(customer, play, over).catch(() => undefined)));
    last.abort();
    const found = await watching;
    await this.endLong(play);
    return this.isExcused ? [] : found;
  }

  /**
   * Rents for a short time during the long rental, which it buys first if none is running. Uses the energy and waits
   * for the end.
   */
  private async useOne(customer: Customer, play: Play, signal: AbortSignal): Promise<void> {
    const nowMs = await this.directWallet.headTime();
    const rentals = (await this.rentals(play)).get(customer.account.address) ?? [];
    const hasLong = rentals.some((rental) => this.isLong(rental, nowMs));
    // Beside no long rental there is nothing to compare.
    if (!hasLong && (await this.rent(customer, play, LONG, signal)) === undefined) return;
    const key = await this.rent(customer, play, SHORT, signal);
    if (key === undefined || signal.aborted) return;
    // A fork may drop the transaction, or revert its reference block.
    await this.directWallet
      .transferToken(this.service.token, customer.account, this.service.bank.address, 1n, FEE_LIMIT_SUN)
      .catch(() => undefined);
    await this.waitFor(signal, async () => (await this.rowOf(play, key))?.over === true);
  }

  private isLong(row: RentalRow, nowMs: number): boolean {
    return Number(row.energy) === LONG.energy && Number(row.ends) - nowMs > (LONG.duration_sec * 1000) / 4;
  }

  /** Returns the key once the rental is settled; undefined if it is refused or fails. */
  private async rent(
    customer: Customer,
    play: Play,
    rental: typeof SHORT,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { merchants, run, read } = play;
    const key = `${run}-${customer.name}-${(customer.orders += 1).toString()}`;
    const body = { receive_address: customer.account.address, ...rental };
    let isAccepted = false;
    for (let asked = 0; asked < ANSWERS_MAX && !signal.aborted; asked += 1) {
      const merchant = merchants[asked % merchants.length]!;
      const answer = await merchant.post('/v1/orders', body, { 'Idempotency-Key': key }).catch(() => undefined);
      isAccepted = answer !== undefined && answer.status < 300;
      if (isAccepted) break;
      if (answer !== undefined && answer.status < 500 && answer.status !== 429) return undefined;
      await sleep(LOOK_MS, signal);
    }
    // A later request of the same key would have found the order of a lost answer.
    if (!isAccepted) return undefined;
    const isSettled = await this.waitFor(signal, async () => {
      const [order] = await read<{ status: string }>(STATUS, [key]);
      if (order !== undefined && !['reserved', 'placed', 'unresolved', 'delivered'].includes(order.status)) return true;
      return (await this.rowOf(play, key))?.settled === true;
    });
    return isSettled ? key : undefined;
  }

  /**
   * Checks every receiver until `last` aborts and none is short. Returns those that were short for longer than the
   * grace period while the pool had room for it.
   */
  private async watch(play: Play, last: AbortSignal): Promise<string[]> {
    const shortSince = new Map<string, number>();
    for (;;) {
      const isLast = last.aborted;
      const short = await this.short(play);
      const nowMs = performance.now();
      const [room] = await play.read<Room>(ROOM, [`${play.run}-overlap-%`]);
      for (const receiver of this.addresses) {
        // A top-up has headroom and is split among wallets.
        const isDue = 1.2 * (short.get(receiver)?.missing ?? Infinity) <= (room?.energy ?? 0);
        if (!isDue) shortSince.delete(receiver);
        else if (!shortSince.has(receiver)) shortSince.set(receiver, nowMs);
      }
      const late = [...shortSince].filter(([, sinceMs]) => nowMs - sinceMs > GRACE_MS);
      if (late.length > 0)
        return late.map(
          ([receiver]) => `${short.get(receiver)?.says ?? receiver}; the pool has ${JSON.stringify(room)}`,
        );
      if (isLast && shortSince.size === 0) return [];
      await sleep(LOOK_MS);
    }
  }

  /** Describes each receiver with less usable energy than expected now. */
  private async short(play: Play): Promise<ReadonlyMap<string, Shortage>> {
    const short = new Map<string, Shortage>();
    const rentals = await this.rentals(play);
    for (const receiver of this.addresses) {
      const rows = rentals.get(receiver) ?? [];
      const found = await this.usableOf(receiver);
      if (found === undefined || !isJudgeable(rows, found.atMs)) continue;
      const { atMs, usable } = found;
      const uses = (await this.uses.upTo(atMs)).get(receiver) ?? [];
      const list = rows.map(toRental);
      this.judged += 1;
      this.unread = list.filter(({ takesUsage, endsAtMs }) => !takesUsage && endsAtMs <= atMs).length;
      const running = list.filter(({ endsAtMs }) => endsAtMs > atMs);
      const tolerance = running.reduce((sum, { energy }) => sum + energy, 0) * DRIFT;
      const expected = expectedUsable(list, uses, atMs);
      if (usable >= expected - tolerance) continue;
      const keys = running.map(({ key }) => key).join(', ');
      const says =
        `order ${keys}: at least ${Math.ceil(expected - tolerance).toString()} energy of ${receiver} must be usable, ` +
        `found ${usable.toString()}; rentals ${JSON.stringify(list)}, uses ${JSON.stringify(uses)}`;
      short.set(receiver, { missing: expected - usable, says });
    }
    return short;
  }

  /** Reads the usable energy at one block; undefined if each attempt was interrupted by a new block. */
  private async usableOf(receiver: string): Promise<{ atMs: number; usable: number } | undefined> {
    for (let asked = 0; asked < READS_MAX; asked += 1) {
      const atMs = await this.directWallet.headTime();
      const { limit, used } = await this.directWallet.energyOf(receiver);
      if ((await this.directWallet.headTime()) === atMs) return { atMs, usable: limit - used };
    }
    return undefined;
  }

  private async endLong(play: Play): Promise<void> {
    const ends = [...(await this.rentals(play)).values()].flat().map((row) => Number(row.ends));
    const timestamp = Math.max(...ends) + 3_000;
    if (ends.length === 0 || (await this.directWallet.headTime()) >= timestamp) return;
    const body = JSON.stringify({ blocks: [{ timestamp }] });
    await fetch(`${this.service.controlUrl}/mine`, { method: 'POST', body, signal: AbortSignal.timeout(10_000) });
  }

  /** Returns the delivered rentals of each receiver. */
  private async rentals({ run, read }: Play): Promise<ReadonlyMap<string, readonly RentalRow[]>> {
    const rows = await read<RentalRow>(RENTALS, [`${run}-overlap-%`]);
    return new Map(this.addresses.map((address) => [address, rows.filter(({ receiver }) => receiver === address)]));
  }

  private async rowOf({ read }: Play, key: string): Promise<RentalRow | undefined> {
    return (await read<RentalRow>(RENTALS, [key]))[0];
  }

  private async waitFor(signal: AbortSignal, isSo: () => Promise<boolean>): Promise<boolean> {
    while (!signal.aborted) {
      if (await isSo().catch(() => false)) return true;
      await sleep(LOOK_MS, signal);
    }
    return false;
  }
}

/** Returns true if a top-up is due: a long rental runs, none is in its last minute, and no reclaim is pending. */
function isJudgeable(rows: readonly RentalRow[], atMs: number): boolean {
  const running = rows.filter(({ ends }) => Number(ends) > atMs);
  const hasLong = running.some(({ energy, settled }) => settled && Number(energy) === LONG.energy);
  return (
    hasLong &&
    running.every(({ ends, settled }) => settled && Number(ends) > atMs + TOP_UP_TIME_LEFT_MS) &&
    rows.every(({ ends, over }) => over || Number(ends) > atMs)
  );
}

function toRental({ key, energy, delivered, ends, read }: RentalRow): Rental {
  return {
    key,
    energy: Number(energy),
    deliveredAtMs: Number(delivered),
    endsAtMs: Number(ends),
    takesUsage: read,
  };
}
