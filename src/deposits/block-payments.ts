/** Which transfers of a block pay a project: to an address of ours, from none of our own, in what is accepted. */
import type { DepositAsset } from '../domain/deposit-state.js';
import type { Transaction } from '../store/database.js';
import { ADDRESSES_AMONG, OWN_SENDERS } from './deposit-sql.js';
import type { Payment, WitnessedBlock } from './witnessed-blocks.js';

/** A payment that counts. */
export interface ProjectPayment {
  readonly payment: Payment;
  readonly projectId: string;
  readonly asset: DepositAsset;
}

export interface BlockPayments {
  readonly counting: readonly ProjectPayment[];
  /** In tokens that are not accepted. */
  readonly ignored: readonly Payment[];
}

export async function paymentsIn(
  tx: Transaction,
  { payments }: WitnessedBlock,
  tokenContract: string,
): Promise<BlockPayments> {
  const unique = (addresses: readonly string[]): string[] => [...new Set(addresses)];
  const owners = new Map(
    (
      await tx.query<{ address: string; project_id: string }>(ADDRESSES_AMONG, [unique(payments.map(({ to }) => to))])
    ).map((row) => [row.address, row.project_id]),
  );
  const senders = unique(payments.map(({ from }) => from));
  const own = new Set((await tx.query<{ address: string }>(OWN_SENDERS, [senders])).map(({ address }) => address));
  const counting: ProjectPayment[] = [];
  const ignored: Payment[] = [];
  for (const payment of payments) {
    const projectId = owners.get(payment.to);
    if (projectId === undefined || own.has(payment.from)) continue;
    const asset = assetOf(payment, tokenContract);
    if (asset === undefined) ignored.push(payment);
    else counting.push({ payment, projectId, asset });
  }
  return { counting, ignored };
}

/** The asset that a transfer pays in; undefined of a token that is none. */
function assetOf({ kind, contract }: Payment, tokenContract: string): DepositAsset | undefined {
  if (kind !== 'log') return 'TRX';
  return contract === tokenContract ? 'USDT' : undefined;
}
