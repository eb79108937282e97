import { ROOM } from '../billing/ledger-sql.js';
import type { Transaction } from '../../platform/database/database.js';
import type { MinuteRate } from './judgement.js';
import type { UndoubtedRate } from './rate-history.js';
import { SmallSums, type SumOwner } from './small-sums.js';

/** A transfer to decide on. */
export interface Candidate extends SumOwner {
  readonly key: string;
  readonly amount: bigint;
  readonly at: Date;
  /** The deposit address that was paid. */
  readonly address: string;
  /** True when a deposit address paid the sender outside a recorded return: it may be our own money. */
  readonly isPaidByUs?: boolean;
}

/** The working state of one transaction: open sums, cached rates, and the balance changes to write at its end. */
export class DepositBatch {
  readonly balances = new Map<string, bigint>();
  readonly smallSums: SmallSums;
  readonly rates = new Map<string, MinuteRate | undefined>();
  /** Credits that balances can still take in, as first read. */
  private readonly margins = new Map<string, bigint>();
  readonly undoubtedRates = new Map<string, UndoubtedRate | undefined>();
  /** Credits granted automatically today, where a daily limit applies. */
  creditedToday: bigint | undefined;

  constructor(private readonly tx: Transaction) {
    this.smallSums = new SmallSums(tx);
  }

  /** Returns the credits that the project's balance can still take in. */
  async roomOf(projectId: string): Promise<bigint> {
    let room = this.margins.get(projectId);
    if (room === undefined) {
      const [row] = await this.tx.query<{ room: bigint }>(ROOM, [projectId]);
      room = row?.room ?? 0n;
      this.margins.set(projectId, room);
    }
    return room - (this.balances.get(projectId) ?? 0n);
  }
}
