/**
 * Whether the books can know what stands on chain. After a long absence they may be a restored backup, whose orders
 * were delivered since without it: then nothing is fulfilled until the reconciler has searched the chain up to now.
 */
import { Inject, Injectable } from '@nestjs/common';
import { solidHeadOf, TronClient } from '../chain/tron.client.js';
import { monotonicMs, sleep } from '../clock.js';
import { messageOf } from '../errors.js';
import { Log } from '../http/logger.js';
import { Database } from '../store/database.js';

/** Searched within this time, by the database's clock, the service was hardly away. */
const ABSENCE_SEC = 600;
const LOOK_MS = 1000;
/** A chain that cannot be searched (a node without old blocks) must not hold up deliveries for ever. */
const WAIT_MAX_MS = 15 * 60_000;

const ABSENT = `SELECT searched_at < clock_timestamp() - $1 * interval '1 second' AS absent FROM reconcile_state`;

@Injectable()
export class KnownPast {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TronClient) private readonly client: TronClient,
    @Inject(Log) private readonly log: Log,
  ) {}

  /** Resolves once the books can know: at once after a short absence, after the search otherwise; never rejects. */
  async wait(signal: AbortSignal): Promise<void> {
    const deadlineMs = monotonicMs() + WAIT_MAX_MS;
    let isTold = false;
    let target: number | undefined;
    while (!signal.aborted) {
      try {
        target ??= await this.searchedBefore();
        if (target === undefined || (await this.scannedTo()) >= target) return;
        if (!isTold)
          this.log.warn({ upTo: target }, 'nothing is fulfilled before the chain was searched for what the books lack');
        isTold = true;
      } catch (error) {
        this.log.warn({ fault: messageOf(error) }, 'it is not known yet whether the books lack anything');
      }
      if (monotonicMs() > deadlineMs) {
        this.log.error({}, 'the chain could not be searched for what the books may lack; going on without');
        return;
      }
      await sleep(LOOK_MS, signal);
    }
  }

  /** The block up to which the chain must be searched first; undefined when it was searched lately, or never before. */
  private async searchedBefore(): Promise<number | undefined> {
    const [row] = await this.database.query<{ absent: boolean | null }>(ABSENT, [ABSENCE_SEC]);
    if (row?.absent !== true) return undefined;
    return this.client.pool.ask('the solid head', async (node) => (await solidHeadOf(node)).number);
  }

  private async scannedTo(): Promise<number> {
    const [row] = await this.database.query<{ scanned_to: bigint | null }>('SELECT scanned_to FROM reconcile_state');
    return Number(row?.scanned_to ?? 0n);
  }
}
