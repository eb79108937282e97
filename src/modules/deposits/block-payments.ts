/**
 * Finds the transfers of a block that pay a project: to a deposit address, from a foreign address, in an accepted
 * asset. Also finds the other movements at deposit addresses: outgoing transfers, burnt fees, and transfers from our
 * own addresses.
 */
import type { DepositAsset } from '../../domain/deposit-state.js';
import type { Transaction } from '../../platform/database/database.js';
import { ADDRESSES_AMONG, INSERT_MOVEMENTS, OWN_SENDERS, PAID_BY_US } from './deposit-sql.js';
import type { Payment } from '../../platform/blocks/agreed-payments.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';

/** A payment that counts as a deposit. */
export interface ProjectPayment {
  readonly payment: Payment;
  readonly projectId: string;
  readonly asset: DepositAsset;
  /**
   * True when a deposit address has paid the sender outside a recorded return. After a restore, the sender may be one
   * of our sweep addresses.
   */
  readonly isPaidByUs: boolean;
}

export interface BlockPayments {
  readonly counting: readonly ProjectPayment[];
  /** Transfers in tokens that are not accepted. */
  readonly ignored: readonly Payment[];
  readonly movements: readonly Movement[];
}

export interface Movement {
  readonly txid: string;
  /**
   * `fee`: at position 0 the fee that a transaction burnt, from position 1 the part that the token kept of a transfer.
   */
  readonly kind: Payment['kind'] | 'fee';
  readonly position: number;
  readonly address: string;
  readonly asset: DepositAsset;
  /** The token's contract; null for TRX. */
  readonly contract: string | null;
  /** Negative when it left the address. */
  readonly amount: bigint;
  readonly counterparty: string | null;
}

/** The token whose transfers count in a block, and all tokens whose owners can destroy earlier payments. */
export interface CountingTokens {
  readonly counting: string | undefined;
  readonly all: readonly string[];
}

export async function paymentsIn(
  tx: Transaction,
  { payments, fees }: WitnessedBlock,
  tokens: CountingTokens,
): Promise<BlockPayments> {
  const { projectOf, ownSenders, paidByUs } = await readParties(tx, payments);
  const counting: ProjectPayment[] = [];
  const ignored: Payment[] = [];
  const movements: Movement[] = fees.map(({ txid, address, amount }) => {
    const fee = { kind: 'fee', position: 0, asset: 'TRX', contract: null, counterparty: null } as const;
    return { txid, address, amount: -amount, ...fee };
  });
  for (const payment of payments) {
    const { to, from, amount } = payment;
    const projectId = projectOf.get(to);
    if (payment.kind === 'destroyed') {
      if (projectOf.has(from) && payment.isAgreed) movements.push(...destroyedBy(payment, tokens));
      continue;
    }
    const asset = assetOf(payment, tokens.counting);
    const isOurs = ownSenders.has(from);
    if (asset === undefined) {
      if (projectId !== undefined && !isOurs) ignored.push(payment);
      continue;
    }
    if (projectId !== undefined && !isOurs) {
      counting.push({ payment, projectId, asset, isPaidByUs: paidByUs.has(from) });
    }
    if (from === to || !payment.isAgreed) continue;
    const moved = { txid: payment.txid, ...placeOf(payment), asset, contract: payment.contract ?? null };
    if (projectOf.has(from)) movements.push({ ...moved, address: from, amount: -amount, counterparty: to });
    if (projectId !== undefined && isOurs) movements.push({ ...moved, address: to, amount, counterparty: from });
  }
  return { counting, ignored, movements };
}

interface Parties {
  /** The project of each deposit address. */
  readonly projectOf: ReadonlyMap<string, string>;
  /** Senders that are addresses of this service. */
  readonly ownSenders: ReadonlySet<string>;
  /** Senders that a deposit address paid outside a recorded return, before or in this block. */
  readonly paidByUs: ReadonlySet<string>;
}

async function readParties(tx: Transaction, payments: readonly Payment[]): Promise<Parties> {
  const addresses = new Set(payments.flatMap(({ to, from }) => [to, from]));
  const rows = await tx.query<{ address: string; project_id: string }>(ADDRESSES_AMONG, [[...addresses]]);
  const projectOf = new Map(rows.map((row) => [row.address, row.project_id]));
  const senders = [...new Set(payments.map(({ from }) => from))];
  const own = await tx.query<{ address: string }>(OWN_SENDERS, [senders]);
  const left = payments.filter(({ from, isTokenFee }) => projectOf.has(from) && isTokenFee !== true);
  const receivers = [left.map(({ to }) => to), left.map(({ txid }) => Buffer.from(txid, 'hex'))];
  const paid = await tx.query<{ address: string }>(PAID_BY_US, [senders, ...receivers]);
  return { projectOf, ownSenders: addressSet(own), paidByUs: addressSet(paid) };
}

const addressSet = (rows: readonly { readonly address: string }[]): ReadonlySet<string> =>
  new Set(rows.map(({ address }) => address));

/**
 * Returns the amount that the owner of an accepted token destroyed at a deposit address. Logs of other contracts can
 * claim anything, so they are skipped.
 */
function destroyedBy(
  { txid, position, contract, from, amount }: Payment,
  { all }: CountingTokens,
): readonly Movement[] {
  if (contract === undefined || !all.includes(contract)) return [];
  const at = { txid, kind: 'destroyed', position, address: from } as const;
  return [{ ...at, asset: 'USDT', contract, amount: -amount, counterparty: null }];
}

/** Position 0 of a transaction's fees is reserved for the fee that it burnt. */
function placeOf({ kind, position, isTokenFee }: Payment): Pick<Movement, 'kind' | 'position'> {
  return isTokenFee === true ? { kind: 'fee', position: position + 1 } : { kind, position };
}

/** Returns the asset of a transfer; undefined for a token that is not accepted. */
function assetOf({ kind, contract }: Payment, tokenContract: string | undefined): DepositAsset | undefined {
  if (kind !== 'log') return 'TRX';
  return contract === tokenContract ? 'USDT' : undefined;
}

export async function insertMovements(
  tx: Transaction,
  block: Pick<WitnessedBlock, 'number' | 'timestampMs'>,
  movements: readonly Movement[],
): Promise<void> {
  if (movements.length === 0) return;
  await tx.query(INSERT_MOVEMENTS, [
    block.number,
    new Date(block.timestampMs),
    movements.map(({ txid }) => Buffer.from(txid, 'hex')),
    movements.map(({ kind }) => kind),
    movements.map(({ position }) => position),
    movements.map(({ address }) => address),
    movements.map(({ asset }) => asset),
    movements.map(({ amount }) => amount),
    movements.map(({ counterparty }) => counterparty),
    movements.map(({ contract }) => contract),
  ]);
}
