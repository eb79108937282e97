/**
 * Keeps our slots equal to the stake that the chain would let us delegate, by reading each wallet in turn. Never counts
 * sun twice: it subtracts all stake that the chain's answer may not show as used yet, or may show as used no longer.
 */
import { Injectable } from '@nestjs/common';
import {
  accountOf,
  canDelegateMaxOf,
  resourcesOf,
  TronClient,
  type AccountResources,
  type ChainAccount,
} from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { monotonicMs } from '../../platform/support/clock.js';
import { SUN_PER_TRX, sun, type Sun } from '../../domain/units.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { closeActivations } from '../order-records/leg-transitions.js';
import {
  TRANSACTION_BYTES,
  TRANSACTIONS_PER_LEG,
  freeTransactions,
  transactionShares,
  transactionsPaidFor,
  type OpenLegs,
} from './bandwidth.js';
import { bandwidthLostBy, sellableBandwidthSun } from './bandwidth-stake.js';
import { addToDay } from './wallet-days.js';
import { judgePermission, type WalletRole } from './wallet-permission.js';

/**
 * True while bandwidth has a price, or an order that bought some may still need further stake: a running rental, or one
 * under way. Orders under way are many, so only a wallet that still has bandwidth for sale looks for one.
 */
const BANDWIDTH_IS_ASKED_FOR = `(EXISTS (SELECT FROM price_row WHERE sun_per_bandwidth IS NOT NULL)
      OR EXISTS (SELECT FROM open_orders WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL
        AND sun_per_bandwidth_e6 IS NOT NULL)
      OR EXISTS (SELECT FROM pool_slot s WHERE s.wallet_id = pool_wallet.id AND s.free_bandwidth_sun > 0)
        AND EXISTS (SELECT FROM open_orders WHERE next_run_at IS NOT NULL AND NOT settled AND bandwidth IS NOT NULL))`;

const TAKEN = `RETURNING id, address, role, permission_id, key_address, clock_timestamp() AS started_at,
      role = 'pool' AND ${BANDWIDTH_IS_ASKED_FOR} AS spares_bandwidth`;

/** Takes the next due wallet, so that one process reads it per interval. */
const TAKE_NEXT_WALLET = {
  name: 'pool_take_turn',
  text: `UPDATE pool_wallet SET synced_at = clock_timestamp()
    WHERE id = (SELECT id FROM pool_wallet
                 WHERE synced_at IS NULL OR synced_at < clock_timestamp() - $1 * interval '1 second'
                    -- From before the clock was set back.
                    OR synced_at > clock_timestamp() + interval '1 second'
                 ORDER BY synced_at NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED)
    ${TAKEN}`,
};

const TAKE_WALLET = {
  name: 'pool_take_wallet',
  text: `UPDATE pool_wallet SET synced_at = clock_timestamp() WHERE address = $1
    ${TAKEN}`,
};

const LOCK_SLOTS = {
  name: 'pool_lock_slots',
  text: `SELECT slot_no, free_sun FROM pool_slot WHERE wallet_id = $1 ORDER BY slot_no FOR UPDATE`,
};

/**
 * True for a leg with a delegation in a block after the answer's head ($3); null otherwise. LIMIT 1 instead of EXISTS,
 * which the planner may answer by reading all open transactions.
 */
const IS_IN_LATER_BLOCK = `(SELECT true FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose <> 'reclaim'
          AND t.status NOT IN ('dead', 'dropped') AND t.block_number > $3 LIMIT 1)`;

/**
 * Sun that the chain's answer may count as free although an order holds it. It covers legs in no block yet, and legs in
 * a block after the answer's head. It also covers legs included since the read began, and undelegations that are only
 * in a mempool. One hour bounds the search, because the pool asks no node that is an hour behind.
 */
export const SPOKEN_FOR = {
  name: 'pool_spoken_for',
  text: `SELECT coalesce(sum(l.amount_sun) FILTER (WHERE l.kind <> 'bandwidth'), 0)::bigint AS sun,
      coalesce(sum(l.amount_sun) FILTER (WHERE l.kind = 'bandwidth'), 0)::bigint AS bandwidth_sun
    FROM open_leg l WHERE l.wallet_id = $1
      AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      AND (l.status IN ('reserved', 'placed')
        OR (l.status = 'active' AND l.changed_at >= $2)
        OR (l.status = 'active' AND l.changed_at >= $2 - interval '1 hour' AND ${IS_IN_LATER_BLOCK})
        OR (l.status = 'reclaiming' AND (SELECT true FROM open_chain_tx t
             WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('built', 'signed', 'sending') LIMIT 1)))`,
};

