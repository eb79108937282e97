/**
 * What must hold before a delivery is built, asked of the chain at that moment: creating an account costs no more than
 * was reserved for it when it was sold; and after a death, the receiver is still what the delivery needs.
 */
import { Injectable } from '@nestjs/common';
import { activationCostSun } from '../../chain/chain-parameters.js';
import { ChainUnavailableError } from '../../chain/errors.js';
import { TronClient } from '../../chain/tron.client.js';
import { Config } from '../../config/config.js';
import { Log } from '../../observability/logger.js';
import { sun, type Sun } from '../../domain/units.js';
import type { BuildStep } from './plan.js';
import { deathsOf, deliveryPurpose, type ClaimedOrder } from '../loop/claimed-order.js';

const REFUND_REASON = 'The energy could not be delivered; the charge was given back.';
const ACTIVATED_BEFORE = 'The account was activated by someone else first; the charge was returned.';
const FEE_ROSE = "The chain's fee for activations rose above what was charged; the charge was returned.";
const NOT_ACTIVATED = 'The account could not be activated; the charge was returned.';

/** `build` it, `wait` until the chain can be asked, or `undo` the order: it can only fail, or would cost us. */
type Verdict = 'build' | 'wait' | 'undo';

@Injectable()
export class DeliveryCheck {
  constructor(
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** What an activation costs now; undefined while the nodes do not say so alike. */
  async costSun(): Promise<Sun | undefined> {
    try {
      return sun(activationCostSun(await this.client.chainParameters(this.config.market.parameterBounds)));
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      this.log.warn({ err: error }, 'activations wait: their cost is not known just now');
      return undefined;
    }
  }

  /** `costSun`: what an activation costs now. */
  async judge(order: ClaimedOrder, { leg, purpose, attempt }: BuildStep, costSun: Sun | undefined): Promise<Verdict> {
    if (purpose === 'reclaim') return 'build';
    if (purpose === 'activate') {
      if (costSun === undefined) return 'wait';
      if (costSun > leg.amountSun) {
        this.log.warn(
          { orderId: order.id.toString(), costSun: costSun.toString(), reservedSun: leg.amountSun.toString() },
          'an activation costs more than it was sold for; it is refunded',
        );
        return 'undo';
      }
    }
    return (await this.isFutile(order, attempt)) ? 'undo' : 'build';
  }

  /** Whether a further delivery of the order could only die as the one before did. A first one finds out by itself. */
  async isFutile(order: ClaimedOrder, attempt = 1): Promise<boolean> {
    return (attempt > 1 || hasDied(order)) && (await this.suits(order)) === false;
  }

  /** Why an order is refunded, in a sentence for its caller. No transaction of it can be included any more. */
  async refundReason(order: ClaimedOrder): Promise<string> {
    if (order.kind !== 'activation') return REFUND_REASON;
    if ((await this.suits(order)) === false) return ACTIVATED_BEFORE;
    const costSun = await this.costSun();
    const hasRisen = costSun !== undefined && order.legs.some((leg) => leg.amountSun < costSun);
    return hasRisen ? FEE_ROSE : NOT_ACTIVATED;
  }

  /**
   * Whether the receiver is what a delivery needs: no account for an activation, a plain one for a delegation; undefined
   * while no node can be asked. TRON: CREATE2 makes a contract of a plain account, whose destruction leaves none.
   */
  async suits(order: ClaimedOrder): Promise<boolean | undefined> {
    try {
      const account = await this.client.account(order.receiver);
      return order.kind === 'activation' ? account === undefined : account?.isContract === false;
    } catch (error) {
      if (error instanceof ChainUnavailableError) return undefined;
      throw error;
    }
  }
}

function hasDied(order: ClaimedOrder): boolean {
  return order.legs.some((leg) => deathsOf(leg, deliveryPurpose(order)) > 0);
}
