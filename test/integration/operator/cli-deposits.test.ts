import 'reflect-metadata';
import { runCli } from '../../../src/modules/operator/cli.js';
import { envAs } from '../../setup/roles.js';
import { cliWith } from '../../support/cli.js';
import {
  BLOCK,
  calm,
  closeFixture,
  creditedTo,
  env,
  follow,
  mine,
  openFixture,
  payTrx,
  rates,
  settle,
  spies,
  newDepositProject,
  START_LIMIT_MS,
} from '../../support/worker/deposit-fixture.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

const run = async (...args: string[]) =>
  cliWith({ ...env, USER: 'tester' })('--json', '--yes', '--reason', 'a test', ...args);

interface Listed {
  readonly id: number;
  readonly status: string;
  readonly reason: string | null;
  readonly project_id: string;
}

const listed = async (...args: string[]): Promise<Listed[]> =>
  (await run('deposits', 'list', ...args)).json() as Listed[];

it('lists held deposits, and credits or ignores each once', async () => {
  const [first, second] = [await newDepositProject(), await newDepositProject()];
  // From the third minute on, the rate is a third above the median of the earlier ones.
  await rates(
    (minute) => (minute >= 2 ? 40_000_000n : 30_000_000n),
    () => 100_000_000n,
  );
  await mine(40);
  await payTrx(first, 10_000_000);
  await payTrx(second, 10_000_000);
  await settle();
  await follow();
  const held = await listed('--status', 'held');
  expect(held.map(({ project_id }) => project_id).sort()).toEqual([first.id, second.id].sort());
  const idOf = (id: string) => held.find(({ project_id }) => project_id === id)!.id.toString();
  expect(await run('deposits', 'resolve', idOf(first.id))).toMatchObject({ code: 2 });
  expect((await run('deposits', 'resolve', idOf(first.id), '--credit')).json()).toMatchObject({
    deposit: Number(idOf(first.id)),
    credits: 40_000_000,
  });
  expect(await run('deposits', 'resolve', idOf(first.id), '--credit')).toMatchObject({ code: 1 });
  expect((await run('deposits', 'resolve', idOf(second.id), '--ignore')).json()).toMatchObject({ credits: null });
  expect(await creditedTo(first)).toBe(40_000_000n);
  expect(await creditedTo(second)).toBe(0n);
  expect(await listed('--merchant', second.id)).toMatchObject([{ status: 'ignored', reason: 'a test' }]);
});

it('begins the account once, gives older projects their addresses, and checks each against the key', async () => {
  const { id } = await newDepositProject();
  expect((await run('deposits', 'use-account')).json()).toMatchObject({ account: 3, is_new: false, assigned: 0 });
  const checked = await run('deposits', 'addresses', '--check');
  expect((checked.json() as { project_id: string }[]).map(({ project_id }) => project_id)).toContain(id);
  const other = await cliWith({ ...env, DEPOSIT_XPUB: '' })('--json', 'deposits', 'addresses', '--check');
  expect(other.code).toBe(1);
});

describe('a rescan', () => {
  /** Aborted from the third look on, which is after two batches of four blocks. */
  const afterTwoBatches = (): AbortSignal => {
    let looks = 0;
    return Object.defineProperty(new AbortController().signal, 'aborted', { get: () => (looks += 1) > 2 });
  };

  async function rescanned(interrupted?: () => AbortSignal): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const args = ['--json', 'deposits', 'rescan', '--from', '1', '--to', '30'];
    const code = await runCli(args, {
      env: envAs(env, 'cli'),
      user: 'tester',
      out: (text) => (out += text),
      err: (text) => (err += text),
      ask: undefined,
      ...(interrupted && { interrupted }),
    });
    return { code, out, err };
  }

  beforeAll(async () => {
    await mine(40);
    await follow();
  });

  it('that is interrupted fails, and names the blocks that are left', async () => {
    const { code, out, err } = await rescanned(afterTwoBatches);
    expect(JSON.parse(out)).toEqual({ blocks: 8, found: 0, interrupted: true });
    expect([code, JSON.parse(err)]).toMatchObject([1, { error: 'INTERRUPTED' }]);
    expect(err).toContain('`--from 9 --to 30`');
  });

  it('that a node ends names the blocks that are left', async () => {
    const isLate = (body: string): boolean => Number((JSON.parse(body) as { num?: number }).num) > 12;
    for (const spy of spies) spy.before = (path, body) => (path === BLOCK && isLate(body) ? 'break' : undefined);
    const { code, out, err } = await rescanned();
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('`--from 13 --to 30`');
    for (const spy of spies) spy.rest();
    expect(await rescanned()).toMatchObject({ code: 0, err: '' });
  });
});
