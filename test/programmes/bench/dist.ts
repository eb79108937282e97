// The parts of the built service that the bench uses: the production code, loaded from dist.
import type { INestApplicationContext } from '@nestjs/common';
import type * as sealers from '../../../src/platform/support/sealers.js';
import type * as ledger from '../../../src/modules/billing/ledger.js';
import type * as signed from '../../../src/platform/chain/signed-transaction.js';
import type * as config from '../../../src/platform/config/config.js';
import type * as depositTerms from '../../../src/modules/deposits/deposit-terms.js';
import type * as rescan from '../../../src/modules/deposits/rescan.js';
import type * as depositAddresses from '../../../src/modules/deposits/deposit-addresses.js';
import type * as blockFollower from '../../../src/platform/blocks/block-follower.js';
import type * as reconciler from '../../../src/modules/reconciliation/reconciler.js';
import type * as logger from '../../../src/platform/observability/logger.js';
import type * as operator from '../../../src/modules/operator/operator.module.js';
import type * as projects from '../../../src/modules/projects/projects.js';
import type * as sync from '../../../src/modules/pool/pool-sync.js';
import type * as database from '../../../src/platform/database/database.js';
import type * as workers from '../../../src/apps/worker/worker.module.js';

const load = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../../../dist/${path}`, import.meta.url).href)) as T;

await import('reflect-metadata');
export const { openParts } = await load<typeof operator>('modules/operator/operator.module.js');
export const { Sealers } = await load<typeof sealers>('platform/support/sealers.js');
export const { Projects } = await load<typeof projects>('modules/projects/projects.js');
export const { Ledger } = await load<typeof ledger>('modules/billing/ledger.js');
export const { Database } = await load<typeof database>('platform/database/database.js');
export const { buildTransaction } = await load<typeof signed>('platform/chain/signed-transaction.js');
export const { Reconciler } = await load<typeof reconciler>('modules/reconciliation/reconciler.js');
export const { DepositAddresses } = await load<typeof depositAddresses>('modules/deposits/deposit-addresses.js');
export const { DepositTerms } = await load<typeof depositTerms>('modules/deposits/deposit-terms.js');
export const { Rescan } = await load<typeof rescan>('modules/deposits/rescan.js');
export const { BlockFollower } = await load<typeof blockFollower>('platform/blocks/block-follower.js');
export const { PoolSync } = await load<typeof sync>('modules/pool/pool-sync.js');

/** Opens a worker's services in this process, without their own timers. */
export async function openWorker(env: NodeJS.ProcessEnv): Promise<INestApplicationContext> {
  const { NestFactory } = await import('@nestjs/core');
  const { readConfig } = await load<typeof config>('platform/config/config.js');
  const { createLogger } = await load<typeof logger>('platform/observability/logger.js');
  const { WorkerModule } = await load<typeof workers>('apps/worker/worker.module.js');
  const settings = readConfig(env);
  return NestFactory.createApplicationContext(WorkerModule.for(settings, createLogger(settings)), { logger: false });
}
