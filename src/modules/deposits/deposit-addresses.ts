/**
 * Assigns each project its deposit address, derived from the configured key. An address is kept for ever, and is
 * derived and compared again each time it is given out. The only writer of deposit_account and deposit_address.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import type { BlockHead } from '../../platform/chain/block.js';
import { Config } from '../../platform/config/config.js';
import { OperatorError } from '../../domain/operator-error.js';
import { BlockCursor } from '../../platform/blocks/block-cursor.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { DepositAccount, DepositAddress } from '../../platform/database/entities/deposit-account.entity.js';
import { AccountKey } from './account-key.js';
import { DepositTokens } from './deposit-tokens.js';

/** Addresses assigned in one transaction. Projects created meanwhile wait for it. */
const BATCH = 200;
const ADDRESSES_MAX = 1_000_000;

const COUNT_ACCOUNTS = `SELECT count(*)::integer AS count FROM deposit_account`;

const INSERT_ACCOUNT = `INSERT INTO deposit_account (account, first_address) VALUES ($1, $2) ON CONFLICT (account) DO NOTHING RETURNING account`;

/** Beginning an account and creating a project exclude each other: an uncommitted project would be missed. */
const BEGINNING = 4206;
const BEGIN_ALONE = `SELECT pg_advisory_xact_lock(${BEGINNING.toString()})`;
const MAKE_BESIDE = `SELECT pg_advisory_xact_lock_shared(${BEGINNING.toString()})`;

/** Serializes assignment within an account. The next free place is read only under this lock. */
const LOCK_ACCOUNT = `SELECT first_address FROM deposit_account WHERE account = $1 FOR NO KEY UPDATE`;
/**
 * A restored or promoted server may have lost addresses that were already given out. This many places stay unused after
 * it, so that one place never belongs to two projects.
 */
const RESTORE_GAP = 10_000;
const NEWEST_PLACE = `SELECT place, server_mark IS DISTINCT FROM server_mark() AS is_other_server FROM deposit_address
  WHERE account = $1 ORDER BY place DESC LIMIT 1`;

const WITHOUT_ADDRESS = `SELECT p.id FROM project p
   WHERE p.id <> '00000000-0000-0000-0000-000000000000' AND NOT p.test
     AND NOT EXISTS (SELECT FROM deposit_address d WHERE d.project_id = p.id AND d.account = $1)
   ORDER BY p.created_at, p.id LIMIT $2`;

/**
 * The key derives a different address than the recorded one. The address is not given out: payments to it may be lost.
 */
class AddressMismatchError extends Error {
  override readonly name = 'AddressMismatchError';
}

@Injectable()
export class DepositAddresses {
  private readonly key: AccountKey | undefined;

  constructor(
    private readonly database: Database,
    private readonly blockCursor: BlockCursor,
    config: Config,
    @InjectRepository(DepositAddress) private readonly addresses: Repository<DepositAddress>,
    private readonly tokens: DepositTokens,
  ) {
    const { xpub } = config.deposits;
    this.key = xpub === undefined ? undefined : AccountKey.read(xpub);
  }

  /**
   * Begins to use the account of the key. For the first account ever, blocks are read for deposits from `head` on.
   * `isNew` is false when the account was already in use. Throws OperatorError, and StartError when TOKEN_CONTRACT is
   * not the token of the deposits.
   */
  async useAccount(head: BlockHead, author: Author): Promise<{ readonly account: number; readonly isNew: boolean }> {
    const key = this.needKey();
    return this.database.transaction(async (tx) => {
      await tx.query(BEGIN_ALONE);
      const [added] = await tx.query(INSERT_ACCOUNT, [key.account, key.addressAt(0)]);
      await this.lock(tx, key);
      await this.tokens.assertSetting(tx);
      const [accounts] = await tx.query<{ count: number }>(COUNT_ACCOUNTS);
      if (added !== undefined && accounts?.count === 1) await this.blockCursor.restartAt(tx, head);
      if (added === undefined) return { account: key.account, isNew: false };
      await recordAct(tx, author, {
        action: 'deposits.account',
        subject: key.account.toString(),
        detail: { firstAddress: key.addressAt(0) },
      });
      return { account: key.account, isNew: true };
    });
  }

