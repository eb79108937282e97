/**
 * Announces a committed order, best effort: a sweep finds the order's row anyway. The log line links the request to
 * its order; the worker's lines link the order to its transactions.
 */
import { Injectable } from '@nestjs/common';
import { Log } from '../../platform/observability/logger.js';
import { WakeUps } from '../../platform/queue/jobs.js';
import { KeyCache } from './key-cache.js';
import type { Committed } from './order-commits.js';
import type { Purchase } from './purchase.js';

@Injectable()
export class OrderAnnouncements {
  constructor(
    private readonly wakeUps: WakeUps,
    private readonly keyCache: KeyCache,
    private readonly log: Log,
  ) {}

  announce({ project, key, kind, requestId }: Purchase, { row, isCreated, isRecovered }: Committed): void {
    // Fulfilment does not handle test orders.
    if (!project.isTest && (isCreated || isRecovered)) this.wakeUps.wake(row.id);
    if (isCreated)
      this.log.info({ orderId: row.id.toString(), projectId: project.id, requestId, kind }, 'order accepted');
    if (key.isGiven) this.keyCache.remember(project.id, key.value, row.id);
  }
}
