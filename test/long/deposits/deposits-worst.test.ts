// Worst-case behaviour of chain, nodes, payers and exchanges: each deposit credited once, none missed, none invented.
import 'reflect-metadata';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addressBytes } from '../../../src/domain/base58-address.js';
import { DepositAddresses } from '../../../src/modules/deposits/deposit-addresses.js';
import { DepositAudit } from '../../../src/modules/deposits/deposit-audit.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import {
  BLOCK,
  INFOS,
  START_LIMIT_MS,
  type Json,
  type DepositProject,
  calm,
  chain,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  follow,
  freeTurn,
  hideLast,
  infosOf,
  meddle,
  mine,
  openFixture,
  openWorker,
  operator,
  otherToken,
  payToken,
  payTrx,
  rates,
  settle,
  newDepositProject,
  spies,
  worker,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

const hexOf = ({ address }: DepositProject): string => addressBytes(address)!.subarray(1).toString('hex');

/** Changes the receipts with event logs, at both nodes. */
const withLogs = (change: (log: Json) => readonly Json[]): void =>
  meddle(spies, (path, answer) =>
    path === BLOCK
      ? answer
      : infosOf(answer).map((info) =>
          Array.isArray(info['log']) ? { ...info, log: (info['log'] as Json[]).flatMap(change) } : info,
        ),
  );

describe('nodes', () => {
  const first = new Map<string, unknown>();
  it.each<readonly [string, (path: string, answer: unknown) => unknown]>([
    ['no receipts', (path, answer) => (path === INFOS ? [] : answer)],
    ['one receipt too few', (path, answer) => (path === INFOS ? infosOf(answer).slice(0, -1) : answer)],
    ['no block', (path, answer) => (path === BLOCK ? {} : answer)],
    [
      'a block without its transactions',
      (path, answer) => (path === BLOCK ? { ...(answer as Json), transactions: [] } : answer),
    ],
    [
      'as at the first request',
      (path, answer) => {
        if (!first.has(path)) first.set(path, answer);
        return first.get(path);
      },
    ],
  ])(
    'no block is skipped while both nodes answer %s, and the deposit is credited once they do not',
    async (_what, change) => {
      const to = await newDepositProject();
      await payTrx(to, 10_000_000);
      await payTrx(to, 11_000_000);
      await settle();
      meddle(spies, change);
      await follow().catch(() => undefined);
      expect(await depositsOf(to)).toEqual([]);
      for (const spy of spies) spy.rest();
      await follow();
      expect(await creditedTo(to)).toBe(63_000_000n);
    },
  );

  it('that have each another block lead to no deposit until they agree', async () => {
    const to = await newDepositProject();
    await payTrx(to, 10_000_000);
    await settle();
    await chain.control('faults', { kind: 'own-fork', node: 1, blocks: 8 });
    await expect(follow()).rejects.toThrow(/No TRON node could answer/);
    expect(await depositsOf(to)).toEqual([]);
    await chain.control('faults/clear', {});
    await follow();
    expect(await creditedTo(to)).toBe(30_000_000n);
  });

  it('of another chain than was read before are refused', async () => {
    const to = await newDepositProject();
    await follow();
    const [cursor] = await database.query<{ block_id: Buffer }>(`SELECT block_id FROM deposit_cursor`);
    await database.query(`UPDATE deposit_cursor SET block_id = $1`, [Buffer.alloc(32, 7)]);
    await payTrx(to, 10_000_000);
    await settle();
    await expect(follow()).rejects.toThrow('after 0707');
    expect(await depositsOf(to)).toEqual([]);
    await database.query(`UPDATE deposit_cursor SET block_id = $1`, [cursor!.block_id]);
    await follow();
    expect(await creditedTo(to)).toBe(30_000_000n);
  });

  it('of which one hides a transaction with its receipt stop the reading, and two that do are found by the audit', async () => {
    const to = await newDepositProject();
    await payTrx(await newDepositProject(), 12_000_000);
    await payTrx(to, 12_000_000);
    await settle();
    meddle([spies[1]], hideLast);
    await expect(follow()).rejects.toThrow(/No TRON node could answer/);
    meddle(spies, hideLast);
    await follow();
    for (const spy of spies) spy.rest();
    const { unexplained } = await operator.get(DepositAudit).run();
    expect(unexplained).toMatchObject([{ address: to.address, onChain: 12_000_000n, recorded: 0n }]);
  });
});

