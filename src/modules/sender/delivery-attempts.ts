/** Sends one delivery and records its outcome: signed for its endpoint, in order, under the fence of its claim. */
import { Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import { nowMs, sleep } from '../../platform/support/clock.js';
import { Sealers } from '../../platform/support/sealers.js';
import { SenderConfig } from '../../platform/config/sender-config.js';
import { invariant } from '../../domain/errors.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { AddressRules } from '../webhooks/address-rules.js';
import { Attempts, type Answered, type AttemptHooks } from './attempt.js';
import { DeliveryClaims, type DueDelivery, type HeldEndpoint } from './delivery-claims.js';
import { DeliveryRecords, type Outcome } from './delivery-records.js';
import { DestinationSlots } from './destination-slots.js';
import type { EndpointSender } from './endpoint-sender.js';
import { delayAfterMs } from './schedule.js';
import { signedHeaders } from '../webhooks/webhook-signature.js';

/** Covers DNS, connection, TLS, request and answer. */
const ATTEMPT_MS = 15_000;

/** Thrown if the host or address has too many requests. The attempt is postponed and not counted. */
export class DestinationBusy extends Error {
  override readonly name = 'DestinationBusy';
}

@Injectable()
export class DeliveryAttempts {
  private readonly attempts: Attempts;
  private readonly addressRules: AddressRules;
  private readonly attemptsCounter: Counter<'outcome'>;
  private readonly lateness: Histogram;
  private readonly postponedCounter: Counter;

  constructor(
    private readonly claims: DeliveryClaims,
    private readonly records: DeliveryRecords,
    private readonly slots: DestinationSlots,
    private readonly sealers: Sealers,
    config: SenderConfig,
    metrics: Metrics,
  ) {
    this.addressRules = new AddressRules(config.webhooks);
    this.attempts = new Attempts({ rules: this.addressRules, timeoutMs: ATTEMPT_MS, ...config.resolving });
    const registers = [metrics.registry];
    this.attemptsCounter = new Counter({
      name: 'webhook_attempts_total',
      help: 'Attempts to deliver, by `outcome` (docs/interface.md §27).',
      labelNames: ['outcome'],
      registers,
    });
    this.lateness = new Histogram({
      name: 'webhook_first_attempt_seconds',
      help: 'Time from due to the first attempt.',
      buckets: [0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300],
      registers,
    });
    this.postponedCounter = new Counter({
      name: 'webhook_postponed_total',
      help: 'Attempts postponed by the 20 a second of a host or address.',
      registers,
    });
  }

  /** Throws DestinationBusy or a database error; nothing is recorded then. */
  async attempt(sender: EndpointSender, endpoint: HeldEndpoint, delivery: DueDelivery): Promise<void> {
    // Only first attempts are ordered, replays behind new events. A requested delivery waits for no other.
    const isInOrder = delivery.attempts === 0 && delivery.cause !== 'test' && !delivery.isRequested;
    const place = isInOrder ? sender.takePlace() : undefined;
    try {
      const { payload } = delivery;
      if (payload === null) {
        await this.records.record(sender, delivery, EXPIRED);
        return;
      }
      if (delivery.attempts === 0 && delivery.cause === 'event') this.lateness.observe(Math.max(0, delivery.lateSec));
      const answered = await this.send(
        endpoint,
        { ...delivery, payload },
        {
          onAddress: async (address) => this.waitForSlot(`address ${address}`),
          beforeWriting: async () => {
            if (place !== undefined && !(await place.waitForTurn())) throw new DestinationBusy();
          },
          onWritten: () => place?.markWritten(),
        },
      );
      this.attemptsCounter.inc({ outcome: answered.fault ?? 'DELIVERED' });
      // Disables before it records: after a crash in between, the receiver answers 410 again.
      const isGone = answered.fault === 'GONE' && (await this.claims.disableGone(endpoint));
      await this.records.record(sender, delivery, outcomeOf(delivery, answered, isGone));
    } catch (error) {
      if (error instanceof DestinationBusy) place?.markPostponed();
      throw error;
    } finally {
      place?.markWritten();
    }
  }

  /** Throws DestinationBusy. */
  async send(
    endpoint: HeldEndpoint,
    delivery: DueDelivery & { readonly payload: string },
    hooks: AttemptHooks,
  ): Promise<Answered> {
    const destination = this.addressRules.destinationOf(endpoint.url);
    // The host of a literal is its address, which has a slot of its own.
    if (destination?.isLiteral === false) await this.waitForSlot(`host ${destination.host}`);
    const secrets = this.secretsOf(endpoint);
    const { eventKey, payload: body } = delivery;
    const headers = () => signedHeaders(eventKey, Math.floor(nowMs() / 1000), body, secrets);
    return this.attempts.send({ url: endpoint.url, body, headers }, hooks);
  }

  private secretsOf({ id, secret, previous }: HeldEndpoint): string[] {
    return [secret, previous].flatMap((sealed) => {
      if (sealed === null) return [];
      const opened = this.sealers.webhookSecret.open(sealed, id);
      invariant(opened !== undefined, `the secret of the webhook ${id} opens under the key of this process`);
      return [opened.toString('utf8')];
    });
  }

  private async waitForSlot(name: string): Promise<void> {
    const waitMs = await this.slots.reserve(name);
    if (waitMs === undefined) {
      this.postponedCounter.inc();
      throw new DestinationBusy();
    }
    if (waitMs > 0) await sleep(waitMs);
  }
}

const EXPIRED: Outcome = {
  status: 'dropped',
  delayMs: 0,
  answered: { fault: 'EVENT_EXPIRED', status: undefined, answer: undefined, durationMs: 0 },
};

function outcomeOf({ attempts, cause }: DueDelivery, answered: Answered, isGone: boolean): Outcome {
  const { fault, retryAfterSec } = answered;
  if (fault === undefined) return { status: 'delivered', delayMs: 0, answered };
  const isLast = isGone || cause === 'test';
  const delayMs = isLast ? undefined : delayAfterMs(attempts + 1, retryAfterSec, Math.random());
  return { status: delayMs === undefined ? 'failed' : 'pending', delayMs: delayMs ?? 0, answered };
}
