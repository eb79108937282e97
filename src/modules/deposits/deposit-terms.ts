/** The accepted assets and their minimum amounts. */
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { trxOf } from '../../domain/conversion.js';
import type { DepositAsset } from '../../domain/deposit-state.js';
import { SUN_PER_TRX } from '../../domain/units.js';
import { OperatorError } from '../../domain/operator-error.js';
import { Database } from '../../platform/database/database.js';
import { DepositTokens } from './deposit-tokens.js';
import type { AcceptedAsset } from './deposits.dto.js';

/**
 * Nearly every block of the main network has internal transactions. A minute (twenty blocks) without one means that too
 * few nodes keep them.
 */
const SEES_INTERNAL = {
  name: 'sees_internal_transactions',
  text: `SELECT coalesce(internal_at >= block_at - interval '1 minute', false) AS sees FROM deposit_cursor`,
};

const READ_TO = {
  name: 'deposits_read_to',
  text: `SELECT block_number FROM deposit_cursor WHERE EXISTS (SELECT FROM deposit_account)`,
};

@Injectable()
export class DepositTerms {
  constructor(
    private readonly database: Database,
    private readonly tokens: DepositTokens,
    private readonly config: Config,
  ) {}

  /** Returns the smallest amount that is credited by itself, in the asset's smallest unit. */
  minimumOf(asset: DepositAsset): bigint {
    const { minTrx, minUsdt } = this.config.deposits;
    return BigInt(asset === 'TRX' ? minTrx : minUsdt) * SUN_PER_TRX;
  }

  /** Returns the block up to which deposits are read. Throws OperatorError where deposits are not in use. */
  async needReadTo(): Promise<bigint> {
    const [row] = await this.database.query<{ block_number: bigint }>(READ_TO);
    if (row === undefined) throw new OperatorError('Deposits are not enabled. Run `deposits use-account` first.');
    return row.block_number;
  }

  async accepted(): Promise<AcceptedAsset[]> {
    const [row] = await this.database.query<{ sees: boolean }>(SEES_INTERNAL);
    const minimum = (asset: DepositAsset): string => trxOf(this.minimumOf(asset));
    return [
      { asset: 'TRX', minimum: minimum('TRX'), from_contracts: row?.sees === true },
      { asset: 'USDT', contract: await this.tokens.payable(), minimum: minimum('USDT') },
    ];
  }
}
