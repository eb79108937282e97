/** Finds acts of our wallets on chain that concern sold resources and that our records lack. */
import type { Block, SignedAct } from '../../platform/chain/block.js';
import { signersOf } from '../../platform/chain/keys.js';
import type { TronClient } from '../../platform/chain/tron.client.js';
import {
  CREATE_ACCOUNT_TYPE,
  DELEGATE_TYPE,
  UNDELEGATE_TYPE,
  type OwnedAct,
} from '../../platform/chain/transaction-owner.js';
import type { Database } from '../../platform/database/database.js';

export interface OwnWallet {
  readonly id: number;
  readonly address: string;
}

export const OWN_WALLETS = `SELECT id, address FROM pool_wallet ORDER BY id`;

/** Keys of wallets at present and earlier: an old act was signed by the key of its time. */
const OWN_KEYS = `SELECT key_address FROM pool_wallet
  UNION SELECT detail ->> 'key_address' FROM audit_log
    WHERE action IN ('pool.add', 'pool.set-key') AND detail ->> 'key_address' IS NOT NULL`;

const SIGNATURE_BYTES = 65;

export interface UnrecordedAct {
  readonly txid: string;
  readonly rawData: Buffer;
  /** The signature, if there is exactly one and it has the form of ours. */
  readonly signature: Buffer | undefined;
  readonly walletId: number;
  /** True if signed by a key of the service, false if by the wallet's owner. */
  readonly byOwnKey: boolean;
  readonly act: OwnedAct;
}

/** The keys that may sign for a wallet: ours, and those of its permissions on chain. Each set is read once. */
export class Signatories {
  private ours: Promise<ReadonlySet<string>> | undefined;
  private readonly permitted = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
  ) {}

  /**
   * Returns `own` or `owner` by the key that signed, or undefined if no valid key did. Throws ChainUnavailableError.
   */
  async judge(wallet: OwnWallet, tx: SignedAct): Promise<'own' | 'owner' | undefined> {
    const signers = signersOf(tx.rawData, tx.signatures);
    if (signers.size === 0) return undefined;
    this.ours ??= this.readOurs();
    if (intersect(signers, await this.ours)) return 'own';
    const permitted = this.permitted.get(wallet.address) ?? this.readPermitted(wallet.address);
    this.permitted.set(wallet.address, permitted);
    return intersect(signers, await permitted) ? 'owner' : undefined;
  }

  private async readOurs(): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ key_address: string }>(OWN_KEYS);
    return new Set(rows.map((row) => row.key_address));
  }

  private async readPermitted(address: string): Promise<ReadonlySet<string>> {
    const account = await this.client.account(address);
    const keys = (account?.permissions ?? []).flatMap((permission) => permission.keys.map((key) => key.address));
    // TRON: an account that never changed its permissions is printed without any; its own key then holds them.
    return new Set(keys.length === 0 ? [address] : keys);
  }
}

/**
 * Returns delegations, undelegations and activations by `wallets` in `block` that were neither recorded as sent
 * nor found before. Other acts of an owner (staking, voting, moving TRX, permissions) are judged by their effects
 * instead.
 *
 * An act's bytes prove nothing about its author. Like the chain, this function accepts an act as a wallet's only by its
 * signatures. Throws ChainUnavailableError.
 */
export async function unrecordedActsIn(
  database: Database,
  signatories: Signatories,
  block: Block,
  wallets: readonly OwnWallet[],
): Promise<readonly UnrecordedAct[]> {
  const own = new Map(wallets.map((wallet) => [wallet.address, wallet]));
  const found = block.transactions.flatMap(({ txid, succeeded, signed }) => {
    const wallet = signed && own.get(signed.act.owner);
    return succeeded && signed !== undefined && wallet !== undefined && isOurs(signed.act)
      ? [{ txid, signed, wallet }]
      : [];
  });
  // Checks the records first: most acts are recorded, and verifying signatures costs more.
  const known = await knownAmong(
    database,
    found.map(({ txid }) => txid),
  );
  const acts: UnrecordedAct[] = [];
  for (const { txid, signed, wallet } of found) {
    if (known.has(txid)) continue;
    const signer = await signatories.judge(wallet, signed);
    if (signer === undefined) continue;
    const { act, rawData, signatures } = signed;
    const [first] = signatures;
    const signature = signatures.length === 1 && first?.length === SIGNATURE_BYTES ? first : undefined;
    acts.push({ txid, rawData, signature, walletId: wallet.id, byOwnKey: signer === 'own', act });
  }
  return acts;
}

/**
 * A transaction is recorded as sent before it is sent. One in a block without that status is foreign, or the records
 * lost it.
 */
async function knownAmong(database: Database, txids: readonly string[]): Promise<ReadonlySet<string>> {
  if (txids.length === 0) return new Set();
  const known = await database.query<{ txid: Buffer }>(
    `SELECT txid FROM chain_tx WHERE txid = ANY ($1::bytea[]) AND status NOT IN ('built', 'signed', 'dropped', 'dead')
     UNION ALL SELECT txid FROM orphan_tx WHERE txid = ANY ($1::bytea[])`,
    [txids.map((txid) => Buffer.from(txid, 'hex'))],
  );
  return new Set(known.map((row) => row.txid.toString('hex')));
}

function intersect(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...some].some((each) => others.has(each));
}

function isOurs(act: OwnedAct): boolean {
  return (
    act.type === CREATE_ACCOUNT_TYPE ||
    ((act.type === DELEGATE_TYPE || act.type === UNDELEGATE_TYPE) && act.resource !== undefined)
  );
}
