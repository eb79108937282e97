/** Acts of our wallets on chain that touch what we sell and that our records do not know. */
import type { Block, SignedAct } from '../chain/block.js';
import { signersOf } from '../chain/keys.js';
import type { TronClient } from '../chain/tron.client.js';
import { CREATE_ACCOUNT_TYPE, DELEGATE_TYPE, UNDELEGATE_TYPE, type OwnedAct } from '../chain/transaction-owner.js';
import type { Database } from '../store/database.js';

export interface OwnWallet {
  readonly id: number;
  readonly address: string;
  readonly permission_id: number;
}

export const OWN_WALLETS = `SELECT id, address, permission_id FROM pool_wallet ORDER BY id`;

/** Of the wallets now and before: an old act was signed by the key of its time. */
const OWN_KEYS = `SELECT key_address FROM pool_wallet
  UNION SELECT detail ->> 'key_address' FROM audit_log
    WHERE action IN ('pool.add', 'pool.set-key') AND detail ->> 'key_address' IS NOT NULL`;

const SIGNATURE_BYTES = 65;

export interface UnrecordedAct {
  readonly txid: string;
  readonly rawData: Buffer;
  /** Where there is a single one, in the form of ours. */
  readonly signature: Buffer | undefined;
  readonly walletId: number;
  /** Signed by a key of the service's, not only by the wallet's owner. */
  readonly byOwnKey: boolean;
  readonly act: OwnedAct;
}

/** Whose keys may have signed for a wallet: ours, and those of its permissions as the chain has them. Read once each. */
export class Signatories {
  private ours: Promise<ReadonlySet<string>> | undefined;
  private readonly permitted = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
  ) {}

  /** Whose act for `wallet` these signatures make it; undefined when nobody's. Throws ChainUnavailableError. */
  async judge(wallet: OwnWallet, tx: SignedAct): Promise<'own' | 'owner' | undefined> {
    const signers = signersOf(tx.rawData, tx.signatures);
    if (signers.size === 0) return undefined;
    this.ours ??= this.readOurs();
    if (meet(signers, await this.ours)) return 'own';
    const permitted = this.permitted.get(wallet.address) ?? this.readPermitted(wallet.address);
    this.permitted.set(wallet.address, permitted);
    return meet(signers, await permitted) ? 'owner' : undefined;
  }

  private async readOurs(): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ key_address: string }>(OWN_KEYS);
    return new Set(rows.map((row) => row.key_address));
  }

  private async readPermitted(address: string): Promise<ReadonlySet<string>> {
    const account = await this.client.account(address);
    const keys = (account?.permissions ?? []).flatMap((permission) => permission.keys.map((key) => key.address));
    // TRON: an account that never changed its permissions is printed without any, and is its own key's.
    return new Set(keys.length === 0 ? [address] : keys);
  }
}

/**
 * Delegations and undelegations of energy, and activations, by `wallets` in `block`, of which there is no record that
 * they were sent and which were not found before. What an owner does beside (staking, voting, moving TRX, permissions)
 * is judged by what it changes, not as a foreign one. What its bytes say proves nothing: the chain takes an act for a
 * wallet's only by its signatures, and so do we. Throws ChainUnavailableError.
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
  // Most are recorded: whose an act is costs more to find out than whether it is known.
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

/** Recorded as sent before it is: what stands in a block and not so in the records was never ours, or they forgot it. */
async function knownAmong(database: Database, txids: readonly string[]): Promise<ReadonlySet<string>> {
  if (txids.length === 0) return new Set();
  const known = await database.query<{ txid: Buffer }>(
    `SELECT txid FROM chain_tx WHERE txid = ANY ($1::bytea[]) AND status NOT IN ('built', 'signed', 'dropped', 'dead')
     UNION ALL SELECT txid FROM orphan_tx WHERE txid = ANY ($1::bytea[])`,
    [txids.map((txid) => Buffer.from(txid, 'hex'))],
  );
  return new Set(known.map((row) => row.txid.toString('hex')));
}

function meet(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...some].some((each) => others.has(each));
}

function isOurs(act: OwnedAct): boolean {
  return (
    act.type === CREATE_ACCOUNT_TYPE || ((act.type === DELEGATE_TYPE || act.type === UNDELEGATE_TYPE) && act.isEnergy)
  );
}
