/**
 * What the sender does again and again: makes what is new due, claims endpoints, sends what they are due, and gives them
 * back. Endpoints that fail have half of the requests at most, so that those that answer always find room.
 */
import { Injectable, type BeforeApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { monotonicMs } from '../base/clock.js';
import { Repeater } from '../base/repeat.js';
import { messageOf } from '../domain/errors.js';
import { SenderConfig } from '../config/sender-config.js';
import { Log } from '../observability/logger.js';
import { isDatabaseAway } from '../store/database.js';
import { DeliveryClaims, type Claimed, type DueDelivery, type HeldEndpoint } from './delivery-claims.js';
import { DeliveryAttempts, DestinationBusy } from './delivery-attempts.js';
import { EndpointSender } from './endpoint-sender.js';

const IDLE_MS = 100;
const BUSY_MS = 20;
const RETRY_MS = 1000;
/** How long an endpoint rests whose host or address is busy: its turns are a second ahead by then. */
const BUSY_REST_MS = 500;
/** How long an endpoint rests of which it could not be read what is due, whatever is new. */
const UNREAD_REST_MS = 30_000;
/** Of those that are asked for one by one: where so many fail it is not theirs. */
const UNREAD_MAX = 3;

@Injectable()
export class SenderLoop implements BeforeApplicationShutdown, OnModuleDestroy {
  private readonly held = new Map<string, EndpointSender>();
  private readonly repeater: Repeater;
  private renewedMs = monotonicMs();
  private lookedMs = Number.NEGATIVE_INFINITY;
  private isStopping = false;
  /** Whether the last look could read what is due: while it cannot, nothing more is claimed, so that others may have it. */
  private isReading = true;
  /** Endpoints of which it could not be read, and until when they rest. */
  private readonly unread = new Map<string, number>();
  private readonly renewEveryMs: number;

  constructor(
    private readonly claims: DeliveryClaims,
    private readonly attempts: DeliveryAttempts,
    private readonly config: SenderConfig,
    private readonly log: Log,
  ) {
    this.renewEveryMs = (config.sender.leaseSec * 1000) / 3;
    this.repeater = new Repeater({
      run: () => this.step(),
      retryMs: RETRY_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'deliveries could not be claimed');
      },
    });
  }

  start(): void {
    void this.repeater.start();
  }

  /** Seconds since it last read what is due. */
  get lookAgeSec(): number {
    return (monotonicMs() - this.lookedMs) / 1000;
  }

  /** Requests under way. */
  get underWay(): number {
    return [...this.held.values()].reduce((sum, { underWay }) => sum + underWay.size, 0);
  }

  /** Claims nothing more. Nest calls this hook of all modules before it waits for the work of any. */
  onModuleDestroy(): void {
    this.isStopping = true;
    this.repeater.end();
  }

  /** Takes nothing new, and waits for what is under way; what the process's end cuts off is attempted again by another. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.repeater.stop();
    await Promise.all([...this.held.values()].flatMap(({ underWay }) => [...underWay.values()]));
    await this.release([...this.held.values()]);
  }

  /** One look; returns when the next is due, in ms. */
  async step(): Promise<number> {
    const fresh = await this.claims.takeFresh();
    await this.renew();
    if (this.isReading) await this.claim();
    this.isReading = false;
    const sent = await this.sendDue();
    this.isReading = true;
    await this.release([...this.held.values()].filter((each) => each.underWay.size === 0 && !each.isWanting));
    this.lookedMs = monotonicMs();
    return fresh + sent > 0 ? BUSY_MS : IDLE_MS;
  }

  private async renew(): Promise<void> {
    if (this.held.size === 0 || monotonicMs() - this.renewedMs < this.renewEveryMs) return;
    this.renewedMs = monotonicMs();
    const ours = await this.claims.renew([...this.held.values()]);
    for (const id of this.held.keys()) if (!ours.has(id)) this.held.delete(id);
  }

  private async claim(): Promise<void> {
    const { concurrency } = this.config.sender;
    const failing = [...this.held.values()].filter(({ isFailing }) => isFailing);
    const ofFailing = failing.reduce((sum, { underWay }) => sum + Math.max(1, underWay.size), 0);
    const free = concurrency - this.underWay;
    for (const areFailing of [false, true]) {
      const most = areFailing ? Math.min(free, Math.floor(concurrency / 2) - ofFailing) : free;
      for (const { id, fence } of await this.claims.claim(most, areFailing)) {
        const known = this.held.get(id);
        if (known === undefined) this.hold(new EndpointSender(id, fence, areFailing));
        else Object.assign(known, { fence, isWanting: true, isFailing: areFailing });
      }
    }
  }

  private hold(sender: EndpointSender): void {
    sender.restUntilMs = this.unread.get(sender.id) ?? 0;
    this.held.set(sender.id, sender);
  }

  /** Returns how many attempts began. */
  private async sendDue(): Promise<number> {
    const now = monotonicMs();
    const wanting = [...this.held.values()].filter((each) => each.isWanting && each.room > 0 && each.mayBegin);
    if (wanting.length === 0) return 0;
    for (const each of wanting) each.isWanting = false;
    try {
      const endpoints = new Map((await this.claims.endpoints(wanting)).map((each) => [each.id, each]));
      for (const { id, isDeleted } of endpoints.values()) if (isDeleted) await this.dropAll(id);
      const open = wanting.flatMap((sender) => {
        const endpoint = endpoints.get(sender.id);
        if (endpoint === undefined || endpoint.isDisabled || endpoint.isDeleted || sender.restUntilMs > now) return [];
        sender.isFailing = endpoint.failures > 0;
        return [sender.wanted(endpoint.failures)];
      });
      const underWay = wanting.flatMap((sender) => [...sender.underWay.keys()]);
      let begun = 0;
      await this.together(open, async (some) => {
        const due = await this.claims.due(some, underWay);
        for (const delivery of due) this.begin(delivery, endpoints.get(delivery.endpointId));
        begun += due.length;
      });
      return begun;
    } catch (error) {
      for (const each of wanting) each.isWanting = true;
      throw error;
    }
  }

  /** Asks for all at once, and where that fails for one at a time, so that one of them cannot hold up the others. */
  private async together<T extends Claimed>(
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
        // As long as a statement may take all of them together have waited already.
        await this.renew();
        await ask([endpoint]);
      } catch (error) {
        this.rest(endpoint.id);
        this.log.warn({ fault: messageOf(error), webhook: endpoint.id }, 'what is due to a webhook could not be read');
        failed += 1;
        if (isDatabaseAway(error) || failed >= UNREAD_MAX) throw error;
      }
    }
  }

  private rest(id: string): void {
    const now = monotonicMs();
    for (const [each, untilMs] of this.unread) if (untilMs < now) this.unread.delete(each);
    const untilMs = now + UNREAD_REST_MS;
    this.unread.set(id, untilMs);
    const sender = this.held.get(id);
    if (sender !== undefined) sender.restUntilMs = untilMs;
  }

  private async dropAll(endpointId: string): Promise<void> {
    while (!this.isStopping && (await this.claims.drop(endpointId)) > 0);
  }

  private begin(delivery: DueDelivery, endpoint: HeldEndpoint | undefined): void {
    const sender = this.held.get(delivery.endpointId);
    if (sender === undefined || endpoint === undefined || sender.underWay.has(delivery.id)) return;
    const attempt = this.attempts
      .attempt(sender, endpoint, delivery)
      .catch((error: unknown) => {
        sender.restUntilMs = monotonicMs() + BUSY_REST_MS;
        // What was not recorded is attempted again.
        if (!(error instanceof DestinationBusy)) {
          this.log.warn({ fault: messageOf(error) }, 'an attempt could not be recorded');
        }
      })
      .finally(() => {
        sender.underWay.delete(delivery.id);
        sender.isWanting = true;
        this.repeater.nudge();
      });
    sender.underWay.set(delivery.id, attempt);
  }

  private async release(senders: readonly EndpointSender[]): Promise<void> {
    if (senders.length === 0) return;
    const now = monotonicMs();
    await this.claims.release(
      senders.map(({ id, fence, restUntilMs }) => ({ id, fence, restMs: Math.max(0, Math.ceil(restUntilMs - now)) })),
    );
    for (const { id } of senders) this.held.delete(id);
  }
}
