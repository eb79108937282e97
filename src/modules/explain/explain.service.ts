/**
 * Explains one transaction of an address that the project rents for: what it burnt, and the causes that the chain and the
 * records of orders prove. Only reads; a wrong answer of a node moves no money.
 */
import { Injectable } from '@nestjs/common';
import { withDeadline } from '../../platform/support/clock.js';
import { ChainUnavailableError, NodeError } from '../../platform/chain/errors.js';
import {
  ENERGY_PRICES_PATH,
  TRANSACTION_PATH,
  callIn,
  energyPriceIn,
  transactionReportOf,
  type TransactionReport,
} from '../../platform/chain/transaction-report.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { tokenCallOf, type TokenCall } from '../quotes/token-call.js';
import {
  needsPositions,
  rentalAt,
  shortageOf,
  type EarlierSurcharge,
  type ExecutedReport,
  type Facts,
  type Moment,
  type Rental,
  type RentalRecord,
} from './explain-facts.js';
import { earlierUseOf, transferFiguresOf } from './explain-proofs.js';
import { explanationBody, pendingBody, type ExplanationBody } from './explain.dto.js';
import { RentalRecords } from './rental-records.js';

/** Blocks around a delivery that are searched for a call of the contract. */
const SURCHARGE_OFFSETS = [0, 1, -1, 2, -2];
/** The searches for further facts take at most this many times as long as one read. */
const READS_MAX = 4;
/** A transaction may have hundreds of transfers; only the first ones are looked up. */
const ADDRESSES_MAX = 100;

