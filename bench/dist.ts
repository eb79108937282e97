// The parts of the built service that the bench uses: the production code, loaded from dist.
import type { INestApplicationContext } from '@nestjs/common';
import type * as sealers from '../src/base/sealers.js';
import type * as ledger from '../src/billing/ledger.js';
import type * as signed from '../src/chain/signed-transaction.js';
import type * as config from '../src/config/config.js';
import type * as depositTerms from '../src/deposits/deposit-terms.js';
import type * as rescan from '../src/deposits/rescan.js';
import type * as depositAddresses from '../src/deposits/deposit-addresses.js';
import type * as blockFollower from '../src/blocks/block-follower.js';
import type * as reconciler from '../src/reconciliation/reconciler.js';
import type * as logger from '../src/observability/logger.js';
import type * as operator from '../src/operator/operator.module.js';
import type * as projects from '../src/projects/projects.js';
import type * as sync from '../src/pool/pool-sync.js';
import type * as database from '../src/store/database.js';
import type * as workers from '../src/worker.module.js';

const load = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../dist/${path}`, import.meta.url).href)) as T;

await import('reflect-metadata');
export const { openParts } = await load<typeof operator>('operator/operator.module.js');
export const { Sealers } = await load<typeof sealers>('base/sealers.js');
export const { Projects } = await load<typeof projects>('projects/projects.js');
export const { Ledger } = await load<typeof ledger>('billing/ledger.js');
export const { Database } = await load<typeof database>('store/database.js');
export const { buildTransaction } = await load<typeof signed>('chain/signed-transaction.js');
export const { Reconciler } = await load<typeof reconciler>('reconciliation/reconciler.js');
export const { DepositAddresses } = await load<typeof depositAddresses>('deposits/deposit-addresses.js');
export const { DepositTerms } = await load<typeof depositTerms>('deposits/deposit-terms.js');
export const { Rescan } = await load<typeof rescan>('deposits/rescan.js');
export const { BlockFollower } = await load<typeof blockFollower>('blocks/block-follower.js');
export const { PoolSync } = await load<typeof sync>('pool/pool-sync.js');

/** Opens a worker's services in this process, without their own timers. */
export async function openWorker(env: NodeJS.ProcessEnv): Promise<INestApplicationContext> {
  const { NestFactory } = await import('@nestjs/core');
  const { readConfig } = await load<typeof config>('config/config.js');
  const { createLogger } = await load<typeof logger>('observability/logger.js');
  const { WorkerModule } = await load<typeof workers>('worker.module.js');
  const settings = readConfig(env);
  return NestFactory.createApplicationContext(WorkerModule.for(settings, createLogger(settings)), { logger: false });
}
