/**
 * Keeps what we sell equal to what the chain would let us delegate: reads every wallet in turn and sets its slots.
 * Never counts sun twice: whatever may not be in the chain's answer yet, or no longer, is taken off.
 */
import { Injectable } from '@nestjs/common';
import {
  accountOf,
  canDelegateMaxOf,
  resourcesOf,
  TronClient,
  type AccountResources,
  type ChainAccount,
} from '../chain/tron.client.js';
import { Config } from '../config/config.js';
import { monotonicMs } from '../base/clock.js';
import { SUN_PER_TRX, sun, type Sun } from '../domain/units.js';
import { Database, type Queryable } from '../store/database.js';
import {
  TRANSACTION_BYTES,
  TRANSACTIONS_PER_LEG,
  freeTransactions,
  transactionShares,
  transactionsPaidFor,
  type OpenLegs,
} from './bandwidth.js';
import { addToDay } from './wallet-days.js';
import { judgePermission, type WalletRole } from './wallet-permission.js';

/** Takes a wallet's turn: one process per wallet and interval. */
const TAKE_TURN = {
  name: 'pool_take_turn',
  text: `UPDATE pool_wallet SET synced_at = clock_timestamp()
    WHERE id = (SELECT id FROM pool_wallet
                 WHERE synced_at IS NULL OR synced_at < clock_timestamp() - $1 * interval '1 second'
                    -- From before the clock was set back.
                    OR synced_at > clock_timestamp() + interval '1 second'
                 ORDER BY synced_at NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, address, role, permission_id, key_address, clock_timestamp() AS started_at`,
};

const TAKE_WALLET = {
  name: 'pool_take_wallet',
  text: `UPDATE pool_wallet SET synced_at = clock_timestamp() WHERE address = $1
    RETURNING id, address, role, permission_id, key_address, clock_timestamp() AS started_at`,
};

/**
 * An activation is over once it is final: nothing of it is ever reclaimed, and what is over is not read again with every
 * reading. Whoever settled it, a process of the version before included.
 */
const END_ACTIVATIONS = {
  name: 'pool_end_activations',
  text: `UPDATE open_leg l SET status = 'reclaimed', closed_at = l.active_at, closed_reason = 'activated: nothing is to be reclaimed'
    FROM (SELECT l.id FROM open_leg l JOIN open_orders o ON o.id = l.order_id
           WHERE l.wallet_id = $1 AND l.kind = 'activation' AND l.status = 'active' AND o.settled
           ORDER BY l.id LIMIT 5000 FOR NO KEY UPDATE OF l SKIP LOCKED) ended
    WHERE l.id = ended.id`,
};

const LOCK_SLOTS = {
  name: 'pool_lock_slots',
  text: `SELECT slot_no, free_sun FROM pool_slot WHERE wallet_id = $1 ORDER BY slot_no FOR UPDATE`,
};

/**
 * Sun that the chain's answer may count as free although it is spoken for: legs not yet in a block, legs that came
 * into one since the question was asked or into one above the head that the answer is of, and undelegations that stand
 * in a mempool only. No node that is asked is an hour behind.
 */
const SPOKEN_FOR = {
  name: 'pool_spoken_for',
  text: `SELECT coalesce(sum(l.amount_sun), 0)::bigint AS sun FROM open_leg l WHERE l.wallet_id = $1
      AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      AND (l.status IN ('reserved', 'placed')
        OR (l.status = 'active' AND l.changed_at >= $2)
        OR (l.status = 'active' AND l.changed_at >= $2 - interval '1 hour' AND EXISTS (
              SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose <> 'reclaim'
                AND t.status NOT IN ('dead', 'dropped') AND t.block_number > $3))
        OR (l.status = 'reclaiming' AND EXISTS (
              SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('built', 'signed', 'sending'))))`,
};

/** Longer than any transaction lasts: what became a delegation before that is one for every statement of this reading. */
const LATELY = `interval '1 minute'`;

/** A leg's stake that the wallet does not have back: its reclaim, if there is one, is in no block that was read. */
const IS_HELD = `(l.status <> 'reclaiming' OR (SELECT t.id FROM open_chain_tx t
          WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')) IS NULL)`;

/**
 * Delegated legs, whose reclaims the wallet must still pay for, by whether they end within a day; the few that lately
 * became so are left to OPEN_LEGS. Counted before the slots are locked, since they are many: what moves on meanwhile is
 * counted as it was, or once more. A rental that is not settled may be undone at any time.
 */
