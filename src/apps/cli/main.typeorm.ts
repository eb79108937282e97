/**
 * The DataSource for TypeORM's own commands, such as `npm run -s typeorm -- migration:show`. They neither grant rights to
 * roles nor wait for another migrating process, as `npm run -s cli -- migrate` does.
 */
import { readSecret } from '../../platform/config/config.js';
import { createDataSource } from '../../platform/database/data-source.js';

const url = readSecret(process.env, 'DATABASE_DIRECT_URL') ?? readSecret(process.env, 'DATABASE_URL');
if (url === undefined) throw new Error('DATABASE_URL is not set. Set it to the URL of the database to migrate.');

export default createDataSource({
  url,
  poolMax: 2,
  applicationName: 'energy-migrate',
  statementTimeoutMs: 0,
  prints: true,
});
