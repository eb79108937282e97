// What the bench uses of the built service: the very code that runs, loaded from dist.
import type * as ledger from '../src/billing/ledger.js';
import type * as ports from '../src/local/ports.js';
import type * as processes from '../src/local/processes.js';
import type * as world from '../src/local/world.js';
import type * as operator from '../src/operator/operator.module.js';
import type * as projects from '../src/operator/projects.js';
import type * as database from '../src/store/database.js';

const load = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../dist/${path}`, import.meta.url).href)) as T;

await import('reflect-metadata');
export const { World } = await load<typeof world>('local/world.js');
export const { startNode } = await load<typeof processes>('local/processes.js');
export const { freePort } = await load<typeof ports>('local/ports.js');
export const { openParts } = await load<typeof operator>('operator/operator.module.js');
export const { Projects } = await load<typeof projects>('operator/projects.js');
export const { Ledger } = await load<typeof ledger>('billing/ledger.js');
export const { Database } = await load<typeof database>('store/database.js');
