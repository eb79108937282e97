// The services behind the operator's commands, on the owner's database connection.
import type { INestApplicationContext } from '@nestjs/common';
import { Sealers } from '../../../src/base/sealers.js';
import { Ledger } from '../../../src/billing/ledger.js';
import { TronClient } from '../../../src/chain/tron.client.js';
import { BlockCursor } from '../../../src/blocks/block-cursor.js';
import { Config } from '../../../src/config/config.js';
import { DepositAddresses } from '../../../src/deposits/deposit-addresses.js';
import { DepositTokens } from '../../../src/deposits/deposit-tokens.js';
import { PoolWallets } from '../../../src/pool/pool-wallets.js';
import { ApiKeys } from '../../../src/projects/api-keys.js';
import { Projects } from '../../../src/projects/projects.js';
import type { Database } from '../../../src/store/database.js';
import { ApiKey } from '../../../src/store/entities/api-key.entity.js';
import { CreditEntry } from '../../../src/store/entities/credit-entry.entity.js';
import { DepositAddress } from '../../../src/store/entities/deposit-account.entity.js';
import { PoolWallet } from '../../../src/store/entities/pool-wallet.entity.js';
import { Project } from '../../../src/store/entities/project.entity.js';

export const ledgerOn = (database: Database): Ledger =>
  new Ledger(database, database.source.getRepository(CreditEntry));

export const projectsOn = (database: Database, app: INestApplicationContext): Projects =>
  new Projects(
    database,
    app.get(Sealers),
    ledgerOn(database),
    depositsOn(database, app),
    database.source.getRepository(Project),
  );

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
  new ApiKeys(database, app.get(Sealers), database.source.getRepository(ApiKey));

export const walletsOn = (database: Database, app: INestApplicationContext): PoolWallets => {
  const wallets = database.source.getRepository(PoolWallet);
  return new PoolWallets(database, app.get(Sealers), app.get(TronClient), app.get(Config), wallets);
};
