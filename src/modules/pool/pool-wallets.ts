/**
 * The operator's changes to pool wallets: add, pause, resume and re-key. Writes identity, key and status of
 * `pool_wallet`; PoolSync owns the sums. Seals private keys here and never returns them.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Equal, IsNull, MoreThan, Not, Repository } from 'typeorm';
import { TronClient, type ChainAccount } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { Sealers } from '../../platform/support/sealers.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Queryable, sqlStateOf, type Transaction } from '../../platform/database/database.js';
import { PoolSlot } from '../../platform/database/entities/pool-slot.entity.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { reseal, RESEAL_BATCH, type ResealCount, type SecretStore } from '../../platform/database/resealing.js';
import { OperatorError, usageError } from '../../domain/operator-error.js';
import { judgePermission, operationsOf, type WalletRole } from './wallet-permission.js';

export interface WalletView {
  readonly id: number;
  readonly address: string;
  readonly role: WalletRole;
  readonly permission_id: number;
  readonly key_address: string;
  readonly key_held_by: 'database' | 'signer';
  readonly status: 'active' | 'paused';
  readonly pause_reason: string | null;
  /** True if it is paused and empty. Nothing warns of its state any more. */
  readonly retired: boolean;
  readonly staked_sun: bigint;
  readonly delegated_sun: bigint;
  /** Held for orders without a delegation in a block yet. */
  readonly reserved_sun: bigint;
  /** Own stake whose energy was used; it recovers within a day. */
  readonly recovering_sun: bigint;
  /** Sum of the slots: stake that can be sold now. */
  readonly free_sun: bigint;
  readonly balance_sun: bigint;
  /**
   * Stake for bandwidth; the parts of it that are delegated and reserved; and what can be sold now: 0 while bandwidth
   * has no price, and no order that bought some may need more.
   */
  readonly staked_bandwidth_sun: bigint;
  readonly delegated_bandwidth_sun: bigint;
  readonly reserved_bandwidth_sun: bigint;
  readonly free_bandwidth_sun: bigint;
  readonly slots: number;
  /**
   * For a pool wallet, transactions that its bandwidth and TRX pay for and no open leg needs. An order needs two per
   * leg.
   */
  readonly free_transactions: bigint;
  readonly synced_at: Date | null;
  /** The last successful reading by a worker, and the time until which the wallet sells without another reading. */
  readonly read_at: Date | null;
  readonly sells_until: Date | null;
}

/**
 * The key that signs for a wallet: sealed in our database, or held by the signer process, in which case we know only
 * its address.
 */
export interface WalletKey {
  readonly keyAddress: string;
  readonly privateKey: Buffer | undefined;
}

export interface NewWallet {
  readonly address: string;
  readonly role: WalletRole;
  readonly permissionId: number;
  readonly key: WalletKey;
  readonly slots: number;
  /** Called before the insert if the wallet has delegated stake already. A rejection adds nothing. */
  readonly confirmDelegated?: (sun: bigint) => Promise<void>;
}

const UNIQUE_VIOLATION = '23505';

/**
 * True for a wallet `w` that its operator paused and emptied: no stake, no open leg, and for an activation wallet less
 * than the 1 TRX that an activation costs at least. Its key and permissions no longer matter. A disagreement with the
 * chain still does.
 */
export const IS_RETIRED = `(w.status = 'paused' AND coalesce(w.pause_reason, '') NOT LIKE 'auto:%' AND w.books_fault IS NULL
  AND w.read_at IS NOT NULL AND w.staked_sun = 0 AND w.staked_bandwidth_sun = 0
  AND (w.role = 'pool' OR w.balance_sun < 1000000) AND NOT EXISTS (
    SELECT FROM open_leg l WHERE l.wallet_id = w.id AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')))`;