const DELEGATED_LEGS = {
  name: 'pool_delegated_legs',
  text: `SELECT count(*) FILTER (WHERE NOT later) AS ending_soon, count(*) FILTER (WHERE later) AS ending_later,
      coalesce(sum(held), 0)::bigint AS held_sun
    FROM (SELECT o.settled AND o.ends_at > $3 AND l.status = 'active' AS later,
        CASE WHEN ${IS_HELD} THEN l.amount_sun END AS held
      FROM open_leg l JOIN open_orders o ON o.id = l.order_id
           WHERE l.wallet_id = $1 AND l.status IN ('active', 'reclaiming') AND l.changed_at < $2::timestamptz - ${LATELY}) open`,
};

/** Those of which no transaction is known to the answer, and the others that lately became delegations: by one look. */
const OPEN_LEGS = {
  name: 'pool_open_legs',
  text: `SELECT count(*) FILTER (WHERE is_unsent) AS unsent,
      count(*) FILTER (WHERE is_late AND NOT later) AS ending_soon, count(*) FILTER (WHERE is_late AND later) AS ending_later,
      coalesce(sum(held), 0)::bigint AS held_sun
    FROM (SELECT l.status IN ('reserved', 'placed') OR l.changed_at >= $2
          OR (l.status = 'active' AND EXISTS (
                SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose <> 'reclaim'
                  AND t.status NOT IN ('dead', 'dropped') AND t.block_number > $3)) AS is_unsent,
        l.status IN ('active', 'reclaiming') AND l.changed_at < $2 AND l.changed_at >= $2::timestamptz - ${LATELY} AS is_late,
        o.settled AND o.ends_at > $4 AND l.status = 'active' AS later,
        CASE WHEN (l.status IN ('reserved', 'placed') OR l.changed_at >= $2::timestamptz - ${LATELY}) AND ${IS_HELD}
          THEN l.amount_sun END AS held
      FROM open_leg l JOIN open_orders o ON o.id = l.order_id
     WHERE l.wallet_id = $1 AND (l.status IN ('reserved', 'placed')
        OR (l.status IN ('active', 'reclaiming') AND l.changed_at >= $2::timestamptz - interval '1 hour'))) open`,
};

const SET_SLOTS = {
  name: 'pool_set_slots',
  text: `UPDATE pool_slot s SET free_sun = v.free, free_transactions = v.transactions
    FROM unnest($2::smallint[], $3::bigint[], $4::bigint[]) AS v(slot_no, free, transactions)
    WHERE s.wallet_id = $1 AND s.slot_no = v.slot_no AND (s.free_sun <> v.free OR s.free_transactions <> v.transactions)`,
};

/**
 * The row's trigger makes its status of what holds it; the operator's own pause stays. The wallet sells for a minute, or
 * three of its rounds, from when this reading began; a gap beyond that is no round but an outage, and counts no longer.
 */
const SET_WALLET = {
  name: 'pool_set_wallet',
  text: `UPDATE pool_wallet w SET staked_sun = $2, delegated_sun = $3, free_sun_seen = $4, balance_sun = $5,
      wallet_fault = $6, recovering_sun = $7, transactions_seen = $8, net_limit = $9, net_used = $10, ends_counted_to = $11,
      read_at = $12, sells_until = $12::timestamptz + greatest(interval '60 seconds', 3 * $13::integer * interval '1 second',
        CASE WHEN w.read_at IS NOT NULL
          THEN 3 * least($12::timestamptz - w.read_at, w.sells_until - w.read_at, interval '5 minutes') END)
    WHERE w.id = $1`,
};

/** How the question after them is named. */
export const WALLET_FIGURES = 'the figures of a wallet';

interface Turn {
  readonly id: number;
  readonly address: string;
  readonly role: WalletRole;
  readonly permission_id: number;
  readonly key_address: string;
  readonly started_at: Date;
}

interface Reading {
  readonly account: ChainAccount | undefined;
  readonly resources: AccountResources | undefined;
  /** What the chain would let the wallet delegate, or, of an activation wallet, spend. */
  readonly free: Sun;
  /** The block up to which all of this holds, at least. */
  readonly headNumber: number;
  readonly headAtMs: number;
  /** TRON: getTransactionFee. */
  readonly feeSunPerByte: bigint;
}

