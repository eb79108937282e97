// Internal transactions of contracts, as receipts show them, in order of their beginning. TRON: InternalTransaction,
// Program.addInternalTx, ProgramResult.
import { keccak256 } from './address.js';

/** A call between contracts, a transfer of TRX or a token, or a staking action. */
export interface InternalTransaction {
  readonly hash: string;
  readonly caller: string;
  /** For a creation, set once its address is derived. */
  to: string;
  /** In sun; 0 if a token moved instead. For a withdrawal, set afterwards. */
  value: bigint;
  /** Moved TRC10 tokens by id: one for a call, all for a self-destruct. Absent if no token can move. */
  readonly tokens?: readonly (readonly [string, bigint])[];
  /** call, create, suicide, voteWitness, withdrawReward, or an action on stake: freezeBalanceV2ForEnergy, … */
  readonly note: string;
  rejected: boolean;
  /** The votes of a voteWitness as JSON; not part of the hash. */
  extra?: string;
}

export interface InternalDraft extends Pick<InternalTransaction, 'caller' | 'to' | 'value' | 'note'> {
  /** Call data or init code, included in the hash. */
  readonly data?: Uint8Array;
  readonly tokens?: NonNullable<InternalTransaction['tokens']>;
}

/** Notes that a node stores without vm.saveFeaturedInternalTx. TRON: TransactionUtil.buildTransactionInfoInstance. */
export const TRANSFER_NOTES: ReadonlySet<string> = new Set(['call', 'create', 'suicide']);

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt.asIntN(64, value));
  return bytes;
}

/**
 * TRON (InternalTransaction.getHash): hash of the parent's hash, receiver (empty for a creation), data, value and
 * nonce. The nonce counts internal transactions over the whole transaction, from 1.
 */
function hashOf(parent: string, { to, value, note, data }: InternalDraft, nonce: number): string {
  const receiver = note === 'create' ? '' : to;
  const content = [Buffer.from(parent + receiver, 'hex'), data ?? Buffer.alloc(0), int64(value), int64(BigInt(nonce))];
  return Buffer.from(keccak256(Buffer.concat(content))).toString('hex');
}

/** The internal transactions of one transaction. */
export class InternalTransactions {
  readonly list: InternalTransaction[] = [];

  /** Adds an internal transaction of a frame. `parent` is the frame's hash; at the root, the transaction's id. */
  add(parent: string, draft: InternalDraft): InternalTransaction {
    const { caller, to, value, note, tokens } = draft;
    const hash = hashOf(parent, draft, this.list.length + 1);
    const added = { hash, caller, to, value, note, rejected: false, ...(tokens === undefined ? {} : { tokens }) };
    this.list.push(added);
    return added;
  }

  /** Marks all from index `first` as rejected: a failed frame rejects everything that began in it. */
  rejectFrom(first: number): void {
    for (const each of this.list.slice(first)) each.rejected = true;
  }
}
