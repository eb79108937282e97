// Holds as many pooler connections beside the tests as forty API processes may open. Each runs a transaction now and
// then. CROWD_URL names the pooler, CROWD_SIZE the number of connections. A lost connection ends the process with code
// 1. On SIGTERM it prints how many transactions it ran.
import pg from 'pg';

const { CROWD_URL: url, CROWD_SIZE: size } = process.env;
const CONNECT_LIMIT_MS = 20_000;
const ANSWER_LIMIT_MS = 60_000;
const BETWEEN_MS = 10_000;

let transactions = 0;

function lost(error) {
  console.error(`a connection was lost: ${error.message}`);
  process.exit(1);
}

async function open() {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
    application_name: 'energy-test-crowd',
  });
  client.on('error', lost);
  await client.connect();
  return client;
}

function keepBusy(client, firstMs) {
  const act = () => {
    client.query('BEGIN; SELECT 1; COMMIT').then(() => {
      transactions += 1;
      setTimeout(act, BETWEEN_MS);
    }, lost);
  };
  setTimeout(act, firstMs);
}

const clients = [];
for (let index = 0; index < Number(size); index += 1) clients.push(await open().catch(lost));
// Spreads the first transactions over the interval.
for (const [index, client] of clients.entries()) keepBusy(client, (index / clients.length) * BETWEEN_MS);
process.once('SIGTERM', () => {
  console.log(`${transactions.toString()} transactions on ${clients.length.toString()} connections`);
  process.exit(0);
});
console.log('ready');
