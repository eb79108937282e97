/**
 * The sender's loop: makes new deliveries due, claims endpoints, sends due deliveries, and releases the endpoints.
 * Failing endpoints get at most half of the requests, so that working ones always have capacity.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { messageOf } from '../../domain/errors.js';
import { SenderConfig } from '../../platform/config/sender-config.js';
import { Log } from '../../platform/observability/logger.js';
import { isDatabaseAway } from '../../platform/database/database.js';
import { DeliveryClaims, type ClaimedEndpoint, type DueDelivery, type HeldEndpoint } from './delivery-claims.js';
import { DeliveryAttempts, DestinationBusy } from './delivery-attempts.js';
import { EndpointSender } from './endpoint-sender.js';

/** Longest wait of a new delivery until it is seen. */
const IDLE_MS = 100;
/** Pause if more new deliveries or due endpoints wait than one pass takes. */
const BUSY_MS = 20;
const RETRY_MS = 1000;
/** Rest of an endpoint while its host or address is busy: its free slots are a second ahead then. */
const BUSY_REST_MS = 500;
/** Rest of an endpoint after its due deliveries could not be read, regardless of new ones. */
const UNREAD_REST_MS = 30_000;
/** Failures of individual reads after which the cause is not the endpoint. */
const UNREAD_MAX = 3;

@Injectable()
export class SenderLoop extends RepeatedTask {
  private readonly senders = new Map<string, EndpointSender>();
  private renewedMs = monotonicMs();
  private readAtMs = Number.NEGATIVE_INFINITY;
  private lookAtMs = Number.NEGATIVE_INFINITY;
  /**
   * True if the last pass could read due deliveries. While false, nothing more is claimed, so that other senders can.
   */
  private isReading = true;
  /** Endpoints after a failed reading of their due deliveries, with the end of their rest. */
  private readonly unreadUntilMs = new Map<string, number>();
  private readonly renewEveryMs: number;

