// What contracts do to others inside a transaction, as receipts show it, in the order of beginning.
// TRON: InternalTransaction, Program.addInternalTx, ProgramResult.
import { keccak256 } from './address.js';

/** A call between contracts, TRX or a token that one moved, stake that one froze or delegated. */
export interface InternalTransaction {
  readonly hash: string;
  readonly caller: string;
  /** Of a creation known only once its address is made. */
  to: string;
  /** sun; 0 where a token moved instead. Of a withdrawal known only afterwards. */
  value: bigint;
  /** TRC10 tokens that moved, by id: one by a call, every one by a self-destruction; absent when none could. */
  readonly tokens?: readonly (readonly [string, bigint])[];
  /** call, create, suicide, or what was done with stake: freezeBalanceV2ForEnergy, delegateResourceOfEnergy, … */
  readonly note: string;
  rejected: boolean;
}

export interface InternalDraft extends Pick<InternalTransaction, 'caller' | 'to' | 'value' | 'note'> {
  /** Call data or init code, which the hash covers. */
  readonly data?: Uint8Array;
  readonly tokens?: NonNullable<InternalTransaction['tokens']>;
}

/** The notes a node keeps without vm.saveFeaturedInternalTx. TRON: TransactionUtil.buildTransactionInfoInstance. */
export const TRANSFER_NOTES: ReadonlySet<string> = new Set(['call', 'create', 'suicide']);

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt.asIntN(64, value));
  return bytes;
}

/**
 * TRON (InternalTransaction.getHash): parent's hash, receiver (none for a creation), data, value and nonce. The nonce
 * counts the internal transactions of the whole transaction from 1.
 */
function hashOf(parent: string, { to, value, note, data }: InternalDraft, nonce: number): string {
  const receiver = note === 'create' ? '' : to;
  const content = [Buffer.from(parent + receiver, 'hex'), data ?? Buffer.alloc(0), int64(value), int64(BigInt(nonce))];
  return Buffer.from(keccak256(Buffer.concat(content))).toString('hex');
}

/** The internal transactions of one transaction. */
export class InternalTransactions {
  readonly list: InternalTransaction[] = [];

  /** Adds one that a frame began whose own hash is `parent`: the transaction's id at the root. */
  add(parent: string, draft: InternalDraft): InternalTransaction {
    const { caller, to, value, note, tokens } = draft;
    const hash = hashOf(parent, draft, this.list.length + 1);
    const added = { hash, caller, to, value, note, rejected: false, ...(tokens === undefined ? {} : { tokens }) };
    this.list.push(added);
    return added;
  }

  /** Marks all from the one at `first`: a frame that fails rejects whatever was begun within it. */
  rejectFrom(first: number): void {
    for (const each of this.list.slice(first)) each.rejected = true;
  }
}
