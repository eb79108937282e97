// The operator's commands on a database and a local chain of their own, with a file of the pool's key.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase } from '../../setup/database.js';
import { cliWith, settings, type Cli } from '../cli.js';
import { keyOf, startOperatorChain, type OperatorChain } from './operator-chain.js';

/** The rights that a wallet of the pool gives its key. */
export const POOL_OPERATIONS = `0000000000000006${'0'.repeat(48)}`;

export interface OperatorFixture {
  readonly chain: OperatorChain;
  readonly env: Record<string, string>;
  readonly cli: Cli;
  /** An empty folder but for the key file. */
  readonly folder: string;
  /** The key `hot`. */
  readonly keyFile: string;
  /** Reads rows as the database's owner. */
  readonly rows: (text: string, params?: unknown[]) => Promise<Record<string, unknown>[]>;
  readonly close: () => Promise<void>;
}

/** Opens a chain with an account of each name. */
export async function openOperatorFixture(names: readonly string[]): Promise<OperatorFixture> {
  const [database, chain, folder] = await Promise.all([
    createTestDatabase(),
    startOperatorChain(names),
    mkdtemp(join(tmpdir(), 'operator-')),
  ]);
  const env = settings(database.url, chain.env);
  const keyFile = join(folder, 'hot.key');
  await writeFile(keyFile, `${keyOf('hot').toString('hex')}\n`, { mode: 0o600 });
  return {
    ...{ chain, env, cli: cliWith(env), folder, keyFile },
    rows: (text, params = []) => asAdmin(database.url, async (client) => (await client.query(text, params)).rows),
    close: async () => {
      await chain.stop();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}