  constructor(
    private readonly deliveryClaims: DeliveryClaims,
    private readonly deliveryAttempts: DeliveryAttempts,
    private readonly config: SenderConfig,
    private readonly log: Log,
  ) {
    super(RETRY_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to claim deliveries');
    });
    this.renewEveryMs = (config.sender.leaseSec * 1000) / 3;
  }

  /** Seconds since it last read the due deliveries. */
  get readAgeSec(): number {
    return (monotonicMs() - this.readAtMs) / 1000;
  }

  /** Requests in progress. */
  get attemptsInProgress(): number {
    return [...this.senders.values()].reduce((sum, { attempts: underWay }) => sum + underWay.size, 0);
  }

  /**
   * Starts nothing new and waits for requests in progress. Another sender repeats those that the process's end cuts
   * off.
   */
  override async beforeApplicationShutdown(): Promise<void> {
    await this.stop();
    await Promise.all([...this.senders.values()].flatMap(({ attempts: underWay }) => [...underWay.values()]));
    await this.releaseEndpoints([...this.senders.values()]);
  }

  /** Makes one pass. */
  async runPass(): Promise<void> {
    this.lookAtMs = monotonicMs() + IDLE_MS;
    const { hasNew, hasDue } = await this.deliveryClaims.lookForWork();
    const hasMoreNew = hasNew && (await this.deliveryClaims.makeNewDeliveriesDue());
    await this.renewLeases();
    const mayClaim = (hasNew || hasDue) && this.isReading && !this.repeater.isEnding;
    const hasMoreDue = mayClaim && (await this.claimEndpoints());
    if (hasMoreNew || hasMoreDue) this.lookAtMs = monotonicMs() + BUSY_MS;
    await this.serveEndpoints();
    this.readAtMs = monotonicMs();
  }

  /** Looks for new deliveries if it is time. An ended attempt needs only the endpoints that are held. */
  protected override async runOnce(): Promise<number> {
    if (monotonicMs() >= this.lookAtMs) await this.runPass();
    else await this.serveEndpoints();
    // The repeater shortens a wait by up to 5 %.
    return Math.max(1, (this.lookAtMs - monotonicMs()) / 0.95);
  }

  /** Sends what is due of the held endpoints, and releases those without more. */
  private async serveEndpoints(): Promise<void> {
    this.isReading = false;
    await this.sendDue();
    this.isReading = true;
    await this.releaseEndpoints(
      [...this.senders.values()].filter((each) => each.attempts.size === 0 && !each.needsRead),
    );
  }

  private async renewLeases(): Promise<void> {
    if (this.senders.size === 0 || monotonicMs() - this.renewedMs < this.renewEveryMs) return;
    this.renewedMs = monotonicMs();
    const ours = await this.deliveryClaims.renew([...this.senders.values()]);
    for (const id of this.senders.keys()) if (!ours.has(id)) this.senders.delete(id);
  }

  /** Returns true if more endpoints may be due. */
  private async claimEndpoints(): Promise<boolean> {
    const { concurrency } = this.config.sender;
    const failing = [...this.senders.values()].filter(({ isFailing }) => isFailing);
    const ofFailing = failing.reduce((sum, { attempts: underWay }) => sum + Math.max(1, underWay.size), 0);
    const free = concurrency - this.attemptsInProgress;
    const freeForFailing = Math.min(free, Math.floor(concurrency / 2) - ofFailing);
    const claimed = await this.deliveryClaims.claim(free, freeForFailing);
    for (const { id, fence, isFailing } of claimed) {
      const known = this.senders.get(id);
      if (known === undefined) this.addSender(new EndpointSender(id, fence, isFailing));
      else known.claimAgain(fence, isFailing);
    }
    const failingCount = claimed.filter(({ isFailing }) => isFailing).length;
    const isFull = (count: number, limit: number): boolean => count > 0 && count >= limit;
    return isFull(claimed.length - failingCount, free) || isFull(failingCount, freeForFailing);
  }

  private addSender(sender: EndpointSender): void {
    sender.restUntilMs = this.unreadUntilMs.get(sender.id) ?? 0;
    this.senders.set(sender.id, sender);
  }

  private async sendDue(): Promise<void> {
    const now = monotonicMs();
    const wanting = [...this.senders.values()].filter((each) => each.needsRead && each.room > 0 && each.mayBegin);
    if (wanting.length === 0) return;
    for (const each of wanting) each.needsRead = false;
    try {
      const endpoints = new Map((await this.deliveryClaims.readEndpoints(wanting)).map((each) => [each.id, each]));
      for (const { id, isDeleted } of endpoints.values()) if (isDeleted) await this.dropDeliveries(id);
      const open = wanting.flatMap((sender) => {
        const endpoint = endpoints.get(sender.id);
        if (endpoint === undefined || endpoint.isDisabled || endpoint.isDeleted || sender.restUntilMs > now) return [];
        sender.isFailing = endpoint.failures > 0;
        return [sender.newDueRequest(endpoint.failures)];
      });
      const underWay = wanting.flatMap((sender) => [...sender.attempts.keys()]);
      await this.readTogether(open, async (some) => {
        const due = await this.deliveryClaims.readDue(some, underWay);
        for (const request of some) {
          const deliveries = due.filter(({ endpointId }) => endpointId === request.id);
          const sender = this.senders.get(request.id);
          // Otherwise all were read: the release finds those that are due later or new.
          if (sender !== undefined) sender.mayHaveMore = deliveries.length >= (request.isFailing ? 1 : request.room);
        }
        for (const delivery of due) this.startAttempt(delivery, endpoints.get(delivery.endpointId));
      });
    } catch (error) {
      for (const each of wanting) each.needsRead = true;
      throw error;
    }
  }

  /** Reads for all endpoints together, and one by one if that fails, so that one endpoint cannot hold up the others. */
  private async readTogether<T extends ClaimedEndpoint>(
    endpoints: readonly T[],
    ask: (some: readonly T[]) => Promise<void>,
  ): Promise<void> {
    if (endpoints.length === 0) return;
    try {
      await ask(endpoints);
      return;
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
    }
    let failed = 0;
    for (const endpoint of endpoints) {
      try {
        // The failed statement may have used its full timeout while the leases ran.
        await this.renewLeases();
        await ask([endpoint]);
      } catch (error) {
        this.postponeEndpoint(endpoint.id);
        this.log.warn({ fault: messageOf(error), webhook: endpoint.id }, 'failed to read due deliveries of a webhook');
        failed += 1;
        if (isDatabaseAway(error) || failed >= UNREAD_MAX) throw error;
      }
    }
  }

  private postponeEndpoint(id: string): void {
    const now = monotonicMs();
    for (const [each, untilMs] of this.unreadUntilMs) if (untilMs < now) this.unreadUntilMs.delete(each);
    const untilMs = now + UNREAD_REST_MS;
    this.unreadUntilMs.set(id, untilMs);
    const sender = this.senders.get(id);
    if (sender !== undefined) sender.restUntilMs = untilMs;
  }

  private async dropDeliveries(endpointId: string): Promise<void> {
    while (!this.repeater.isEnding && (await this.deliveryClaims.dropBatch(endpointId)) > 0);
  }

  private startAttempt(delivery: DueDelivery, endpoint: HeldEndpoint | undefined): void {
    const sender = this.senders.get(delivery.endpointId);
    if (sender === undefined || endpoint === undefined || sender.attempts.has(delivery.id)) return;
    const attempt = this.deliveryAttempts
      .attempt(sender, endpoint, delivery)
      .catch((error: unknown) => {
        sender.restUntilMs = monotonicMs() + BUSY_REST_MS;
        sender.mayHaveMore = true;
        // An unrecorded attempt is repeated.
        if (!(error instanceof DestinationBusy)) {
          this.log.warn({ fault: messageOf(error) }, 'failed to record a delivery attempt');
        }
      })
      .finally(() => {
        sender.attempts.delete(delivery.id);
        sender.needsRead ||= sender.mayHaveMore;
        if (sender.needsRead || sender.attempts.size === 0) this.repeater.nudge();
      });
    sender.attempts.set(delivery.id, attempt);
  }

  private async releaseEndpoints(senders: readonly EndpointSender[]): Promise<void> {
    if (senders.length === 0) return;
    const now = monotonicMs();
    await this.deliveryClaims.release(
      senders.map(({ id, fence, restUntilMs }) => ({ id, fence, restMs: Math.max(0, Math.ceil(restUntilMs - now)) })),
    );
    for (const { id } of senders) this.senders.delete(id);
  }
}