/** The stake of each resource that the legs hold. */
const HELD_SUN = `coalesce(sum(held) FILTER (WHERE kind <> 'bandwidth'), 0)::bigint AS held_sun,
      coalesce(sum(held) FILTER (WHERE kind = 'bandwidth'), 0)::bigint AS held_bandwidth_sun`;

/** Longer than any transaction lasts: every statement of this reading sees a delegation older than this. */
const LATELY = `interval '1 minute'`;

/** True for a leg whose stake the wallet does not have again: its reclaim is absent, or in no block that was read. */
const IS_HELD = `(l.status <> 'reclaiming' OR (SELECT t.id FROM open_chain_tx t
          WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')) IS NULL)`;

/**
 * Counts delegated legs, whose reclaims the wallet must still pay for, by their end within a day or later. OPEN_LEGS
 * counts the few that were delegated in the last minute.
 *
 * Runs before the slots are locked, because these legs are many. A leg that changes meanwhile is counted in its old
 * state, or twice. A rental that is not settled may be undone at any time, so it counts as ending soon.
 */
const DELEGATED_LEGS = {
  name: 'pool_delegated_legs',
  text: `SELECT count(*) FILTER (WHERE NOT later) AS ending_soon, count(*) FILTER (WHERE later) AS ending_later,
      ${HELD_SUN}
    FROM (SELECT o.settled AND o.ends_at > $3 AND l.status = 'active' AS later, l.kind,
        CASE WHEN ${IS_HELD} THEN l.amount_sun END AS held
      FROM open_leg l JOIN open_orders o ON o.id = l.order_id
           WHERE l.wallet_id = $1 AND l.status IN ('active', 'reclaiming') AND l.changed_at < $2::timestamptz - ${LATELY}) open`,
};

/** Counts, in one snapshot, legs without a transaction that the answer knows, and legs delegated in the last minute. */
export const OPEN_LEGS = {
  name: 'pool_open_legs',
  text: `SELECT count(*) FILTER (WHERE is_unsent) AS unsent,
      count(*) FILTER (WHERE is_late AND NOT later) AS ending_soon, count(*) FILTER (WHERE is_late AND later) AS ending_later,
      ${HELD_SUN}
    FROM (SELECT l.kind, l.status IN ('reserved', 'placed') OR l.changed_at >= $2
          OR (l.status = 'active' AND ${IS_IN_LATER_BLOCK} IS true) AS is_unsent,
        l.status IN ('active', 'reclaiming') AND l.changed_at < $2 AND l.changed_at >= $2::timestamptz - ${LATELY} AS is_late,
        o.settled AND o.ends_at > $4 AND l.status = 'active' AS later,
        CASE WHEN (l.status IN ('reserved', 'placed') OR l.changed_at >= $2::timestamptz - ${LATELY}) AND ${IS_HELD}
          THEN l.amount_sun END AS held
      FROM open_leg l CROSS JOIN LATERAL (SELECT settled, ends_at FROM open_orders WHERE id = l.order_id OFFSET 0) o
     WHERE l.wallet_id = $1 AND (l.status IN ('reserved', 'placed')
        OR (l.status IN ('active', 'reclaiming') AND l.changed_at >= $2::timestamptz - interval '1 hour'))) open`,
};

const SET_SLOTS = {
  name: 'pool_set_slots',
  text: `UPDATE pool_slot s SET free_sun = v.free, free_transactions = v.transactions, free_bandwidth_sun = v.bandwidth
    FROM unnest($2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS v(slot_no, free, transactions, bandwidth)
    WHERE s.wallet_id = $1 AND s.slot_no = v.slot_no
      AND (s.free_sun, s.free_transactions, s.free_bandwidth_sun) IS DISTINCT FROM (v.free, v.transactions, v.bandwidth)`,
};

/**
 * The row's trigger derives the status from the faults; the operator's own pause remains. The wallet sells for a minute
 * from the start of this reading, or for three of its rounds if that is longer. A gap beyond five minutes, or beyond
 * the previous selling time, is an outage and counts no longer than that.
 */
