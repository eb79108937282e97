/**
 * Checks the chain before a delivery is built. An activation must cost no more than was reserved at its sale. After a
 * death, the receiver must still fit the delivery.
 */
import { Injectable } from '@nestjs/common';
import { activationCostSun } from '../../../platform/chain/chain-parameters.js';
import { ChainUnavailableError } from '../../../platform/chain/errors.js';
import { TronClient } from '../../../platform/chain/tron.client.js';
import { Config } from '../../../platform/config/config.js';
import { Log } from '../../../platform/observability/logger.js';
import { sun, type Sun } from '../../../domain/units.js';
import type { BuildStep } from './plan.js';
import { deathsOf, deliveryPurpose, type ClaimedOrder } from '../loop/claimed-order.js';

const REFUND_REASON = 'The energy could not be delivered; the charge was returned.';
const ACTIVATED_BEFORE = 'The account was activated by someone else first; the charge was returned.';
const FEE_ROSE = 'The chain’s activation fee rose above the charge; the charge was returned.';
const NOT_ACTIVATED = 'The account could not be activated; the charge was returned.';

/** `build` it, `wait` until a node answers, or `undo` the order because the delivery would fail or cost us. */
type Verdict = 'build' | 'wait' | 'undo';

@Injectable()
export class DeliveryCheck {
  constructor(
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Returns the current cost of an activation, or undefined while the nodes do not agree on it. */
  async readActivationCost(): Promise<Sun | undefined> {
    try {
      return sun(activationCostSun(await this.client.chainParameters(this.config.market.parameterBounds)));
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      this.log.warn({ err: error, effect: 'activations wait' }, 'failed to read the cost of activations');
      return undefined;
    }
  }

  /** `costSun`: the current cost of an activation. */
  async judgeBuild(
    order: ClaimedOrder,
    { leg, purpose, attempt }: BuildStep,
    costSun: Sun | undefined,
  ): Promise<Verdict> {
    if (purpose === 'reclaim') return 'build';
    if (purpose === 'activate') {
      if (costSun === undefined) return 'wait';
      if (costSun > leg.amountSun) {
        this.log.warn(
          { orderId: order.id.toString(), costSun: costSun.toString(), reservedSun: leg.amountSun.toString() },
          'activation costs more than its price; refunding',
        );
        return 'undo';
      }
    }
    return (await this.isFutile(order, attempt)) ? 'undo' : 'build';
  }

  /**
   * Returns true if a further delivery of the order could only die like the last one. A first delivery is simply tried.
   */
  async isFutile(order: ClaimedOrder, attempt = 1): Promise<boolean> {
    return (attempt > 1 || hasDied(order)) && (await this.isSuitable(order)) === false;
  }

  /**
   * Returns the reason of a refund, as a sentence for the caller. No transaction of the order can be included any more.
   */
  async findRefundReason(order: ClaimedOrder): Promise<string> {
    if (order.kind !== 'activation') return REFUND_REASON;
    if ((await this.isSuitable(order)) === false) return ACTIVATED_BEFORE;
    const costSun = await this.readActivationCost();
    const hasRisen = costSun !== undefined && order.legs.some((leg) => leg.amountSun < costSun);
    return hasRisen ? FEE_ROSE : NOT_ACTIVATED;
  }

  /**
   * Returns true if the receiver fits the delivery: no account for an activation, a plain account for a delegation.
   * Returns undefined while no node answers. TRON: CREATE2 can turn a plain account into a contract, and its
   * destruction leaves no account.
   */
  async isSuitable(order: ClaimedOrder): Promise<boolean | undefined> {
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
