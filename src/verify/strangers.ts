/** Acts of our wallets on chain that touch what we sell and that our books do not know. */
import type { Block } from '../chain/block.js';
import {
  actOf,
  CREATE_ACCOUNT_TYPE,
  DELEGATE_TYPE,
  UNDELEGATE_TYPE,
  type OwnedAct,
} from '../chain/transaction-owner.js';
import type { Database } from '../store/database.js';

export interface OwnWallet {
  readonly id: number;
  readonly address: string;
  readonly permission_id: number;
}

export const OWN_WALLETS = `SELECT id, address, permission_id FROM pool_wallet ORDER BY id`;

export interface Stranger {
  readonly txid: string;
  readonly rawData: Buffer;
  readonly signature: Buffer | undefined;
  readonly walletId: number;
  /** Made through the permission of the service's own key. */
  readonly byOwnKey: boolean;
  readonly act: OwnedAct;
}

/**
 * Delegations and undelegations of energy, and activations, by `wallets` in `block`, of which there is no record that
 * they were sent and which were not found before. What an owner does beside (staking, voting, moving TRX, permissions)
 * is judged by what it changes, not as a stranger.
 */
export async function strangersIn(
  database: Database,
  block: Block,
  wallets: readonly OwnWallet[],
): Promise<readonly Stranger[]> {
  const own = new Map(wallets.map((wallet) => [wallet.address, wallet]));
  const acts = block.transactions.flatMap((tx) => {
    if (!tx.succeeded) return [];
    const act = actOf(tx.rawData);
    const wallet = act && own.get(act.owner);
    if (act === undefined || wallet === undefined || !isOurs(act)) return [];
    const { txid, rawData, signature } = tx;
    return [
      { txid, rawData, signature, walletId: wallet.id, byOwnKey: act.permissionId === wallet.permission_id, act },
    ];
  });
  if (acts.length === 0) return [];
  // Recorded as sent before it is: what stands in a block and not so in the books was never ours, or they forgot it.
  const known = await database.query<{ txid: Buffer }>(
    `SELECT txid FROM chain_tx WHERE txid = ANY ($1::bytea[]) AND status NOT IN ('built', 'signed')
     UNION ALL SELECT txid FROM orphan_tx WHERE txid = ANY ($1::bytea[])`,
    [acts.map((act) => Buffer.from(act.txid, 'hex'))],
  );
  const names = new Set(known.map((row) => row.txid.toString('hex')));
  return acts.filter((act) => !names.has(act.txid));
}

function isOurs(act: OwnedAct): boolean {
  return (
    act.type === CREATE_ACCOUNT_TYPE || ((act.type === DELEGATE_TYPE || act.type === UNDELEGATE_TYPE) && act.isEnergy)
  );
}