const SET_WALLET = {
  name: 'pool_set_wallet',
  text: `UPDATE pool_wallet w SET staked_sun = $2, delegated_sun = $3, free_sun_seen = $4, balance_sun = $5,
      wallet_fault = $6, recovering_sun = $7, transactions_seen = $8, net_limit = $9, net_used = $10, ends_counted_to = $11,
      staked_bandwidth_sun = $14, delegated_bandwidth_sun = $15, read_at = $12, sells_until = $12::timestamptz + greatest(interval '60 seconds', 3 * $13::integer * interval '1 second',
        CASE WHEN w.read_at IS NOT NULL
          THEN 3 * least($12::timestamptz - w.read_at, w.sells_until - w.read_at, interval '5 minutes') END)
    WHERE w.id = $1`,
};

/** Name of the node request for a wallet's figures. */
export const WALLET_FIGURES = 'the figures of a wallet';

interface SyncedWallet {
  readonly id: number;
  readonly address: string;
  readonly role: WalletRole;
  readonly permission_id: number;
  readonly key_address: string;
  readonly started_at: Date;
  /** False if all bandwidth is for the wallet's own transactions. */
  readonly spares_bandwidth: boolean;
}

interface Reading {
  readonly account: ChainAccount | undefined;
  readonly resources: AccountResources | undefined;
  /** Sun that the chain would let the wallet delegate; for an activation wallet, sun it can spend. */
  readonly free: Sun;
  /** Sun that the chain would let a wallet that spares bandwidth delegate for it; 0 for any other. */
  readonly freeForBandwidth: Sun;
  /** The figures hold at least up to this block. */
  readonly headNumber: number;
  readonly headAtMs: number;
  /** TRON: getTransactionFee. */
  readonly feeSunPerByte: bigint;
}

/** Some of a wallet's open legs, and the stake that they hold. */
interface HeldLegs extends OpenLegs {
  readonly heldSun: bigint;
  readonly heldBandwidthSun: bigint;
}

interface LegsRow {
  readonly unsent?: bigint;
  readonly ending_soon: bigint;
  readonly ending_later: bigint;
  readonly held_sun: bigint;
  readonly held_bandwidth_sun: bigint;
}

const NO_LEGS: HeldLegs = { unsent: 0n, endingSoon: 0n, endingLater: 0n, heldSun: 0n, heldBandwidthSun: 0n };

/**
 * Reclaims within this time are paid for with present bandwidth and TRX; later ones also with bandwidth that recovers
 * until then.
 */
const DAY_MS = 86_400_000;
/** Votes change the fee over days. It is read again after this time, once for all wallets. */
const FEE_FRESH_MS = 10_000;

