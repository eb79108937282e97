/** Compares the balances of deposit addresses on chain with the recorded movements. Reads only. */
import { Injectable } from '@nestjs/common';
import { monotonicMs, sleep } from '../../platform/support/clock.js';
import { DEPOSIT_ASSETS } from '../../domain/deposit-state.js';
import type { HoldingsReport, Unexplained } from '../../domain/holdings-report.js';
import { OperatorError } from '../../domain/operator-error.js';
import { DepositTerms } from './deposit-terms.js';
import { Holdings, type Amounts } from './holdings.js';

const BATCH = 100;
/** Time limit for the block reader to reach the block of the balances. */
const READER_LIMIT_MS = 60_000;
const READER_LOOK_MS = 500;

@Injectable()
export class DepositAudit {
  constructor(
    private readonly holdings: Holdings,
    private readonly terms: DepositTerms,
  ) {}

  /**
   * Audits every address. Throws ChainUnavailableError, and OperatorError when the block reader does not reach the
   * head.
   */
  async run(onProgress: (addresses: number) => void = () => undefined): Promise<HoldingsReport> {
    const unexplained: Unexplained[] = [];
    let addresses = 0;
    let after = '';
    for (;;) {
      const places = await this.holdings.readPlaces(after, BATCH);
      const last = places.at(-1);
      if (last === undefined) return { addresses, unexplained };
      const owners = new Map(places.map(({ address, project_id: projectId }) => [address, projectId]));
      unexplained.push(...(await this.judge(owners)));
      addresses += places.length;
      after = last.address;
      onProgress(addresses);
    }
  }

  private async judge(owners: ReadonlyMap<string, string>): Promise<Unexplained[]> {
    const addresses = [...owners.keys()];
    const read = await this.holdings.readOnChain(addresses);
    await this.waitForReader(read.toBlock);
    const states = await this.holdings.sumRecordedBetween(addresses, read);
    return addresses.flatMap((address) => {
      const held = read.held.get(address);
      const recorded = states.get(address) ?? [];
      const onChain: Amounts = { TRX: held?.trxSun ?? 0n, USDT: held?.token ?? 0n };
      return DEPOSIT_ASSETS.flatMap((asset) =>
        recorded.some((state) => state[asset] === onChain[asset])
          ? []
          : [
              {
                address,
                projectId: owners.get(address) ?? '',
                asset,
                onChain: onChain[asset],
                recorded: recorded.at(-1)?.[asset] ?? 0n,
              },
            ],
      );
    });
  }

  private async waitForReader(block: number): Promise<void> {
    const endMs = monotonicMs() + READER_LIMIT_MS;
    for (;;) {
      const readTo = await this.terms.needReadTo();
      if (readTo >= BigInt(block)) return;
      if (monotonicMs() > endMs) {
        throw new OperatorError(
          `Deposits are read only up to block ${readTo.toString()}, but the chain is at ${block.toString()}. Check that a worker is running.`,
        );
      }
      await sleep(READER_LOOK_MS);
    }
  }
}
