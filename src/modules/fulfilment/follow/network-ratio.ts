/** Reads the network's totals, which decide how much stake a delegation needs. */
import { Injectable } from '@nestjs/common';
import { TronClient } from '../../../platform/chain/tron.client.js';
import { Config } from '../../../platform/config/config.js';
import { Database } from '../../../platform/database/database.js';
import { Log } from '../../../platform/observability/logger.js';
import { AgreedRatio, DOUBTFUL_RATIO, DOUBTFUL_RATIO_EFFECT } from '../../pool/agreed-ratio.js';
import type { NetworkTotals } from '../../pool/bandwidth-stake.js';

const ANY_WALLET = { name: 'any_wallet', text: `SELECT address FROM pool_wallet ORDER BY id LIMIT 1` };

@Injectable()
export class NetworkRatio {
  private readonly agreedRatio: AgreedRatio;

  constructor(
    client: TronClient,
    private readonly database: Database,
    private readonly config: Config,
    logger: Log,
  ) {
    this.agreedRatio = new AgreedRatio(client, (nodes) =>
      logger.warn({ nodes, effect: DOUBTFUL_RATIO_EFFECT }, DOUBTFUL_RATIO),
    );
  }

  /**
   * Reads the network's totals. The resources of any existing account show them: the token contract, or a wallet of
   * ours.
   */
  async read(): Promise<NetworkTotals> {
    const wallets = await this.database.query<{ address: string }>(ANY_WALLET);
    let fault: unknown;
    for (const address of [this.config.chain.tokenContract, ...wallets.map((wallet) => wallet.address)]) {
      try {
        return await this.agreedRatio.read(address);
      } catch (error) {
        fault = error;
      }
    }
    throw fault;
  }
}