@Injectable()
export class PoolSync {
  private fee: { readonly sunPerByte: bigint; readonly readAtMs: number } | undefined;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly config: Config,
  ) {}

  /**
   * Reads the next wallet that is due and sets its slots. Returns false if none is due. Throws if the chain is
   * unavailable.
   */
  async syncNext(): Promise<boolean> {
    const [wallet] = await this.database.query<SyncedWallet>(TAKE_NEXT_WALLET, [this.config.pool.syncSec]);
    if (wallet === undefined) return false;
    await this.syncSlots(wallet);
    return true;
  }

  /**
   * Reads this wallet now and sets its slots. Returns false if the address has none. Throws if the chain is
   * unavailable.
   */
  async syncWallet(address: string): Promise<boolean> {
    const [wallet] = await this.database.query<SyncedWallet>(TAKE_WALLET, [address]);
    if (wallet === undefined) return false;
    await this.syncSlots(wallet);
    return true;
  }

  private async syncSlots(wallet: SyncedWallet): Promise<void> {
    const reading = await this.readFigures(wallet);
    if (wallet.role === 'activation') await closeActivations(this.database, wallet.id);
    await this.database.transaction(async (tx) => this.writeFigures(tx, wallet, reading));
  }

  /** Reads all figures from one node: figures of two nodes or two heads are not consistent. */
  private async readFigures(wallet: SyncedWallet): Promise<Reading> {
    const feeSunPerByte = await this.readTransactionFee();
    return this.client.pool.ask(WALLET_FIGURES, async (node) => {
      const before = await node.readHead();
      const account = await accountOf(node, wallet.address);
      const resources = account && (await resourcesOf(node, wallet.address));
      const free =
        account === undefined
          ? sun(0)
          : wallet.role === 'pool'
            ? await canDelegateMaxOf(node, wallet.address, 'ENERGY')
            : account.balanceSun;
      const freeForBandwidth =
        account !== undefined && wallet.spares_bandwidth
          ? await canDelegateMaxOf(node, wallet.address, 'BANDWIDTH')
          : sun(0);
      // Backends behind one host name take turns, so every figure is known to hold only at the lower head.
      const after = await node.readHead();
      const head = before.number < after.number ? before : after;
      const { number: headNumber, timestampMs: headAtMs } = head;
      return { account, resources, free, freeForBandwidth, headNumber, headAtMs, feeSunPerByte };
    });
  }

  private async readTransactionFee(): Promise<bigint> {
    if (this.fee === undefined || monotonicMs() - this.fee.readAtMs > FEE_FRESH_MS) {
      const parameters = await this.client.chainParameters(this.config.market.parameterBounds);
      this.fee = { sunPerByte: parameters.transactionFeeSunPerByte, readAtMs: monotonicMs() };
    }
    return this.fee.sunPerByte;
  }

  private async writeFigures(tx: Queryable, wallet: SyncedWallet, reading: Reading): Promise<void> {
    const { account, resources, free, headNumber } = reading;
    const countedTo = new Date(reading.headAtMs + DAY_MS);
    const delegated = await this.sumDelegatedLegs(tx, wallet, countedTo);
    const slots = await tx.query<{ slot_no: number }>(LOCK_SLOTS, [wallet.id]);
    const [spokenFor] = await tx.query<{ sun: bigint; bandwidth_sun: bigint }>(SPOKEN_FOR, [
      wallet.id,
      wallet.started_at,
      headNumber,
    ]);
    const open = await this.sumOpenLegs(tx, wallet, headNumber, countedTo);
    const left = free - (spokenFor?.sun ?? 0n);
    const stakedSun = account?.stakedForEnergySun ?? 0n;
    // A lagging backend may report free stake of an older block. Stake that legs hold is not sold because of it.
    const unheld = wallet.role === 'pool' ? stakedSun - delegated.heldSun - open.heldSun : left;
    const sellable = leastOf(left, unheld);
    const forBandwidth = leastOf(
      reading.freeForBandwidth - (spokenFor?.bandwidth_sun ?? 0n),
      (account?.stakedForBandwidthSun ?? 0n) - delegated.heldBandwidthSun - open.heldBandwidthSun,
    );
    const legs: OpenLegs = {
      unsent: open.unsent,
      endingSoon: delegated.endingSoon + open.endingSoon,
      endingLater: delegated.endingLater + open.endingLater,
    };
    const bandwidthSun = this.sellableBandwidth(resources, forBandwidth, legs);
    const ownNetLimit = ownNetLimitOf(resources, bandwidthSun);
    const paidFor = this.paidFor(wallet, reading, ownNetLimit);
    const transactions = wallet.role === 'pool' ? freeTransactions(paidFor, ownNetLimit, legs) : 0n;
    await tx.query(SET_SLOTS, [
      wallet.id,
      slots.map((slot) => slot.slot_no),
      slots.map((_, index) => shareOf(sellable, slots.length, index)),
      transactionShares(transactions, slots.length),
      slots.map((_, index) => shareOf(bandwidthSun, slots.length, index)),
    ]);
    const recoveringSun = recoveringSunOf(wallet, account, free);
    if (wallet.role === 'pool' && resources !== undefined) {
      const [walletId, readAt, everySec] = [wallet.id, wallet.started_at, this.config.pool.syncSec];
      await addToDay(tx, { walletId, readAt, idleSun: sellable, recoveringSun, ratio: resources, everySec });
    }
    await tx.query(SET_WALLET, [
      wallet.id,
      stakedSun,
      account?.delegatedEnergySun ?? 0n,
      sellable,
      account?.balanceSun ?? 0n,
      this.faultOf(wallet, reading, paidFor) ?? null,
      recoveringSun,
      paidFor,
      ownNetLimit,
      resources?.netUsed ?? 0n,
      countedTo,
      wallet.started_at,
      this.config.pool.syncSec,
      account?.stakedForBandwidthSun ?? 0n,
      account?.delegatedBandwidthSun ?? 0n,
    ]);
  }

  /** An activation pays for its own bandwidth from its amount, and nothing of it is ever reclaimed. */
  private async sumDelegatedLegs(tx: Queryable, wallet: SyncedWallet, countedTo: Date): Promise<HeldLegs> {
    if (wallet.role !== 'pool') return NO_LEGS;
    return heldLegs(await tx.query<LegsRow>(DELEGATED_LEGS, [wallet.id, wallet.started_at, countedTo]));
  }

  private async sumOpenLegs(
    tx: Queryable,
    wallet: SyncedWallet,
    headNumber: number,
    countedTo: Date,
  ): Promise<HeldLegs> {
    if (wallet.role !== 'pool') return NO_LEGS;
    return heldLegs(await tx.query<LegsRow>(OPEN_LEGS, [wallet.id, wallet.started_at, headNumber, countedTo]));
  }

  private get reserveSun(): bigint {
    return BigInt(this.config.pool.minBandwidthTrx) * SUN_PER_TRX;
  }

  /** `netLimit`: the bandwidth a day that is for the wallet's own transactions. */
  private paidFor({ role }: SyncedWallet, { account, resources, feeSunPerByte }: Reading, netLimit: bigint): bigint {
    if (role !== 'pool' || account === undefined || resources === undefined) return 0n;
    const means = { netLimit, netUsed: resources.netUsed, balanceSun: account.balanceSun };
    return transactionsPaidFor(means, feeSunPerByte, this.reserveSun);
  }

  /** TRON: a wallet's transactions take its staked bandwidth before its TRX, so those of open legs come first. */
  private sellableBandwidth(resources: AccountResources | undefined, canDelegateSun: bigint, legs: OpenLegs): Sun {
    if (resources === undefined || canDelegateSun === 0n) return sun(0);
    const needed = (TRANSACTIONS_PER_LEG * legs.unsent + legs.endingSoon) * TRANSACTION_BYTES;
    const kept = BigInt(this.config.pool.bandwidthKept);
    return sellableBandwidthSun({ ...resources, canDelegateSun, keptUnits: kept > needed ? kept : needed });
  }

  /** Returns the reason for which this wallet may sell nothing now, or undefined. Reclaims continue regardless. */
  private faultOf(wallet: SyncedWallet, { account, resources }: Reading, paidFor: bigint): string | undefined {
    if (account === undefined || resources === undefined) return 'the wallet is not on chain';
    const verdict = judgePermission(account, wallet.permission_id, wallet.key_address, wallet.role);
    const isAllowed = verdict.kind === 'wide' && this.config.pool.allowWidePermission.includes(wallet.address);
    if (verdict.kind !== 'exact' && !isAllowed) return `the wallet ${verdict.says}`;
    // Staked bandwidth recovers; a wallet without any needs TRX from the operator.
    const hasStaked = resources.netLimit >= TRANSACTIONS_PER_LEG * TRANSACTION_BYTES;
    const canPay = wallet.role === 'pool' ? paidFor >= TRANSACTIONS_PER_LEG : account.balanceSun >= this.reserveSun;
    return hasStaked || canPay ? undefined : 'neither bandwidth nor TRX to burn for it';
  }
}

