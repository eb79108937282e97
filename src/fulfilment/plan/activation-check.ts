/**
 * What must hold before an activation is built, asked of the chain at that moment: the account is still absent, and
 * creating it costs no more than was reserved for it when it was sold.
 */
import { Injectable } from '@nestjs/common';
import { activationCostSun } from '../../chain/chain-parameters.js';
import { ChainUnavailableError } from '../../chain/errors.js';
import { TronClient } from '../../chain/tron.client.js';
import { Config } from '../../config/config.js';
import { Log } from '../../observability/logger.js';
import { sun, type Sun } from '../../domain/units.js';
import type { BuildStep } from './plan.js';
import type { ClaimedOrder } from '../loop/claimed-order.js';

const REFUND_REASON = 'The energy could not be delivered; the charge was given back.';
const ACTIVATED_BEFORE = 'The account was activated by someone else first; the charge was returned.';
const FEE_ROSE = "The chain's fee for activations rose above what was charged; the charge was returned.";
const NOT_ACTIVATED = 'The account could not be activated; the charge was returned.';

/** `build` it, `wait` until the chain can be asked, or `undo` the order: it can only fail, or would cost us. */
type Verdict = 'build' | 'wait' | 'undo';

@Injectable()
export class ActivationCheck {
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

  async judge(order: ClaimedOrder, { leg, attempt }: BuildStep, costSun: Sun | undefined): Promise<Verdict> {
    if (costSun === undefined) return 'wait';
    if (costSun > leg.amountSun) {
      this.log.warn(
        { orderId: order.id.toString(), costSun: costSun.toString(), reservedSun: leg.amountSun.toString() },
        'an activation costs more than it was sold for; it is refunded',
      );
      return 'undo';
    }
    // A first attempt finds out by itself; a further one after a death could only die as well.
    return attempt > 1 && (await this.exists(order)) === true ? 'undo' : 'build';
  }

  /** Why an order is refunded, in a sentence for its caller. No transaction of it can be included any more. */
  async refundReason(order: ClaimedOrder): Promise<string> {
    if (order.kind !== 'activation') return REFUND_REASON;
    if ((await this.exists(order)) === true) return ACTIVATED_BEFORE;
    const costSun = await this.costSun();
    const hasRisen = costSun !== undefined && order.legs.some((leg) => leg.amountSun < costSun);
    return hasRisen ? FEE_ROSE : NOT_ACTIVATED;
  }

  /** Whether the account is on chain; undefined while no node can be asked. */
  async exists(order: ClaimedOrder): Promise<boolean | undefined> {
    try {
      return (await this.client.account(order.receiver)) !== undefined;
    } catch (error) {
      if (error instanceof ChainUnavailableError) return undefined;
      throw error;
    }
  }
}
