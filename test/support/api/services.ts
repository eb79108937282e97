// The services behind the operator's commands, on the owner's database connection.
import type { INestApplicationContext } from '@nestjs/common';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { BlockCursor } from '../../../src/platform/blocks/block-cursor.js';
import { Config } from '../../../src/platform/config/config.js';
import { DepositAddresses } from '../../../src/modules/deposits/deposit-addresses.js';
import { DepositTokens } from '../../../src/modules/deposits/deposit-tokens.js';
import { PoolWallets } from '../../../src/modules/pool/pool-wallets.js';
import { ApiKeys } from '../../../src/modules/projects/api-keys.js';
import { Projects } from '../../../src/modules/projects/projects.js';
import type { Database } from '../../../src/platform/database/database.js';
import { CreditEntry } from '../../../src/platform/database/entities/credit-entry.entity.js';
import { DepositAddress } from '../../../src/platform/database/entities/deposit-account.entity.js';
import { PoolWallet } from '../../../src/platform/database/entities/pool-wallet.entity.js';

export const ledgerOn = (database: Database): Ledger =>
  new Ledger(database, database.source.getRepository(CreditEntry));

export const projectsOn = (database: Database, app: INestApplicationContext): Projects =>
  new Projects(database, app.get(Sealers), ledgerOn(database), depositsOn(database, app));

/** Returns the service of deposit addresses. It assigns none when `app` has no deposit key. */
export const depositsOn = (database: Database, app: INestApplicationContext): DepositAddresses =>
  new DepositAddresses(
    database,
    new BlockCursor(database),
    app.get(Config),
    database.source.getRepository(DepositAddress),
    new DepositTokens(database, app.get(Config)),
  );

export const apiKeysOn = (database: Database, app: INestApplicationContext): ApiKeys =>
  new ApiKeys(database, app.get(Sealers));

export const walletsOn = (database: Database, app: INestApplicationContext): PoolWallets => {
  const wallets = database.source.getRepository(PoolWallet);
  return new PoolWallets(database, app.get(Sealers), app.get(TronClient), app.get(Config), wallets);
};