describe('one transaction', () => {
  it('with two transfers to one address and one to another project has all of them credited', async () => {
    const [one, other] = [await newDepositProject(), await newDepositProject()];
    const [from, to] = [hexOf(one), hexOf(other)];
    withLogs((log) => [log, JSON.parse(JSON.stringify(log).replaceAll(from, to)) as Json, log]);
    await payToken(one, 6_000_000n);
    await settle();
    await follow();
    const places = await database.query<{ place: number; project_id: string; credits: bigint }>(
      `SELECT place, project_id, credits FROM deposit WHERE project_id = ANY ($1) ORDER BY place`,
      [[one.id, other.id]],
    );
    expect(places).toEqual([
      { place: 0, project_id: one.id, credits: 60_000_000n },
      { place: 1, project_id: other.id, credits: 60_000_000n },
      { place: 2, project_id: one.id, credits: 60_000_000n },
    ]);
    expect([await creditedTo(one), await creditedTo(other)]).toEqual([120_000_000n, 60_000_000n]);
  });

  it('that moves two tokens is a deposit of the accepted one', async () => {
    const to = await newDepositProject();
    const other = addressBytes(otherToken)!.subarray(1).toString('hex');
    withLogs((log) => [{ ...log, address: other }, log]);
    await payToken(to, 6_000_000n);
    await settle();
    await follow();
    expect(await depositsOf(to)).toMatchObject([{ asset: 'USDT', amount: '6000000', status: 'credited' }]);
    const counted = await database.query(`SELECT contract, transfers FROM ignored_transfer WHERE address = $1`, [
      to.address,
    ]);
    expect(counted).toEqual([{ contract: otherToken, transfers: 1n }]);
  });
});

it('a thousand tiny payments cause no event, and one entry when they are enough', async () => {
  const to = await newDepositProject();
  const COUNT = 1000;
  for (let payment = 1; payment <= COUNT; payment += 1) {
    await payTrx(to, payment);
    if (payment % 250 === 0) await mine(1);
  }
  await settle();
  await follow();
  const dust = await depositsOf(to);
  expect(dust).toHaveLength(COUNT);
  expect(new Set(dust.map(({ reason }) => reason))).toEqual(new Set(['below_minimum']));
  await payTrx(to, 10_000_000);
  await settle();
  await follow();
  expect(await creditedTo(to)).toBe((10_000_000n + 500_500n) * 3n);
  while ((await worker.get(Numberer).numberBatch()) > 0);
  const [counts] = await database.query<{ events: number; entries: number }>(
    `SELECT (SELECT count(*)::integer FROM event WHERE project_id = $1 AND type LIKE 'deposit.%') AS events,
            (SELECT count(*)::integer FROM credit_entry WHERE project_id = $1) AS entries`,
    [to.id],
  );
  expect(counts).toEqual({ events: 1, entries: 1 });
});

it('among ten thousand projects each gets what was paid to it', async () => {
  await database.query(`INSERT INTO project (id, name, api_key_sealed)
    SELECT gen_random_uuid(), 'one of many', '\\x00' FROM generate_series(1, 10000)`);
  await database.query(`INSERT INTO credit_account (project_id)
    SELECT id FROM project p WHERE NOT EXISTS (SELECT FROM credit_account a WHERE a.project_id = p.id)`);
  while ((await operator.get(DepositAddresses).assignMissing()) > 0);
  const places = await database.query<{ id: string; address: string }>(
    `SELECT project_id AS id, address FROM deposit_address ORDER BY place DESC LIMIT 10000`,
  );
  expect(places).toHaveLength(10_000);
  const paid = [0, 1, 4999, 5000, 9998, 9999].map((index) => places[index]!);
  for (const [index, to] of paid.entries()) await payTrx(to, 10_000_000 + index);
  await settle();
  await follow();
  for (const [index, to] of paid.entries()) expect(await creditedTo(to)).toBe((10_000_000n + BigInt(index)) * 3n);
  const made = await newDepositProject();
  await payTrx(made, 10_000_000);
  await settle();
  await follow();
  expect(await creditedTo(made)).toBe(30_000_000n);
}, 300_000);

it('one of four exchanges alone gives no rate, and the deposit waits for one', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ price: '0.9' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  try {
    await rates(
      () => undefined,
      () => undefined,
    );
    await database.query(`DELETE FROM asset_rate`);
    await freeTurn();
    const fed = await openWorker({
      RATE_SOURCES: 'binance,coinbase,kraken,okx',
      RATE_SOURCE_URLS: `binance=${url},coinbase=${url}/none,kraken=${url}/none,okx=${url}/none`,
    });
    const to = await newDepositProject();
    await payTrx(to, 10_000_000);
    await payToken(to, 6_000_000n);
    await settle();
    await follow(fed);
    expect(await database.query(`SELECT FROM asset_rate`)).toEqual([]);
    expect(await depositsOf(to)).toMatchObject([{ reason: 'no_rate' }, { reason: 'no_rate' }]);
    await calm();
    await follow(fed);
    expect(await creditedTo(to)).toBe(90_000_000n);
    await freeTurn();
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
