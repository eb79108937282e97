/** Reads the log for a caller: the existing events or, with a wait, those that arrive within it. */
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { ApiError } from '../../domain/errors.js';
import { ClientGoneError } from '../../platform/http/body/read-body.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import type { Caller } from '../../platform/http/pipeline/request-context.js';
import { EventLog, type EventPage } from './event-log.js';
import { EventWaits } from './event-waits.js';
import { HeldReads, type HeldRead } from './held-reads.js';
import type { EventType } from '../../domain/event-types.js';

/** Start of a read: after a position, after the newest event, or (undefined) at the oldest event kept. */
export type After = bigint | 'latest' | undefined;

export interface Wanted {
  readonly after: After;
  /** The event types to read; undefined for all. */
  readonly types: readonly EventType[] | undefined;
  readonly limit: number;
}

@Injectable()
export class EventReading {
  constructor(
    private readonly eventLog: EventLog,
    private readonly listQueue: ListQueue,
    private readonly eventWaits: EventWaits,
    private readonly heldReads: HeldReads,
  ) {}

  /** Returns a page, in the project's turn in the list queue. Throws 410 EVENTS_EXPIRED, 503. */
  async readPage(projectId: string, { after, types, limit }: Wanted): Promise<EventPage> {
    return this.listQueue.run(projectId, async () => {
      if (after === 'latest')
        return { items: [], lastPosition: await this.eventLog.readLastPosition(projectId), hasMore: false };
      const page = await this.eventLog.read(projectId, after, types, limit);
      if (!('items' in page)) throw expired(page.oldestPosition);
      return page;
    });
  }

  /**
   * Like `readPage`, but waits up to `waitSec` if there is no event yet. Returns the events at hand when the process stops.
   * If the caller loses access meanwhile, throws the refusal that the request would now receive.
   */
  async poll(caller: Caller, response: ServerResponse, wanted: Wanted, waitSec: number): Promise<EventPage> {
    const { id } = caller.project;
    if (waitSec === 0) return this.readPage(id, wanted);
    const deadlineMs = monotonicMs() + waitSec * 1000;
    return this.heldReads.runHeld('poll', caller, response, async (held) => {
      let page = await this.readPage(id, wanted);
      for (;;) {
        throwIfEnded(held);
        const leftMs = deadlineMs - monotonicMs();
        if (page.items.length > 0 || leftMs <= 0 || held.signal.aborted) return page;
        if (!page.hasMore) await this.eventWaits.waitForEvents(id, page.lastPosition, leftMs, held.signal);
        throwIfEnded(held);
        page = await this.readPage(id, { ...wanted, after: page.lastPosition });
      }
    });
  }
}

function throwIfEnded({ endedBy, refusal }: HeldRead): void {
  if (refusal !== undefined) throw refusal;
  if (endedBy === 'caller') throw new ClientGoneError();
}

function expired(oldestPosition: bigint): ApiError {
  const words = `Events before position ${oldestPosition.toString()} are no longer kept. Omit after to read from that position.`;
  return new ApiError('EVENTS_EXPIRED', words, { oldestPosition: Number(oldestPosition) });
}
