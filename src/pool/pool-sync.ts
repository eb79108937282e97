/**
 * Keeps what we sell equal to what the chain would let us delegate: reads every wallet in turn and sets its slots.
 * Never counts sun twice: whatever may not be in the chain's answer yet, or no longer, is taken off.
 */
import { Inject, Injectable } from '@nestjs/common';
import {
  accountOf,
  canDelegateMaxOf,
  resourcesOf,
  TronClient,
  type AccountResources,
  type ChainAccount,
} from '../chain/tron.client.js';
import { Config } from '../config.js';
import { crashPoint } from '../crash-point.js';
import { SUN_PER_TRX, sun, type Sun } from '../money/units.js';
import { Database, type Queryable } from '../store/database.js';
import { judgePermission, type WalletRole } from './wallet-permission.js';

/** Takes a wallet's turn: one process per wallet and interval. */
const TAKE_TURN = {
  name: 'pool_take_turn',
  text: `UPDATE pool_wallet SET synced_at = clock_timestamp()
    WHERE id = (SELECT id FROM pool_wallet
                 WHERE synced_at IS NULL OR synced_at < clock_timestamp() - $1 * interval '1 second'
                 ORDER BY synced_at NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, address, role, permission_id, key_address, clock_timestamp() AS started_at`,
};

const TAKE_WALLET = {
  name: 'pool_take_wallet',
  text: `UPDATE pool_wallet SET synced_at = clock_timestamp() WHERE address = $1
    RETURNING id, address, role, permission_id, key_address, clock_timestamp() AS started_at`,
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
  text: `SELECT coalesce(sum(l.amount_sun), 0)::bigint AS sun FROM leg l WHERE l.wallet_id = $1
      AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      AND (l.status IN ('reserved', 'placed')
        OR (l.status = 'active' AND l.changed_at >= $2)
        OR (l.status = 'active' AND l.changed_at >= $2 - interval '1 hour' AND EXISTS (
              SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose <> 'reclaim'
                AND t.status NOT IN ('dead', 'dropped') AND t.block_number > $3))
        OR (l.status = 'reclaiming' AND EXISTS (
              SELECT FROM chain_tx t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('built', 'signed', 'sending'))))`,
};

const SET_SLOTS = {
  name: 'pool_set_slots',
  text: `UPDATE pool_slot s SET free_sun = v.free FROM unnest($2::smallint[], $3::bigint[]) AS v(slot_no, free)
    WHERE s.wallet_id = $1 AND s.slot_no = v.slot_no AND s.free_sun <> v.free`,
};

/** The row's trigger makes its status of what holds it; a person's own pause stays. */
const SET_WALLET = {
  name: 'pool_set_wallet',
  text: `UPDATE pool_wallet SET staked_sun = $2, delegated_sun = $3, free_sun_seen = $4, balance_sun = $5,
      wallet_fault = $6, recovering_sun = $7 WHERE id = $1`,
};

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
  /** The block up to which all of this is told, at least. */
  readonly headNumber: number;
}

/** TRON: a delegation takes some 280 bytes of bandwidth; below one of them TRX is burnt instead. */
const BYTES_PER_TRANSACTION = 300n;

@Injectable()
export class PoolSync {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TronClient) private readonly client: TronClient,
    @Inject(Config) private readonly config: Config,
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
    crashPoint('pool-read.before');
    const reading = await this.read(turn);
    crashPoint('pool-read.after');
    crashPoint('pool-write.before');
    await this.database.transaction(async (tx) => this.write(tx, turn, reading));
    crashPoint('pool-write.after');
  }

  /** All figures of one node: those of two, or of two heads, would not belong together. */
  private async read(turn: Turn): Promise<Reading> {
    return this.client.pool.ask('the figures of a wallet', async (node) => {
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
      return { account, resources, free, headNumber: Math.min(before.number, after.number) };
    });
  }

  private async write(tx: Queryable, turn: Turn, { account, resources, free, headNumber }: Reading): Promise<void> {
    const slots = await tx.query<{ slot_no: number }>(LOCK_SLOTS, [turn.id]);
    const [spokenFor] = await tx.query<{ sun: bigint }>(SPOKEN_FOR, [turn.id, turn.started_at, headNumber]);
    const left = free - (spokenFor?.sun ?? 0n);
    const sellable = left > 0n ? left : 0n;
    const shares = slots.map((_, index) => shareOf(sellable, slots.length, index));
    await tx.query(SET_SLOTS, [turn.id, slots.map((slot) => slot.slot_no), shares]);
    await tx.query(SET_WALLET, [
      turn.id,
      account?.stakedForEnergySun ?? 0n,
      account?.delegatedEnergySun ?? 0n,
      sellable,
      account?.balanceSun ?? 0n,
      this.faultOf(turn, account, resources) ?? null,
      recovering(turn, account, free),
    ]);
  }

  /** Why nothing may be sold from this wallet just now; undefined when it may. Reclaims go on whatever this says. */
  private faultOf(
    turn: Turn,
    account: ChainAccount | undefined,
    resources: AccountResources | undefined,
  ): string | undefined {
    if (account === undefined || resources === undefined) return 'the wallet is not on chain';
    const verdict = judgePermission(account, turn.permission_id, turn.key_address, turn.role);
    const isAllowed = verdict.kind === 'wide' && this.config.pool.allowWidePermission.includes(turn.address);
    if (verdict.kind !== 'exact' && !isAllowed) return `the wallet ${verdict.says}`;
    const staked = resources.netLimit - resources.netUsed;
    const free = resources.freeNetLimit - resources.freeNetUsed;
    const hasBandwidth = staked >= BYTES_PER_TRANSACTION || free >= BYTES_PER_TRANSACTION;
    if (!hasBandwidth && account.balanceSun < BigInt(this.config.pool.minBandwidthTrx) * SUN_PER_TRX) {
      return 'neither bandwidth nor TRX to burn for it';
    }
    return undefined;
  }
}

/** Own stake that is not delegated and cannot be: its energy was used and comes back over a day. */
function recovering(turn: Turn, account: ChainAccount | undefined, free: Sun): bigint {
  if (turn.role !== 'pool' || account === undefined) return 0n;
  const idle = account.stakedForEnergySun - account.delegatedEnergySun - free;
  return idle > 0n ? idle : 0n;
}

/** The index-th of `count` near-equal parts. */
function shareOf(total: bigint, count: number, index: number): bigint {
  const base = total / BigInt(count);
  return BigInt(index) < total % BigInt(count) ? base + 1n : base;
}
