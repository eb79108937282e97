/**
 * Simulates unsigned contract calls: the energy they need, or the reason for which they would fail. Signs, sends and
 * charges nothing. No text of a node reaches a caller.
 */
import { Injectable } from '@nestjs/common';
import { Rates } from '../billing/rates.js';
import type { CallOutcome, ContractCall } from '../../platform/chain/contract-call.js';
import { withDeadline } from '../../platform/support/clock.js';
import { sharingFor, sharingOf } from '../../platform/chain/energy-sharing.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient, type AccountResources } from '../../platform/chain/tron.client.js';
import { NO_SHARING, callerPart, deployerPart, type EnergySharing } from '../../domain/energy-share.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { feeLimitFor } from '../../domain/fee-limit.js';
import { Log } from '../../platform/observability/logger.js';
import { burnPrice, trxOf, usdOf, withMargin } from '../../domain/conversion.js';
import { toJsonInteger } from '../../domain/units.js';
import { Market, type MarketState } from '../quotes/market.js';
import { feeLimitMembers, quoteBody } from '../quotes/quote.dto.js';
import { QuotesService } from '../quotes/quotes.service.js';
import { burnOutlook } from './burn-outlook.js';
import type { SimulationBody } from './simulate.dto.js';
import { TokenCauses } from '../quotes/token-causes.js';

export interface QuoteWish {
  readonly projectId: string;
  readonly isTest: boolean;
  /** Seconds; the configured default if absent. */
  readonly durationSec: number | undefined;
  readonly expectedUses: number | undefined;
}

/** Further readings about a call that succeeds. */
interface Readings {
  readonly sharing: EnergySharing;
  readonly resources: AccountResources | undefined;
}

type Success = Extract<CallOutcome, { kind: 'success' }>;
type Refused = Extract<CallOutcome, { kind: 'refused' }>;

const NOT_ACTIVATED = 'The sender does not exist on chain yet. Activate it first.';
const BEYOND_BALANCE = "The sender's balance does not cover call_value.";

/** Text for the caller by a node's refusal; the node's own message is not shown. */
const REFUSALS: Readonly<Record<Exclude<Refused['refusal'], 'balance'>, string>> = {
  'no-contract': 'There is no contract at contract_address.',
  timeout: 'The call exceeded the time limit of the node, so it could not be simulated.',
  'no-owner': 'The node does not know the sender yet. Repeat the simulation in a few seconds.',
  other: 'The node refused to simulate this call.',
};

