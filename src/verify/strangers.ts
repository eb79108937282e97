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
import type { WalletRow } from './delegation-check.js';

export interface Stranger {
  readonly txid: string;
  readonly rawData: Buffer;
  readonly walletId: number;
  readonly act: OwnedAct;
}

/**
 * Delegations and undelegations of energy, and activations, by `wallets` in `block`, of which there is no record. What
 * an owner does beside (staking, voting, moving TRX, permissions) is judged by what it changes, not as a stranger.
 */
export async function strangersIn(
  database: Database,
  block: Block,
  wallets: readonly WalletRow[],
): Promise<readonly Stranger[]> {
  const ids = new Map(wallets.map((wallet) => [wallet.address, wallet.id]));
  const acts = block.transactions.flatMap((tx) => {
    if (!tx.succeeded) return [];
    const act = actOf(tx.rawData);
    const walletId = act && ids.get(act.owner);
    return act === undefined || walletId === undefined || !isOurs(act)
      ? []
      : [{ txid: tx.txid, rawData: tx.rawData, walletId, act }];
  });
  if (acts.length === 0) return [];
  // Recorded before it is sent: what stands in a block and not in the books now was never ours.
  const known = await database.query<{ txid: Buffer }>(`SELECT txid FROM chain_tx WHERE txid = ANY ($1::bytea[])`, [
    acts.map((act) => Buffer.from(act.txid, 'hex')),
  ]);
  const names = new Set(known.map((row) => row.txid.toString('hex')));
  return acts.filter((act) => !names.has(act.txid));
}

function isOurs(act: OwnedAct): boolean {
  return (
    act.type === CREATE_ACCOUNT_TYPE || ((act.type === DELEGATE_TYPE || act.type === UNDELEGATE_TYPE) && act.isEnergy)
  );
}