/** Own stake that is neither delegated nor delegable: its energy was used and recovers over a day. */
function recoveringSunOf(wallet: SyncedWallet, account: ChainAccount | undefined, free: Sun): bigint {
  if (wallet.role !== 'pool' || account === undefined) return 0n;
  const idle = account.stakedForEnergySun - account.delegatedEnergySun - free;
  return idle > 0n ? idle : 0n;
}

function heldLegs([row]: readonly LegsRow[]): HeldLegs {
  if (row === undefined) return NO_LEGS;
  const { unsent = 0n, ending_soon: endingSoon, ending_later: endingLater } = row;
  return { unsent, endingSoon, endingLater, heldSun: row.held_sun, heldBandwidthSun: row.held_bandwidth_sun };
}

/** Returns a wallet's bandwidth a day without the units that it would lose with the stake for sale. */
function ownNetLimitOf(resources: AccountResources | undefined, bandwidthSun: Sun): bigint {
  if (resources === undefined) return 0n;
  const left = resources.netLimit - bandwidthLostBy(bandwidthSun, resources);
  return left > 0n ? left : 0n;
}

/** Returns the lower one, at least 0. */
function leastOf(a: bigint, b: bigint): bigint {
  const least = a < b ? a : b;
  return least > 0n ? least : 0n;
}

/** Returns the index-th of `count` near-equal parts. */
function shareOf(total: bigint, count: number, index: number): bigint {
  const base = total / BigInt(count);
  return BigInt(index) < total % BigInt(count) ? base + 1n : base;
}
