// Duration of verifying the records of a large pool: 50 wallets, 100 000 open legs, each with its own receiver. Run
// `node test/programmes/bench/verify-scale.mjs [legs] [wallets]` after `npm run build`. The node is a stand-in that answers from memory
// over HTTP, in a separate process. Rows are written directly into the tables, since no service could do it as fast.
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { addressFromBytes } from '../../../dist/platform/chain/address.js';
import { NodePool } from '../../../dist/platform/chain/node-pool.js';
import { TronNode } from '../../../dist/platform/chain/node.js';
import { buildTransaction } from '../../../dist/platform/chain/signed-transaction.js';
import { TronClient } from '../../../dist/platform/chain/tron.client.js';
import { createDataSource } from '../../../dist/platform/database/data-source.js';
import { Database } from '../../../dist/platform/database/database.js';
import { migrateUp } from '../../../dist/platform/database/migrate.js';
import { verifyRecords } from '../../../dist/modules/verify/verify.js';
import '../../setup/typescript.mjs';

const { startPostgres } = await import('../../../packages/local/src/postgres.ts');

const legs = Number(process.argv[2] ?? 100_000);
const wallets = Number(process.argv[3] ?? 50);
const AMOUNT = 7_222_000_000n;
const PER_BLOCK = 60;
const FIRST_BLOCK = 1000;
const START_MS = 1_760_000_000_000;
const addressOf = (kind, n) =>
  addressFromBytes(
    Buffer.concat([Buffer.of(0x41), createHash('sha256').update(`${kind}${n}`).digest().subarray(0, 20)]),
  );
const walletOf = (leg) => leg % wallets;
const blockOf = (leg) => FIRST_BLOCK + Math.floor(leg / PER_BLOCK);
const idOf = (number) =>
  number.toString(16).padStart(16, '0') + createHash('sha256').update(String(number)).digest('hex').slice(16);
const timeOf = (number) => START_MS + number * 3000;
const lastBlock = blockOf(legs - 1) + 30;

function transactionOf(leg) {
  return buildTransaction(
    {
      type: 'delegate',
      owner: addressOf('wallet', walletOf(leg)),
      receiver: addressOf('receiver', leg),
      amountSun: AMOUNT,
    },
    {
      permissionId: 2,
      reference: { number: blockOf(leg) - 20, id: idOf(blockOf(leg) - 20), timestampMs: 0 },
      expiresAtMs: timeOf(blockOf(leg)) + 60_000,
      timestampMs: timeOf(blockOf(leg)) + (leg % 60_000),
    },
  );
}