  /**
   * Assigns addresses of this account to the next projects without one, and returns their number. Throws OperatorError.
   */
  async assignMissing(): Promise<number> {
    const key = this.needKey();
    return this.database.transaction(async (tx) => {
      const first = await this.lock(tx, key);
      const projects = await tx.query<{ id: string }>(WITHOUT_ADDRESS, [key.account, BATCH]);
      await insert(
        tx,
        key,
        first,
        projects.map(({ id }) => id),
      );
      return projects.length;
    });
  }

  /**
   * Assigns a new project its address, in the transaction that creates the project. Does nothing where deposits are not
   * in use or this key's account is not begun. Throws OperatorError when deposits are in use and the key is missing:
   * the project would silently lack an address.
   */
  async assignNew(tx: Transaction, projectId: string): Promise<void> {
    const { key } = this;
    await tx.query(MAKE_BESIDE);
    if (key === undefined) {
      if (!(await tx.repository(DepositAccount).exists())) return;
      throw new OperatorError(
        'Deposits are enabled, but DEPOSIT_XPUB is not set for this process, so the project would have no deposit address. Set DEPOSIT_XPUB.',
        1,
        'CONFIGURATION',
      );
    }
    if (!(await tx.repository(DepositAccount).existsBy({ account: BigInt(key.account) }))) return;
    await insert(tx, key, await this.lock(tx, key), [projectId]);
  }

  /**
   * Returns the address of a project, derived again from the key; undefined when it has none. Throws
   * AddressMismatchError.
   */
  async addressOf(projectId: string): Promise<string | undefined> {
    const { key } = this;
    if (key === undefined) return undefined;
    const row = await this.addresses.findOneBy({ projectId, account: BigInt(key.account) });
    if (row === null) return undefined;
    if (key.addressAt(Number(row.place)) !== row.address) {
      throw new AddressMismatchError(
        `the address 0/${row.place.toString()} of account ${key.account.toString()} differs from the assigned one`,
      );
    }
    return row.address;
  }

  /** Returns the addresses of all accounts, ordered by account and place. */
  async list(): Promise<DepositAddress[]> {
    return this.addresses.find({ order: { account: 'ASC', place: 'ASC' }, take: ADDRESSES_MAX });
  }

  /** Returns the addresses of the key's account that differ from the derived ones. Throws OperatorError. */
  async listMismatched(): Promise<DepositAddress[]> {
    const key = this.needKey();
    const rows = await this.addresses.find({ where: { account: BigInt(key.account) }, take: ADDRESSES_MAX });
    return rows.filter(({ place, address }) => key.addressAt(Number(place)) !== address);
  }

  private needKey(): AccountKey {
    if (this.key === undefined) throw new OperatorError('DEPOSIT_XPUB is not set.', 1, 'CONFIGURATION');
    return this.key;
  }

  /** Locks the account and returns its next free place. Throws OperatorError for a key that is not the account's. */
  private async lock(tx: Transaction, key: AccountKey): Promise<number> {
    const [row] = await tx.query<{ first_address: string }>(LOCK_ACCOUNT, [key.account]);
    if (row === undefined) {
      throw new OperatorError(
        'The account of DEPOSIT_XPUB is not in use. Run `deposits use-account` first.',
        1,
        'CONFIGURATION',
      );
    }
    if (row.first_address !== key.addressAt(0)) {
      throw new OperatorError(
        `DEPOSIT_XPUB differs from the key that account ${key.account.toString()} started with. Use a new account number for a new key.`,
        1,
        'CONFIGURATION',
      );
    }
    const [newest] = await tx.query<{ place: bigint; is_other_server: boolean }>(NEWEST_PLACE, [key.account]);
    if (newest === undefined) return 0;
    return Number(newest.place) + (newest.is_other_server ? RESTORE_GAP : 1);
  }
}

async function insert(tx: Transaction, key: AccountKey, first: number, projects: readonly string[]): Promise<void> {
  if (projects.length === 0) return;
  const rows = projects.map((projectId, index) => ({
    address: key.addressAt(first + index),
    projectId,
    account: BigInt(key.account),
    place: BigInt(first + index),
  }));
  await tx.repository(DepositAddress).insert(rows);
}