/** A wallet with the sums of its slots and open legs, from one snapshot. */
const STANDING_COLUMNS = `w.id, w.address, w.role, w.permission_id, w.key_address, w.status, w.pause_reason,
  w.staked_sun, w.delegated_sun, w.recovering_sun, w.balance_sun, w.staked_bandwidth_sun, w.delegated_bandwidth_sun,
  w.synced_at, w.read_at, w.sells_until, ${IS_RETIRED} AS retired,
  (SELECT coalesce(sum(l.amount_sun), 0)::bigint FROM open_leg l WHERE l.wallet_id = w.id AND l.kind <> 'bandwidth' AND l.status IN ('reserved', 'placed')) AS reserved_sun,
  (SELECT coalesce(sum(l.amount_sun), 0)::bigint FROM open_leg l WHERE l.wallet_id = w.id AND l.kind = 'bandwidth' AND l.status IN ('reserved', 'placed')) AS reserved_bandwidth_sun,
  (SELECT coalesce(sum(s.free_sun), 0)::bigint FROM pool_slot s WHERE s.wallet_id = w.id) AS free_sun,
  (SELECT coalesce(sum(s.free_transactions), 0)::bigint FROM pool_slot s WHERE s.wallet_id = w.id) AS free_transactions,
  (SELECT coalesce(sum(s.free_bandwidth_sun), 0)::bigint FROM pool_slot s WHERE s.wallet_id = w.id) AS free_bandwidth_sun,
  (SELECT count(*)::integer FROM pool_slot s WHERE s.wallet_id = w.id) AS slots`;
const VIEW_COLUMNS = `${STANDING_COLUMNS}, CASE WHEN w.key_sealed IS NULL THEN 'signer' ELSE 'database' END AS key_held_by`;

/** Reset after a new key, or after the operator's word that the wallet works: it may deliver again immediately. */
const DELIVERS_AGAIN = {
  signFailures: 0,
  deaths: 0,
  deliveryPauses: 0,
  deliveryFault: null,
  deliveryHeldUntil: null,
} as const;

/** Returns every wallet, without a node request and without any key columns. */
export async function listWallets(database: Queryable): Promise<Omit<WalletView, 'key_held_by'>[]> {
  return database.query<WalletView>(`SELECT ${STANDING_COLUMNS} FROM pool_wallet w ORDER BY w.id`);
}

