// A database of the last version before the baseline, with orders and a range of the archive, as a fixture.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';

const DUMP = new URL('../../fixtures/last-chain.sql.gz', import.meta.url);

export interface ChainDatabase {
  readonly name: string;
  readonly url: string;
  readonly drop: () => Promise<void>;
}

/** Restores the fixture into a new database. */
export async function restoreLastChain(): Promise<ChainDatabase> {
  const adminUrl = fromSetup('TEST_DATABASE_URL');
  const name = `${fromSetup('TEST_DATABASE_PREFIX')}_chain_${randomBytes(4).toString('hex')}`;
  const url = databaseUrl(adminUrl, name);
  const dump = (await promisify(gunzip)(await readFile(DUMP))).toString();
  await asAdmin(adminUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  await asAdmin(url, (client) => client.query(dump));
  return {
    name,
    url,
    drop: async () => {
      await asAdmin(adminUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}