@Injectable()
export class ExplainService {
  constructor(
    private readonly client: TronClient,
    private readonly records: RentalRecords,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /**
   * Returns the explanation; undefined if no node knows the transaction, or if none of its addresses belongs to the
   * projects. `projectIds` undefined means all projects. Throws ApiError CHAIN_UNAVAILABLE.
   */
  async explain(projectIds: readonly string[] | undefined, txid: string): Promise<ExplanationBody | undefined> {
    const report = await this.reportOf(txid);
    if (report === undefined) return undefined;
    const call = tokenCallIn(report);
    const projects = projectIds ?? (await this.records.projects());
    const [receiver] = await this.records.receiversAmong(projects, addressesIn(report, call));
    if (receiver === undefined) return undefined;
    if (!isExecuted(report)) return pendingBody(report, receiver);
    const [records, priceSun, block] = await this.circumstancesOf(report, projects, receiver);
    const { blockNumber, blockTimestampMs: timestampMs } = report.execution;
    const at: Moment = { blockNumber, txid, timestampMs, block };
    const rentals = records.map((record) => rentalAt(record, at));
    const facts = { report, receiver, priceSun, rentals };
    return explanationBody({ ...facts, ...(await this.furtherFacts(facts, records, call)) });
  }

  private async reportOf(txid: string): Promise<TransactionReport | undefined> {
    try {
      return await this.client.pool.ask(TRANSACTION_PATH, (node) => transactionReportOf(node, txid));
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      throw new ApiError(
        'CHAIN_UNAVAILABLE',
        'No node can be asked for the transaction just now. Repeat the request.',
        {
          cause: error,
        },
      );
    }
  }

  private async circumstancesOf(
    report: ExecutedReport,
    projects: readonly string[],
    receiver: string,
  ): Promise<[readonly RentalRecord[], bigint | undefined, readonly string[] | undefined]> {
    const { blockNumber, blockTimestampMs } = report.execution;
    const isSender = report.owner === receiver;
    const records = isSender ? await this.records.rentalsAround(projects, receiver, blockTimestampMs) : [];
    return [
      records,
      await this.priceOf(report),
      needsPositions(records, blockNumber) ? await this.readBlockOrder(blockNumber) : undefined,
    ];
  }

  /** The receipt gives the price of burnt energy; without any, the chain's history does. */
  private async priceOf({ execution }: ExecutedReport): Promise<bigint | undefined> {
    const { energy, stakedEnergy, deployerEnergy, energyBurnSun, blockNumber } = execution;
    const burnt = energy - stakedEnergy - deployerEnergy;
    if (burnt > 0n && energyBurnSun > 0n) return energyBurnSun / burnt;
    if (energy === 0n) return undefined;
    return this.unlessLate(
      this.client.pool.ask(ENERGY_PRICES_PATH, (node) => energyPriceIn(node, blockNumber)),
      'reading the price of energy',
    );
  }

  /** Returns the ids of a block in their order. */
  private async readBlockOrder(blockNumber: number): Promise<readonly string[] | undefined> {
    const block = await this.unlessLate(this.client.block(blockNumber), 'reading a block');
    return block?.transactions.map(({ txid }) => txid);
  }

  private async furtherFacts(
    facts: Facts,
    records: readonly RentalRecord[],
    call: TokenCall | undefined,
  ): Promise<Partial<Facts>> {
    const { report, rentals } = facts;
    const { isTooSmall, isUsedUp } = shortageOf(facts);
    const begun = firstBlockOf(records, rentals);
    return {
      ...(isUsedUp && {
        earlierUse: await this.unlessLate(earlierUseOf(this.client, report, begun), 'searching for an earlier use'),
      }),
      ...(isTooSmall &&
        call?.kind === 'transfer' && {
          transfer: await this.unlessLate(
            transferFiguresOf(this.client, call, report.target ?? ''),
            'measuring a transfer of the token',
          ),
        }),
      ...(isTooSmall && {
        surcharge: await this.unlessLate(this.surchargeOf(report, begun), 'reading the surcharge of a contract'),
      }),
    };
  }

  /** Returns the surcharge of the called contract at the delivery, by any call near it and before the transaction. */
  private async surchargeOf(
    { execution, target, txid }: ExecutedReport,
    begun: number,
  ): Promise<EarlierSurcharge | undefined> {
    if (target === undefined || execution.energy <= execution.penalty) return undefined;
    return this.client.pool.ask('wallet/gettransactioninfobyblocknum', async (node) => {
      for (const offset of SURCHARGE_OFFSETS) {
        const blockNumber = begun + offset;
        if (blockNumber < 1 || blockNumber > execution.blockNumber) continue;
        const found = await callIn(node, blockNumber, target);
        if (found !== undefined && found.txid !== txid) return { ...found, blockNumber };
      }
      return undefined;
    });
  }

  /** Returns undefined if a search fails or takes too long: then it proves nothing. */
  private async unlessLate<T>(search: Promise<T>, doing: string): Promise<T | undefined> {
    try {
      return await withDeadline(search, READS_MAX * this.config.chain.readTimeoutMs, doing);
    } catch (err) {
      if (err instanceof ChainUnavailableError || err instanceof NodeError) {
        this.log.info({ err, doing }, 'failed to read a fact about a transaction');
      } else this.log.warn({ err, doing }, 'failed to read a fact about a transaction');
      return undefined;
    }
  }
}

const isExecuted = (report: TransactionReport): report is ExecutedReport => report.execution !== undefined;

function tokenCallIn({ owner, target, data, kind }: TransactionReport): TokenCall | undefined {
  if (kind !== 'call' || target === undefined) return undefined;
  return tokenCallOf({ ownerAddress: owner, contractAddress: target, data });
}

/** Returns the addresses that take part, the sender first. */
function addressesIn(report: TransactionReport, call: TokenCall | undefined): readonly string[] {
  const { owner, target, execution } = report;
  const others = [call?.from, call?.to, target, ...(execution?.movers ?? [])];
  return [...new Set([owner, ...others.filter((each) => each !== undefined)])].slice(0, ADDRESSES_MAX);
}

/** Returns the first block of the rentals that were running; 0 without any. */
function firstBlockOf(records: readonly RentalRecord[], rentals: readonly Rental[]): number {
  const running = new Set(rentals.filter((rental) => rental.running > 0n).map(({ key }) => key));
  const blocks = records
    .filter(({ key }) => running.has(key))
    .flatMap(({ delegations }) => delegations.flatMap(({ begun }) => begun?.blockNumber ?? []));
  return blocks.length === 0 ? 0 : Math.min(...blocks);
}