async function serveNode() {
  const blocks = new Map();
  for (let leg = 0; leg < legs; leg += 1) {
    const list = blocks.get(blockOf(leg)) ?? [];
    const { rawData } = await transactionOf(leg);
    list.push({
      raw_data_hex: rawData.toString('hex'),
      ret: [{ contractRet: 'SUCCESS' }],
      signature: ['00'.repeat(65)],
    });
    blocks.set(blockOf(leg), list);
  }
  const index = new Map();
  const sums = new Map();
  const pairs = new Set();
  for (let leg = 0; leg < legs; leg += 1) {
    const [from, to] = [addressOf('wallet', walletOf(leg)), addressOf('receiver', leg)];
    index.set(from, index.get(from) ?? []);
    index.get(from).push(to);
    sums.set(from, (sums.get(from) ?? 0n) + AMOUNT);
    pairs.add(`${from}/${to}`);
  }
  const block = (number) => ({
    blockID: idOf(number),
    // With a field that the service cannot rebuild, the fabricated id is not checked against the header.
    block_header: {
      raw_data: { number, timestamp: timeOf(number), parentHash: idOf(number - 1), accountStateRoot: idOf(number) },
    },
    transactions: blocks.get(number) ?? [],
  });
  const answers = {
    getnowblock: () => block(lastBlock),
    getblockbynum: ({ num }) => (num > lastBlock ? {} : block(num)),
    getaccount: ({ address }) => ({
      address,
      account_resource: { delegated_frozenV2_balance_for_energy: Number(sums.get(address) ?? 0n) },
    }),
    getdelegatedresourceaccountindexv2: ({ value }) => ({ account: value, toAccounts: index.get(value) ?? [] }),
    getdelegatedresourcev2: ({ fromAddress, toAddress }) =>
      pairs.has(`${fromAddress}/${toAddress}`)
        ? { delegatedResource: [{ from: fromAddress, to: toAddress, frozen_balance_for_energy: Number(AMOUNT) }] }
        : {},
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const answer = answers[request.url.split('/').at(-1)]?.(JSON.parse(body || '{}')) ?? {};
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

async function fill(client, transactions) {
  const project = '11111111-1111-4111-8111-111111111111';
  await client.query(`SET session_replication_role = replica`);
  await client.query(`INSERT INTO project (id, name, api_key_sealed) VALUES ($1, 'bench', '')`, [project]);
  await client.query(`INSERT INTO credit_account (project_id, balance_credits) VALUES ($1, $2)`, [project, 1_000_000n]);
  for (let n = 0; n < wallets; n += 1) {
    await client.query(
      `INSERT INTO pool_wallet (address, role, permission_id, key_address, staked_sun, synced_at) VALUES ($1, 'pool', 2, 'k', 9e18, now())`,
      [addressOf('wallet', n)],
    );
  }
  await client.query(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason) VALUES ('topup:1', $1, 'funding', 'topup', $2, 'b', 'b')`,
    [project, BigInt(legs) * 100n + 1_000_000n],
  );
  const at = (leg) => new Date(timeOf(blockOf(leg))).toISOString();
  const all = Array.from({ length: legs }, (_, leg) => leg);
  await client.query(
    `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits,
       trx_usd_e8, settled, delivered_energy, created_at, delivered_at, ends_at)
     SELECT $1, 'k' || n, sha256(n::text::bytea), 'rental', 'delivered', r, 65000, 31536000, 1, 100, 1, true, 65000, now(), t, t + interval '31536000 seconds'
       FROM unnest($2::int[], $3::text[], $4::timestamptz[]) AS v(n, r, t) ORDER BY n`,
    [project, all, all.map((leg) => addressOf('receiver', leg)), all.map(at)],
  );
  await client.query(
    `INSERT INTO event (order_id, from_status, to_status) SELECT id, 'reserved', 'placed' FROM orders`,
  );
  await client.query(
    `INSERT INTO event (order_id, from_status, to_status) SELECT id, 'placed', 'delivered' FROM orders`,
  );
  await client.query(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id) SELECT 'charge:' || id, $1, 'revenue', 'charge', -100, id FROM orders`,
    [project],
  );
  await client.query(
    `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at)
     SELECT id, 1, 'rental', (id - 1) % $1 + 1, receive_address, $2, 65000, 'active', delivered_at FROM orders ORDER BY id`,
    [wallets, AMOUNT],
  );
  await client.query(
    `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
       block_number, block_id, block_at)
     SELECT l.order_id, l.id, 'delegate', 1, l.wallet_id, 'solid', sha256(v.raw), v.raw, $4, v.block - 20, l.active_at + interval '60 seconds',
       v.block, decode(v.block_id, 'hex'), l.active_at
       FROM unnest($1::bytea[], $2::bigint[], $3::text[]) WITH ORDINALITY AS v(raw, block, block_id, n) JOIN leg l ON l.id = v.n`,
    [transactions, all.map(blockOf), all.map((leg) => idOf(blockOf(leg))), Buffer.alloc(65)],
  );
  await client.query(`ANALYZE`);
}

async function run() {
  const postgres = await startPostgres({ durable: false });
  const node = fork(fileURLToPath(import.meta.url), [String(legs), String(wallets)], {
    env: { ...process.env, AS_NODE: '1' },
  });
  try {
    await migrateUp(postgres.url);
    const port = await new Promise((resolve) => node.once('message', resolve));
    const transactions = [];
    for (let leg = 0; leg < legs; leg += 1) transactions.push((await transactionOf(leg)).rawData);
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await fill(client, transactions);
    await client.end();
    console.log(`${legs} open legs of ${wallets} wallets are in the records and on the stand-in chain`);
    const source = await createDataSource({ url: postgres.url, poolMax: 16, applicationName: 'bench' }).initialize();
    const url = `http://127.0.0.1:${port}`;
    const limits = {
      apiKey: undefined,
      readTimeoutMs: 10_000,
      broadcastTimeoutMs: 1000,
      headStallSec: 3600,
      headAgeMaxSec: 0,
    };
    const chain = new TronClient(new NodePool([new TronNode({ ...limits, fullUrl: url, solidUrl: url })], 1000));
    for (const terms of [
      {},
      { chain, pairs: 'suspicious', blocksMax: 30 },
      { chain, pairs: 'every', blocksMax: 10_000 },
      { chain, pairs: 'every', pairsMax: 1_000_000, blocksMax: 10_000 },
    ]) {
      const report = await verifyRecords(new Database(source), terms);
      const found = report.checks.filter((check) => check.count > 0).map((check) => `${check.check} ${check.count}`);
      const name =
        terms.chain === undefined
          ? 'books alone'
          : `with the chain, ${terms.pairs} pairs, ${terms.pairsMax ?? 20_000} at most, ${terms.blocksMax} blocks`;
      // Without a chain its rules cannot be judged; with one they must be.
      const isWhole = terms.chain === undefined || report.unmade.length === 0;
      console.log(
        `${(report.tookMs / 1000).toFixed(1)} s  ${name}: ${found.length > 0 ? found.join(', ') : isWhole ? 'agrees' : 'NOT JUDGED'}`,
      );
      for (const check of report.checks.filter((each) => each.count > 0)) console.log(check.findings.slice(0, 2));
      if (terms.chain !== undefined)
        console.log(
          report.checks.flatMap((check) => check.covered ?? []),
          report.unmade,
        );
    }
    await source.destroy();
  } finally {
    node.kill('SIGKILL');
    await postgres.stop();
  }
}

await (process.env.AS_NODE === undefined ? run() : serveNode());