/** Some of a wallet's open legs, and the stake that they hold. */
interface HeldLegs extends OpenLegs {
  readonly heldSun: bigint;
}

interface LegsRow {
  readonly unsent?: bigint;
  readonly ending_soon: bigint;
  readonly ending_later: bigint;
  readonly held_sun: bigint;
}

const NO_LEGS: HeldLegs = { unsent: 0n, endingSoon: 0n, endingLater: 0n, heldSun: 0n };

/** Up to when reclaims are paid for out of what is there now; later ones by what recovers until then. */
const DAY_MS = 86_400_000;
/** The fee changes by a vote of days; asked anew after this, for all wallets together. */
const FEE_FRESH_MS = 10_000;

@Injectable()
export class PoolSync {
  private fee: { readonly sunPerByte: bigint; readonly readAtMs: number } | undefined;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly config: Config,
  ) {}

  /** Brings the next wallet whose turn it is up to date; false when none is due. Throws when the chain is away. */
  async syncNext(): Promise<boolean> {
    const [turn] = await this.database.query<Turn>(TAKE_TURN, [this.config.pool.syncSec]);
    if (turn === undefined) return false;
    await this.bring(turn);
    return true;
  }

  /** Brings one wallet up to date now; false when there is none of this address. Throws when the chain is away. */
  async syncWallet(address: string): Promise<boolean> {
    const [turn] = await this.database.query<Turn>(TAKE_WALLET, [address]);
    if (turn === undefined) return false;
    await this.bring(turn);
    return true;
  }

  private async bring(turn: Turn): Promise<void> {
    const reading = await this.read(turn);
    if (turn.role === 'activation') await this.database.query(END_ACTIVATIONS, [turn.id]);
    await this.database.transaction(async (tx) => this.write(tx, turn, reading));
  }

  /** All figures of one node: those of two, or of two heads, would not belong together. */
  private async read(turn: Turn): Promise<Reading> {
    const feeSunPerByte = await this.transactionFee();
    return this.client.pool.ask(WALLET_FIGURES, async (node) => {
      const before = await node.readHead();
      const account = await accountOf(node, turn.address);
      const resources = account && (await resourcesOf(node, turn.address));
      const free =
        account === undefined
          ? sun(0)
          : turn.role === 'pool'
            ? await canDelegateMaxOf(node, turn.address)
            : account.balanceSun;
      // Backends behind one name take turns: the lower head is what every figure is known to be of.
      const after = await node.readHead();
      const head = before.number < after.number ? before : after;
      return { account, resources, free, headNumber: head.number, headAtMs: head.timestampMs, feeSunPerByte };
    });
  }

  private async transactionFee(): Promise<bigint> {
    if (this.fee === undefined || monotonicMs() - this.fee.readAtMs > FEE_FRESH_MS) {
      const parameters = await this.client.chainParameters(this.config.market.parameterBounds);
      this.fee = { sunPerByte: parameters.transactionFeeSunPerByte, readAtMs: monotonicMs() };
    }
    return this.fee.sunPerByte;
  }

  private async write(tx: Queryable, turn: Turn, reading: Reading): Promise<void> {
    const { account, resources, free, headNumber } = reading;
    const countedTo = new Date(reading.headAtMs + DAY_MS);
    const delegated = await this.delegatedLegs(tx, turn, countedTo);
    const slots = await tx.query<{ slot_no: number }>(LOCK_SLOTS, [turn.id]);
    const [spokenFor] = await tx.query<{ sun: bigint }>(SPOKEN_FOR, [turn.id, turn.started_at, headNumber]);
    const open = await this.openLegs(tx, turn, headNumber, countedTo);
    const left = free - (spokenFor?.sun ?? 0n);
    const stakedSun = account?.stakedForEnergySun ?? 0n;
    // What is free may be an older block's, by a backend that lags; what legs hold is not sold by its word.
    const unheld = turn.role === 'pool' ? stakedSun - delegated.heldSun - open.heldSun : left;
    const least = left < unheld ? left : unheld;
    const sellable = least > 0n ? least : 0n;
    const paidFor = this.paidFor(turn, reading);
    const transactions =
      turn.role === 'pool'
        ? freeTransactions(paidFor, resources?.netLimit ?? 0n, {
            unsent: open.unsent,
            endingSoon: delegated.endingSoon + open.endingSoon,
            endingLater: delegated.endingLater + open.endingLater,
          })
        : 0n;
    const shares = slots.map((_, index) => shareOf(sellable, slots.length, index));
    await tx.query(SET_SLOTS, [
      turn.id,
      slots.map((slot) => slot.slot_no),
      shares,
      transactionShares(transactions, slots.length),
    ]);
    const recoveringSun = recovering(turn, account, free);
    if (turn.role === 'pool' && resources !== undefined) {
      const [walletId, readAt, everySec] = [turn.id, turn.started_at, this.config.pool.syncSec];
      await addToDay(tx, { walletId, readAt, idleSun: sellable, recoveringSun, ratio: resources, everySec });
    }
    await tx.query(SET_WALLET, [
      turn.id,
      stakedSun,
      account?.delegatedEnergySun ?? 0n,
      sellable,
      account?.balanceSun ?? 0n,
      this.faultOf(turn, reading, paidFor) ?? null,
      recoveringSun,
      paidFor,
      resources?.netLimit ?? 0n,
      resources?.netUsed ?? 0n,
      countedTo,
      turn.started_at,
      this.config.pool.syncSec,
    ]);
  }

  /** An activation pays for its own bandwidth out of its amount, and nothing of it is ever reclaimed. */
  private async delegatedLegs(tx: Queryable, turn: Turn, countedTo: Date): Promise<HeldLegs> {
    if (turn.role !== 'pool') return NO_LEGS;
    return heldLegs(await tx.query<LegsRow>(DELEGATED_LEGS, [turn.id, turn.started_at, countedTo]));
  }

  private async openLegs(tx: Queryable, turn: Turn, headNumber: number, countedTo: Date): Promise<HeldLegs> {
    if (turn.role !== 'pool') return NO_LEGS;
    return heldLegs(await tx.query<LegsRow>(OPEN_LEGS, [turn.id, turn.started_at, headNumber, countedTo]));
  }

  private get reserveSun(): bigint {
    return BigInt(this.config.pool.minBandwidthTrx) * SUN_PER_TRX;
  }

  private paidFor({ role }: Turn, { account, resources, feeSunPerByte }: Reading): bigint {
    if (role !== 'pool' || account === undefined || resources === undefined) return 0n;
    return transactionsPaidFor({ ...resources, balanceSun: account.balanceSun }, feeSunPerByte, this.reserveSun);
  }

  /** Why nothing may be sold from this wallet just now; undefined when it may. Reclaims go on whatever this says. */
  private faultOf(turn: Turn, { account, resources }: Reading, paidFor: bigint): string | undefined {
    if (account === undefined || resources === undefined) return 'the wallet is not on chain';
    const verdict = judgePermission(account, turn.permission_id, turn.key_address, turn.role);
    const isAllowed = verdict.kind === 'wide' && this.config.pool.allowWidePermission.includes(turn.address);
    if (verdict.kind !== 'exact' && !isAllowed) return `the wallet ${verdict.says}`;
    // Staked bandwidth comes back by itself; without any, the operator must send TRX.
    const hasStaked = resources.netLimit >= TRANSACTIONS_PER_LEG * TRANSACTION_BYTES;
    const canPay = turn.role === 'pool' ? paidFor >= TRANSACTIONS_PER_LEG : account.balanceSun >= this.reserveSun;
    return hasStaked || canPay ? undefined : 'neither bandwidth nor TRX to burn for it';
  }
}

/** Own stake that is not delegated and cannot be: its energy was used and comes back over a day. */
function recovering(turn: Turn, account: ChainAccount | undefined, free: Sun): bigint {
  if (turn.role !== 'pool' || account === undefined) return 0n;
  const idle = account.stakedForEnergySun - account.delegatedEnergySun - free;
  return idle > 0n ? idle : 0n;
}

function heldLegs([row]: readonly LegsRow[]): HeldLegs {
  if (row === undefined) return NO_LEGS;
  const { unsent = 0n, ending_soon: endingSoon, ending_later: endingLater, held_sun: heldSun } = row;
  return { unsent, endingSoon, endingLater, heldSun };
}

/** The index-th of `count` near-equal parts. */
function shareOf(total: bigint, count: number, index: number): bigint {
  const base = total / BigInt(count);
  return BigInt(index) < total % BigInt(count) ? base + 1n : base;
}
