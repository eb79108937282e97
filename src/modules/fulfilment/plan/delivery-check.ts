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
import type { ChainTxPurpose } from '../../../domain/order-state.js';
import { deathsOf, liveTx, type ClaimedOrder } from '../loop/claimed-order.js';

const REFUND_REASON = 'The energy could not be delivered; the charge was returned.';
const INCOMPLETE = 'The order could not be delivered completely; the charge was returned.';
const ACTIVATION_KEPT =
  'The order could not be delivered completely; the charge was returned, except for the activation, which was made.';
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
    return (await this.isFutile(order, purpose, attempt)) ? 'undo' : 'build';
  }

  /**
   * Returns true if a further delivery of this purpose could only die like the last one. A first one is simply tried.
   */
  async isFutile(order: ClaimedOrder, purpose: ChainTxPurpose = 'delegate', attempt = 1): Promise<boolean> {
    return (attempt > 1 || hasDied(order, purpose)) && (await this.isSuitable(order, purpose)) === false;
  }

  /**
   * Returns the reason of a refund, as a sentence for the caller. No transaction of the order can be included any more.
   */
  async findRefundReason(order: ClaimedOrder): Promise<string> {
    // After a move to another wallet only the last one may be on chain.
    const activation = order.legs.findLast(({ kind }) => kind === 'activation');
    const failed = order.kind === 'activation' ? NOT_ACTIVATED : refundReasonOf(order);
    if (activation === undefined) return failed;
    if (liveTx(activation, 'activate') !== undefined) return ACTIVATION_KEPT;
    if ((await this.isSuitable(order, 'activate')) === false) return ACTIVATED_BEFORE;
    const costSun = await this.readActivationCost();
    const hasRisen = costSun !== undefined && activation.amountSun < costSun;
    return hasRisen ? FEE_ROSE : failed;
  }

  /**
   * Returns true if the receiver fits the delivery: no account for an activation, a plain account for a delegation.
   * Returns undefined while no node answers. TRON: CREATE2 can turn a plain account into a contract, and its
   * destruction leaves no account.
   */
  async isSuitable(order: ClaimedOrder, purpose: ChainTxPurpose): Promise<boolean | undefined> {
    try {
      const account = await this.client.account(order.receiver);
      return purpose === 'activate' ? account === undefined : account?.isContract === false;
    } catch (error) {
      if (error instanceof ChainUnavailableError) return undefined;
      throw error;
    }
  }
}

function hasDied(order: ClaimedOrder, purpose: ChainTxPurpose): boolean {
  return order.legs.some((leg) => deathsOf(leg, purpose) > 0);
}

const refundReasonOf = ({ bandwidth }: ClaimedOrder): string => (bandwidth === undefined ? REFUND_REASON : INCOMPLETE);