@Injectable()
export class PoolWallets {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
    private readonly tron: TronClient,
    private readonly config: Config,
    @InjectRepository(PoolWallet) private readonly wallets: Repository<PoolWallet>,
  ) {}

  async list(): Promise<WalletView[]> {
    return this.database.query<WalletView>(`SELECT ${VIEW_COLUMNS} FROM pool_wallet w ORDER BY w.id`);
  }

  async listInUse(): Promise<WalletView[]> {
    return (await this.list()).filter(({ retired }) => !retired);
  }

  /** Throws OperatorError when the pool has no such wallet. */
  async get(address: string): Promise<WalletView> {
    const [found] = await this.database.query<WalletView>(
      `SELECT ${VIEW_COLUMNS} FROM pool_wallet w WHERE w.address = $1`,
      [address],
    );
    if (found === undefined) throw noSuchWallet(address);
    return found;
  }

  /**
   * Checks the wallet on chain, then inserts it with its slots, which stay empty until the pool's next pass. Returns
   * the account as found, and the warning if a wide permission was accepted.
   */
  async add(wallet: NewWallet, act: Author): Promise<{ account: ChainAccount; warning: string | undefined }> {
    const { address } = wallet;
    const checked = await this.check(address, wallet.role, wallet.permissionId, wallet.key.keyAddress);
    if (await this.wallets.existsBy({ address })) throw alreadyInPool(address);
    const { delegatedEnergySun, delegatedBandwidthSun } = checked.account;
    const delegatedSun = delegatedEnergySun + delegatedBandwidthSun;
    if (delegatedSun > 0n) await wallet.confirmDelegated?.(delegatedSun);
    try {
      await this.database.transaction((tx) => this.insert(tx, wallet, act));
    } catch (error) {
      throw sqlStateOf(error) === UNIQUE_VIOLATION ? alreadyInPool(address) : error;
    }
    return checked;
  }

  /** Replaces a wallet's key, after the same checks on chain. */
  async setKey(address: string, permissionId: number, key: WalletKey, act: Author): Promise<string | undefined> {
    const { role } = await this.get(address);
    const { warning } = await this.check(address, role, permissionId, key.keyAddress);
    await this.database.transaction(async (tx) => {
      const keySealed = this.seal(address, key.privateKey);
      const changes = { permissionId, keyAddress: key.keyAddress, keySealed, ...DELIVERS_AGAIN };
      await tx.repository(PoolWallet).update({ address }, changes);
      await recordAct(tx, act, {
        action: 'pool.set-key',
        subject: address,
        detail: { permission_id: permissionId, key_address: key.keyAddress },
      });
    });
    return warning;
  }

  /** Pauses or resumes a wallet. A paused wallet sells nothing, but its running rentals are still reclaimed. */
  async setStatus(address: string, status: 'active' | 'paused', act: Author): Promise<void> {
    // The pool's own pass resumes only its own pauses, and recognizes them by this prefix.
    if (act.reason.startsWith('auto:')) throw usageError('A reason must not begin with “auto:”.');
    await this.database.transaction(async (tx) => {
      const changes = status === 'paused' ? { pauseReason: act.reason } : { pauseReason: null, ...DELIVERS_AGAIN };
      const { affected } = await tx.repository(PoolWallet).update({ address }, { status, ...changes });
      if (affected !== 1) throw noSuchWallet(address);
      await recordAct(tx, act, {
        action: status === 'paused' ? 'pool.pause' : 'pool.resume',
        subject: address,
        detail: {},
      });
    });
  }

  /** Returns the account at `address`. Throws OperatorError if the chain has none. */
  async account(address: string): Promise<ChainAccount> {
    const account = await this.tron.account(address);
    if (account === undefined) {
      throw new OperatorError(`${address} does not exist on chain. Send TRX to it to activate it, then try again.`);
    }
    return account;
  }

  /** Reseals every key held here under the newest key. Only counts them unless `isReplacing`. */
  async resealKeys(isReplacing: boolean): Promise<ResealCount> {
    const store: SecretStore<number> = {
      next: async (after) => {
        const found = await this.wallets.find({
          select: { id: true, address: true, keySealed: true },
          where: { keySealed: Not(IsNull()), ...(after !== undefined && { id: MoreThan(after) }) },
          order: { id: 'ASC' },
          take: RESEAL_BATCH,
        });
        return found.flatMap(({ id, address, keySealed: sealed }) =>
          sealed === null ? [] : [{ id, context: address, sealed }],
        );
      },
      replace: async ({ id, sealed: old }, sealed) =>
        this.database.transaction(async (tx) => {
          const unchanged = { id, keySealed: Equal(old) };
          return (await tx.repository(PoolWallet).update(unchanged, { keySealed: sealed })).affected === 1;
        }),
    };
    return reseal(store, this.sealers.poolKey, isReplacing);
  }

  private async check(address: string, role: WalletRole, permissionId: number, keyAddress: string) {
    const account = await this.account(address);
    const verdict = judgePermission(account, permissionId, keyAddress, role);
    if (verdict.kind === 'exact') return { account, warning: undefined };
    const wanted = `The key of a ${role} wallet must be allowed exactly these operations: ${operationsOf(role)}`;
    if (verdict.kind !== 'wide') {
      throw new OperatorError(
        `${address} ${verdict.says}. ${wanted}. Run \`pool permissions\` for the update to sign.`,
      );
    }
    if (!this.config.pool.allowWidePermission.includes(address)) {
      throw new OperatorError(
        `${address} ${verdict.says}. ${wanted}. Otherwise a stolen key could cost TRX. Run \`pool permissions\` for the ` +
          'update to sign. To accept the risk, add the address to POOL_ALLOW_WIDE_PERMISSION.',
      );
    }
    return { account, warning: `${address} ${verdict.says}; accepted because of POOL_ALLOW_WIDE_PERMISSION.` };
  }

  private async insert(tx: Transaction, added: NewWallet, act: Author): Promise<void> {
    const { address, role, permissionId, key } = added;
    const keySealed = this.seal(address, key.privateKey);
    const wallet = { address, role, permissionId, keyAddress: key.keyAddress, keySealed };
    const { identifiers } = await tx.repository(PoolWallet).insert(wallet);
    const walletId = identifiers[0]?.['id'] as number;
    const slots = Array.from({ length: added.slots }, (_, index) => ({ walletId, slotNo: index + 1 }));
    await tx.repository(PoolSlot).insert(slots);
    await recordAct(tx, act, {
      action: 'pool.add',
      subject: address,
      detail: {
        role,
        permission_id: permissionId,
        key_address: key.keyAddress,
        slots: added.slots,
      },
    });
  }

  private seal(address: string, privateKey: Buffer | undefined): Buffer | null {
    return privateKey === undefined ? null : this.sealers.poolKey.seal(privateKey, address);
  }
}

function alreadyInPool(address: string): OperatorError {
  return new OperatorError(
    `${address} is already in the pool. \`pool set-key\` changes its key, \`pool resume\` its status.`,
  );
}

function noSuchWallet(address: string): OperatorError {
  return new OperatorError(`The pool has no wallet ${address}. \`pool list\` shows the wallets.`, 1, 'NOT_FOUND');
}
