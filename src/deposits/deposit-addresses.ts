/**
 * Which address each project pays in at: derived once from the key of the settings, kept for ever, and derived anew
 * whenever it is given out. The only writer of deposit_account and deposit_address.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import type { BlockHead } from '../chain/block.js';
import { Config } from '../config/config.js';
import { OperatorError } from '../domain/operator-error.js';
import { BlockCursor } from '../blocks/block-cursor.js';
import { recordAct, type Author } from '../store/audit-log.js';
import { Database, type Transaction } from '../store/database.js';
import { DepositAccount, DepositAddress } from '../store/entities/deposit-account.entity.js';
import { AccountKey } from './account-key.js';
import { DepositTokens } from './deposit-tokens.js';

/** Assigned in one transaction; projects that are made meanwhile wait for it. */
const BATCH = 200;
const ADDRESSES_MAX = 1_000_000;

const COUNT_ACCOUNTS = `SELECT count(*)::integer AS count FROM deposit_account`;

const INSERT_ACCOUNT = `INSERT INTO deposit_account (account, first_address) VALUES ($1, $2) ON CONFLICT (account) DO NOTHING RETURNING account`;

/** Who begins an account waits for projects that are being made, whom it would not see, and they for it. */
const BEGINNING = 4206;
const BEGIN_ALONE = `SELECT pg_advisory_xact_lock(${BEGINNING.toString()})`;
const MAKE_BESIDE = `SELECT pg_advisory_xact_lock_shared(${BEGINNING.toString()})`;

/** Who assigns from an account does so alone, and asks for its next place only then. */
const LOCK_ACCOUNT = `SELECT first_address FROM deposit_account WHERE account = $1 FOR NO KEY UPDATE`;
/**
 * A server that was restored or promoted may have lost addresses that were given out: so many numbers stay free for them, so
 * that none belongs to two projects.
 */
const RESTORE_GAP = 10_000;
const NEWEST_PLACE = `SELECT place, server_mark IS DISTINCT FROM server_mark() AS is_other_server FROM deposit_address
  WHERE account = $1 ORDER BY place DESC LIMIT 1`;

const WITHOUT_ADDRESS = `SELECT p.id FROM project p
   WHERE p.id <> '00000000-0000-0000-0000-000000000000' AND NOT p.test
     AND NOT EXISTS (SELECT FROM deposit_address d WHERE d.project_id = p.id AND d.account = $1)
   ORDER BY p.created_at, p.id LIMIT $2`;

/** An address that its key does not give: it is not given out, since what is paid to it may be lost. */
class AddressMismatchError extends Error {
  override readonly name = 'AddressMismatchError';
}

@Injectable()
export class DepositAddresses {
  private readonly key: AccountKey | undefined;

  constructor(
    private readonly database: Database,
    private readonly cursor: BlockCursor,
    config: Config,
    @InjectRepository(DepositAddress) private readonly addresses: Repository<DepositAddress>,
    private readonly tokens: DepositTokens,
  ) {
    const { xpub } = config.deposits;
    this.key = xpub === undefined ? undefined : AccountKey.read(xpub);
  }

  /**
   * Begins to use the account of the key. Of the first one, blocks are read for deposits from `head` on. False when the
   * account was in use before. Throws OperatorError, and StartError for another token than that of the deposits.
   */
  async useAccount(head: BlockHead, author: Author): Promise<{ readonly account: number; readonly isNew: boolean }> {
    const key = this.needKey();
    return this.database.transaction(async (tx) => {
      await tx.query(BEGIN_ALONE);
      const [added] = await tx.query(INSERT_ACCOUNT, [key.account, key.addressAt(0)]);
      await this.lock(tx, key);
      await this.tokens.assertSetting(tx);
      const [accounts] = await tx.query<{ count: number }>(COUNT_ACCOUNTS);
      if (added !== undefined && accounts?.count === 1) await this.cursor.startAnew(tx, head);
      if (added === undefined) return { account: key.account, isNew: false };
      await recordAct(tx, author, {
        action: 'deposits.account',
        subject: key.account.toString(),
        detail: { firstAddress: key.addressAt(0) },
      });
      return { account: key.account, isNew: true };
    });
  }

  /** Gives the next projects that have none of this account an address; how many. Throws OperatorError. */
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
   * Gives a new project its address in the transaction that makes it; nothing where deposits are not in use, or not yet with
   * this key. Throws OperatorError without the key: nobody would notice that the project has no address.
   */
  async assignNew(tx: Transaction, projectId: string): Promise<void> {
    const { key } = this;
    await tx.query(MAKE_BESIDE);
    if (key === undefined) {
      if (!(await tx.repository(DepositAccount).exists())) return;
      throw new OperatorError(
        'Deposits are in use, and DEPOSIT_XPUB is not set for this process: the project would have no deposit address.',
        1,
        'CONFIGURATION',
      );
    }
    if (!(await tx.repository(DepositAccount).existsBy({ account: BigInt(key.account) }))) return;
    await insert(tx, key, await this.lock(tx, key), [projectId]);
  }

  /** The address of a project, derived anew; undefined when it has none. Throws AddressMismatchError. */
  async addressOf(projectId: string): Promise<string | undefined> {
    const { key } = this;
    if (key === undefined) return undefined;
    const row = await this.addresses.findOneBy({ projectId, account: BigInt(key.account) });
    if (row === null) return undefined;
    if (key.addressAt(Number(row.place)) !== row.address) {
      throw new AddressMismatchError(
        `0/${row.place.toString()} of account ${key.account.toString()} is another address`,
      );
    }
    return row.address;
  }

  /** Every address, of all accounts, in order. */
  async list(): Promise<DepositAddress[]> {
    return this.addresses.find({ order: { account: 'ASC', place: 'ASC' }, take: ADDRESSES_MAX });
  }

  /** Which addresses of the key's account are not what the key gives. Throws OperatorError. */
  async wrong(): Promise<DepositAddress[]> {
    const key = this.needKey();
    const rows = await this.addresses.find({ where: { account: BigInt(key.account) }, take: ADDRESSES_MAX });
    return rows.filter(({ place, address }) => key.addressAt(Number(place)) !== address);
  }

  private needKey(): AccountKey {
    if (this.key === undefined) throw new OperatorError('DEPOSIT_XPUB is not set.', 1, 'CONFIGURATION');
    return this.key;
  }

  /** The account's next free place; refuses a key that is not the account's. */
  private async lock(tx: Transaction, key: AccountKey): Promise<number> {
    const [row] = await tx.query<{ first_address: string }>(LOCK_ACCOUNT, [key.account]);
    if (row === undefined) {
      throw new OperatorError(
        'The account of DEPOSIT_XPUB is not in use: `deposits use-account` begins it.',
        1,
        'CONFIGURATION',
      );
    }
    if (row.first_address !== key.addressAt(0)) {
      throw new OperatorError(
        `DEPOSIT_XPUB is another key than account ${key.account.toString()} was begun with: a new key wants a new account number.`,
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
