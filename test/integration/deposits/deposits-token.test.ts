// The token of deposits is stored with them; a changed setting does not alter it.
import 'reflect-metadata';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import {
  START_LIMIT_MS,
  type DepositProject,
  calm,
  closeFixture,
  creditedTo,
  database,
  depositsOf,
  env,
  follow,
  freeTurn,
  idOf,
  openFixture,
  openWorker,
  otherToken,
  payToken,
  payer,
  settle,
  newDepositProject,
  solid,
} from '../../support/worker/deposit-fixture.js';
import { cliWith } from '../../support/cli.js';

beforeAll(openFixture, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeFixture, START_LIMIT_MS);

/** Runs the CLI of an operator with a changed TOKEN_CONTRACT. */
const withOtherToken = async (...args: string[]) =>
  cliWith({ ...env, TOKEN_CONTRACT: otherToken, USER: 'tester' })('--json', '--yes', '--reason', 'a test', ...args);

describe('a changed TOKEN_CONTRACT', () => {
  it('stops a worker’s reading, and names the token of deposits', async () => {
    const to = await newDepositProject();
    await payToken(to, 70_000_000n, otherToken);
    await settle();
    await freeTurn();
    const changed = await openWorker({ TOKEN_CONTRACT: otherToken });
    await expect(follow(changed)).rejects.toThrow(
      new RegExp(`TOKEN_CONTRACT is ${otherToken}.*${env['TOKEN_CONTRACT']!}`),
    );
    await changed.close();
    await freeTurn();
    await follow();
    expect(await depositsOf(to)).toEqual([]);
  });

  it('lets no command credit, sweep or return, and a rescan records nothing of the other token', async () => {
    const to = await newDepositProject();
    await payToken(to, 12_000_000n);
    await payToken(to, 50_000_000n, otherToken);
    await settle();
    await follow();
    const last = (await solid()).toString();
    const first = (Number(last) - 6).toString();
    for (const command of [
      ['rescan', '--from', first, '--to', last],
      ['return', (await idOf(to)).toString(), '--to', payer.address],
      ['sweep-plan', '--to', newChainAccount().address],
      ['use-account'],
    ]) {
      const answer = await withOtherToken('deposits', ...command);
      expect({ command, code: answer.code, says: answer.err }).toMatchObject({
        code: 1,
        says: expect.stringContaining('TOKEN_CONTRACT'),
      });
    }
    expect(await depositsOf(to)).toMatchObject([{ amount: '12000000', status: 'credited' }]);
    expect(await creditedTo(to)).toBe(120_000_000n);
  });
});

/** Changes rows with triggers off, as only the database's owner can. */
const falsify = (of: DepositProject, contract: string | null) =>
  database.transaction(async (tx) => {
    await tx.query(`SET LOCAL session_replication_role = replica`);
    await tx.query(`UPDATE deposit SET contract = $2 WHERE project_id = $1`, [of.id, contract]);
  });

describe('a deposit', () => {
  it('is stored with its token, and verify finds one of another token', async () => {
    const to = await newDepositProject();
    await payToken(to, 12_000_000n);
    await settle();
    await follow();
    const rows = await database.query(`SELECT contract FROM deposit WHERE project_id = $1`, [to.id]);
    expect(rows).toEqual([{ contract: env['TOKEN_CONTRACT'] }]);
    expect(findingsOf(await verifyRecords(database))).toEqual([]);
    const found = async (depth: 'everything' | 'newer') => findingsOf(await verifyRecords(database, { depth }));
    await falsify(to, otherToken);
    for (const depth of ['everything', 'newer'] as const) {
      expect(await found(depth)).toMatchObject([
        { check: 'deposit-token', facts: { contract: otherToken, counting: env['TOKEN_CONTRACT'] } },
      ]);
    }
    // Rows older than the column belong to the first token.
    await falsify(to, null);
    expect(await found('everything')).toEqual([]);
  });
});
