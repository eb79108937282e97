import type { Transaction } from '../store/database.js';
import * as sql from './deposit-sql.js';
import type { MinuteRate } from './judgement.js';
import type { UndoubtedRate } from './rate-history.js';
import { SmallSums, type SumOwner } from './small-sums.js';

/** A transfer to decide on. */
export interface Candidate extends SumOwner {
  readonly key: string;
  readonly amount: bigint;
  readonly at: Date;
  /** Where it was paid. */
  readonly address: string;
  /** Whether its sender was paid from a deposit address, by no return: it may be our own money. */
  readonly isPaidByUs?: boolean;
}

/** One transaction's work: what is entered in the ledger, and what the balances move by at its end. */
export class Takings {
  readonly balances = new Map<string, bigint>();
  readonly small: SmallSums;
  readonly rates = new Map<string, MinuteRate | undefined>();
  /** Of balances as they were first read. */
  private readonly margins = new Map<string, bigint>();
  readonly undoubted = new Map<string, UndoubtedRate | undefined>();
  /** Credited today by itself, where that has a limit. */
  creditedToday: bigint | undefined;

  constructor(private readonly tx: Transaction) {
    this.small = new SmallSums(tx);
  }

  /** What the project's balance can still take in. */
  async roomOf(projectId: string): Promise<bigint> {
    let room = this.margins.get(projectId);
    if (room === undefined) {
      const [row] = await this.tx.query<{ room: bigint }>(sql.ROOM, [projectId]);
      room = row?.room ?? 0n;
      this.margins.set(projectId, room);
    }
    return room - (this.balances.get(projectId) ?? 0n);
  }
}
