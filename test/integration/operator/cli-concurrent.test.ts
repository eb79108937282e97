// Two operators who run the same or opposite commands at the same moment: one effect, and a plain message for both.
import { jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { addressOf } from '../../support/chain/operator-chain.js';
import { openOperatorFixture, POOL_OPERATIONS, type OperatorFixture } from '../../support/chain/operator-fixture.js';
import type { Cli, CliResult } from '../../support/cli.js';

const ROUNDS = 4;
const WALLETS = ['first', 'second'];

let fixture: OperatorFixture;
let cli: Cli;
let keyFile: string;

beforeAll(async () => {
  fixture = await openOperatorFixture(WALLETS);
  ({ cli, keyFile } = fixture);
  const { chain } = fixture;
  for (const name of WALLETS) {
    await chain.stake(name, 5000);
    await chain.permit(name, [{ name: 'mine', operations: POOL_OPERATIONS, key: addressOf('hot') }]);
  }
});

afterAll(() => fixture.close());

async function newProject(): Promise<string> {
  return (await cli('--json', 'project', 'create', '--name', 'Shop')).json().merchant as string;
}

/** Runs command lines at the same moment, and asserts that each failure is one plain message. */
async function together(...lines: string[][]): Promise<CliResult[]> {
  const results = await Promise.all(lines.map((line) => cli(...line, '--yes', '--reason', 'a test')));
  for (const { code, err } of results) {
    expect(err).not.toMatch(/^\s+at |duplicate key|deadlock|A bug/m);
    if (code !== 0) expect(err.trim().split('\n')).toHaveLength(1);
  }
  return results;
}

const codes = (results: readonly CliResult[]): number[] => results.map(({ code }) => code).sort();

it.each(WALLETS)('adds the %s wallet to the pool once', async (name) => {
  const line = ['pool', 'add', '--role', 'pool', '--address', addressOf(name), '--permission-id', '2'];
  const results = await together([...line, '--key-file', keyFile], [...line, '--key-file', keyFile]);
  expect(codes(results)).toEqual([0, 1]);
  expect(results.find(({ code }) => code === 1)!.err).toContain('is already in the pool');
  const acts = await fixture.rows(`SELECT FROM audit_log WHERE action = 'pool.add' AND subject = $1`, [
    addressOf(name),
  ]);
  expect(acts).toHaveLength(1);
});

it('books a payment and a correction once, and refuses another amount under the same reference', async () => {
  const merchant = await newProject();
  for (const verb of ['topup', 'adjust']) {
    const ref = `${verb}-${randomBytes(4).toString('hex')}`;
    const line = ['credits', verb, merchant, '--credits', '1000', '--ref', ref, '--json'];
    const results = await together(line, line, line);
    expect(codes(results)).toEqual([0, 0, 0]);
    expect(results.filter((each) => each.json().booked === true)).toHaveLength(1);
    const other = [...line.slice(0, 4), '2000', ...line.slice(5, 6), `${ref}-2`];
    const differing = await together(other, [...other.slice(0, 4), '3000', ...other.slice(5)]);
    expect(codes(differing)).toEqual([0, 1]);
  }
  const [sums] = await fixture.rows(
    `SELECT sum(credits)::int AS entries, (SELECT balance_credits::int FROM credit_account WHERE project_id = $1) AS balance
       FROM credit_entry WHERE project_id = $1`,
    [merchant],
  );
  expect(sums!['entries']).toBe(sums!['balance']);
});

it('creates no API key beyond the limit, and rotates one once while its old secret is still valid', async () => {
  const merchant = await newProject();
  const line = ['keys', 'create', merchant, '--name', 'shop', '--scope', 'read', '--json'];
  const results = await together(...Array.from({ length: 12 }, () => line));
  const active = await fixture.rows(`SELECT FROM api_key WHERE project_id = $1 AND revoked_at IS NULL`, [merchant]);
  expect(results.filter(({ code }) => code === 0)).toHaveLength(active.length - 1);
  expect(results.filter(({ err }) => err.includes('at most 10 API keys')).length).toBeGreaterThan(0);
  const { key } = results.find(({ code }) => code === 0)!.json() as { key: string };
  const rotate = ['keys', 'rotate', key, '--overlap', '60', '--json'];
  expect(codes(await together(rotate, rotate))).toEqual([0, 1]);
  await together(['keys', 'rotate', key], ['keys', 'revoke', key]);
  const [row] = await fixture.rows(
    `SELECT revoked_at IS NOT NULL AS revoked, previous_until FROM api_key WHERE id = $1`,
    [key],
  );
  expect(row).toEqual({ revoked: true, previous_until: null });
});

it('records the price that each change replaced, for a new row too', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const seconds = (7_000_000 + round).toString();
    const set = (sun: string): string[] => [
      'price',
      'set',
      '--duration-max',
      seconds,
      '--sun-per-energy',
      sun,
      '--force',
    ];
    await together(set('50'), set('60'), set('70'));
    const acts = await fixture.rows(
      `SELECT detail->>'before' AS before, detail->>'after' AS after FROM audit_log
        WHERE action = 'price.set' AND subject = $1 ORDER BY id`,
      [seconds],
    );
    const [first, second, third] = acts;
    expect(acts.map(({ before }) => before)).toEqual([null, first!['after'], second!['after']]);
    expect(
      await fixture.rows(`SELECT sun_per_energy::text AS price FROM price_row WHERE duration_max_sec = $1`, [seconds]),
    ).toEqual([{ price: third!['after'] }]);
  }
});

it('says the state that a project or a wallet has after an opposite command', async () => {
  const merchant = await newProject();
  // oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
  const { setFrozen } = Ledger.prototype;
  const opposite = jest.spyOn(Ledger.prototype, 'setFrozen').mockImplementation(async function (
    this: Ledger,
    id,
    is,
    act,
  ) {
    await setFrozen.call(this, id, is, act);
    await setFrozen.call(this, id, !is, act);
  });
  const frozen = await cli('project', 'freeze', merchant, '--yes', '--reason', 'a test');
  expect(frozen.out).toContain('Shop is active');
  opposite.mockRestore();
  const address = addressOf(WALLETS[0]!);
  const results = await together(['pool', 'pause', address], ['pool', 'resume', address]);
  expect(codes(results)).toEqual([0, 0]);
  for (const { out } of results)
    expect(out).toMatch(/ is (?:active(?:; another command has resumed it since)?|paused(?:, still: a test)?)\.\n$/);
});
