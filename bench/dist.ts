// What the bench uses of the built service: the very code that runs, loaded from dist.
const load = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../dist/${path}`, import.meta.url).href)) as T;

await import('reflect-metadata');
export const { World } = await load<typeof import('../src/local/world.js')>('local/world.js');
export const { startNode } = await load<typeof import('../src/local/processes.js')>('local/processes.js');
export const { freePort } = await load<typeof import('../src/local/ports.js')>('local/ports.js');
export const { openParts } =
  await load<typeof import('../src/operator/operator.module.js')>('operator/operator.module.js');
export const { Projects } = await load<typeof import('../src/operator/projects.js')>('operator/projects.js');
export const { Ledger } = await load<typeof import('../src/billing/ledger.js')>('billing/ledger.js');
export const { Database } = await load<typeof import('../src/store/database.js')>('store/database.js');
