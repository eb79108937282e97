/**
 * Whether the books can know what stands on chain. After a long absence they may be a restored backup, whose orders
 * were delivered since without it: then nothing is fulfilled until the reconciler has searched the chain up to now.
 */
import { Inject, Injectable } from '@nestjs/common';
import { solidBlockOf, solidHeadOf, TronClient } from '../chain/tron.client.js';
import { monotonicMs, sleep } from '../clock.js';
import { messageOf } from '../errors.js';
import { Log } from '../http/logger.js';
import { Database } from '../store/database.js';

/** Searched up to less than this behind the solid head, by the chain's clock, the service was hardly away. */
const ABSENCE_SEC = 600;
const LOOK_MS = 1000;
/** A chain that cannot be searched (a node without old blocks) must not hold up deliveries for ever. */
const WAIT_MAX_MS = 15 * 60_000;

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
        if (target === undefined || ((await this.scannedTo()) ?? 0) >= target) return;
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
    const scannedTo = await this.scannedTo();
    if (scannedTo === undefined) return undefined;
    return this.client.pool.ask('how long nobody searched', async (node) => {
      const [head, last] = await Promise.all([solidHeadOf(node), solidBlockOf(node, scannedTo)]);
      // A node that has not come as far, or no longer has the block, cannot say that it was lately.
      const absentMs = last === undefined ? Number.POSITIVE_INFINITY : head.timestampMs - last.timestampMs;
      return absentMs > ABSENCE_SEC * 1000 ? head.number : undefined;
    });
  }

  private async scannedTo(): Promise<number | undefined> {
    const [row] = await this.database.query<{ scanned_to: bigint | null }>('SELECT scanned_to FROM reconcile_state');
    return row === undefined || row.scanned_to === null ? undefined : Number(row.scanned_to);
  }
}