@Injectable()
export class SimulationService {
  constructor(
    private readonly client: TronClient,
    private readonly market: Market,
    private readonly rates: Rates,
    private readonly quotes: QuotesService,
    private readonly causes: TokenCauses,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /**
   * Runs the call on the head's state. Throws ApiError SIMULATION_FAILED if no node could run it, or if a required
   * value could not be read. A call that fails is an answer, not an error (docs/interface.md §8).
   */
  async simulate(call: ContractCall, quote: QuoteWish | undefined): Promise<SimulationBody> {
    // Runs both reads concurrently. The sender's account decides first, regardless of the VM's result
    // (docs/interface.md §8).
    const running = this.client.simulate(call);
    running.catch(() => undefined);
    const sharing = this.sharingOf(call);
    const isActivated = await this.isOnChain(call.ownerAddress);
    if (!isActivated) {
      const ran = await running.catch(() => undefined);
      return failing(NOT_ACTIVATED, ran, { needs_activation: true });
    }
    // Only an account on chain has resources.
    const resources = this.resourcesOf(call.ownerAddress);
    const outcome = await this.answered(running, 'No node could simulate the call. Repeat the simulation shortly.');
    switch (outcome.kind) {
      case 'success':
        return this.succeeding(call, outcome, { sharing: await sharing, resources: await resources }, quote);
      case 'reverted':
      case 'fault':
        return failing(await this.causes.reasonOf(call, outcome), outcome);
      case 'refused':
        if (outcome.refusal === 'balance') return failing(BEYOND_BALANCE, outcome);
        this.log.info({ refusal: outcome.refusal, answer: outcome.message.slice(0, 300) }, 'node refused a simulation');
        throw new ApiError('SIMULATION_FAILED', REFUSALS[outcome.refusal]);
    }
  }

  private succeeding(
    call: ContractCall,
    outcome: Success,
    { sharing, resources }: Readings,
    quote: QuoteWish | undefined,
  ): SimulationBody {
    const fees = this.fees();
    const { energyFeeSun: feeSun, transactionFeeSunPerByte } = fees;
    // Applies to the total with its margin: the deployer's energy may cover the call but not its growth.
    const needed = callerPart(withMargin(outcome.energyUsed), sharing);
    const burn = burnPrice(callerPart(outcome.energyUsed, sharing), feeSun);
    const byDeployer = deployerPart(outcome.energyUsed, sharing);
    // TRON: the fee limit caps rented energy too, so it must allow for all of it.
    const feeLimit = feeLimitFor(needed, fees);
    const { rate, fresh } = this.rates.current();
    return {
      energy_used: toJsonInteger(outcome.energyUsed),
      energy_needed: toJsonInteger(needed),
      ...(byDeployer > 0n && { deployer_energy: toJsonInteger(byDeployer) }),
      burn_price_sun: toJsonInteger(burn),
      burn_price_trx: trxOf(burn),
      ...(fresh && { burn_price_usd: usdOf(burn, rate) }),
      energy_penalty: toJsonInteger(outcome.energyPenalty),
      ...feeLimitMembers(feeLimit),
      ...burnOutlook(call, { energyBurnSun: burn, ...feeLimit, resources, transactionFeeSunPerByte }),
      ...(quote !== undefined && this.quoted(call.ownerAddress, needed, quote)),
    };
  }

  /**
   * Returns the deployer's share of the call's energy. Never rejects: if it cannot be read in time, the caller counts
   * as paying for all, which never sizes too small.
   */
  private async sharingOf({ ownerAddress, contractAddress }: ContractCall): Promise<EnergySharing> {
    try {
      const read = withDeadline(
        sharingOf(this.client, contractAddress),
        this.config.chain.readTimeoutMs,
        'reading a contract',
      );
      return sharingFor(ownerAddress, await read);
    } catch (err) {
      this.log.info({ err, contract: contractAddress }, 'failed to read the energy share of a deployer');
      return NO_SHARING;
    }
  }

  /** Returns the sender's resources; undefined if they cannot be read in time. Never rejects. */
  private async resourcesOf(address: string): Promise<AccountResources | undefined> {
    try {
      const read = this.client.accountResources(address);
      return await withDeadline(read, this.config.chain.readTimeoutMs, 'reading resources');
    } catch (err) {
      this.log.info({ err, address }, 'failed to read the resources of a sender');
      return undefined;
    }
  }

  /** Returns a quote for exactly the measured energy, or the error code for its absence. */
  private quoted(
    receiveAddress: string,
    needed: Success['energyUsed'],
    wish: QuoteWish,
  ): Pick<SimulationBody, 'quote' | 'quote_error'> {
    try {
      const { durationSec, expectedUses, isTest } = wish;
      const rental = this.quotes.priceMeasured({ receiveAddress, energy: needed, durationSec, expectedUses, isTest });
      return { quote: quoteBody(this.quotes.issue(wish.projectId, rental)) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { quote_error: error.code };
    }
  }

  private async isOnChain(address: string): Promise<boolean> {
    const account = await this.answered(
      this.client.account(address),
      "The sender's account cannot be read at present. Repeat the simulation shortly.",
    );
    return account !== undefined;
  }

  private fees(): Pick<MarketState, 'energyFeeSun' | 'transactionFeeSunPerByte' | 'maxFeeLimitSun'> {
    try {
      return this.market.current();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new ApiError(
        'SIMULATION_FAILED',
        "The chain's energy price cannot be read at present. Repeat the request shortly.",
        {
          cause: error,
        },
      );
    }
  }

  /** Maps an unreachable chain to 502 with our own message. */
  private async answered<T>(question: Promise<T>, msg: string): Promise<T> {
    try {
      return await question;
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      throw new ApiError('SIMULATION_FAILED', msg, { cause: error });
    }
  }
}

/** Answers that no amount of energy makes the call work. `outcome` supplies the node's energy figure, if any. */
function failing(
  reason: string,
  outcome: CallOutcome | undefined,
  extras: Pick<SimulationBody, 'needs_activation'> = {},
): SimulationBody {
  const used = outcome !== undefined && 'energyUsed' in outcome ? outcome.energyUsed : 0n;
  return {
    energy_used: toJsonInteger(used),
    energy_needed: 0,
    burn_price_sun: 0,
    would_fail: true,
    ...extras,
    reason,
  };
}
