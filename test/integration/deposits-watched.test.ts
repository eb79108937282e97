// What verify finds of what left deposit addresses.
import 'reflect-metadata';
import { DepositReturns } from '../../src/deposits/deposit-returns.js';
import { Sweeps } from '../../src/deposits/sweeps.js';
import { newChainAccount } from '../../packages/local/src/chain-account.js';
import { findingsOf } from '../../src/verify/finding.js';
import { verifyRecords } from '../../src/verify/verify.js';
import { AUTHOR } from '../factory.js';
import {
  START_LIMIT_MS,
  type Shop,
  calm,
  closeStage,
  commandLine,
  database,
  follow,
  idOf,
  openStage,
  operator,
  payTrx,
  payer,
  sendFrom,
  settle,
  shop,
  signAndSend,
  unexplained,
} from '../deposit-stage.js';

beforeAll(openStage, START_LIMIT_MS);
beforeEach(calm);
afterAll(closeStage, START_LIMIT_MS);

describe('what leaves a deposit address', () => {
  it('for another party is found until it is explained, though every balance is as recorded; a sweep and a return are not', async () => {
    const [swept, returned, robbed] = [await shop(), await shop(), await shop()];
    for (const to of [swept, returned, robbed]) await payTrx(to, 40_000_000);
    await settle();
    await follow();
    const treasury = newChainAccount();
    const plan = await operator.get(Sweeps).plan({ to: treasury.address, keepSun: 2_000_000n, limit: 100 }, AUTHOR);
    await signAndSend(plan.find(({ from }) => from === swept.address)!);
    await signAndSend((await operator.get(DepositReturns).give(await idOf(returned), payer.address, AUTHOR)).transfer);
    await settle();
    await follow();
    const found = async (depth: 'everything' | 'newer') => findingsOf(await verifyRecords(database, { depth }));
    for (const depth of ['everything', 'newer'] as const) expect(await found(depth)).toEqual([]);
    const thief = newChainAccount().address;
    const txid = await sendFrom(robbed, thief, 38_000_000n);
    await settle();
    expect(await unexplained()).toEqual([]);
    for (const depth of ['everything', 'newer'] as const) {
      expect(await found(depth)).toMatchObject([
        {
          check: 'deposit-outflows',
          subject: robbed.address,
          facts: { to_address: thief, asset: 'TRX', amount: '38000000', txid },
        },
      ]);
    }
    const [{ fingerprint } = { fingerprint: '' }] = await found('newer');
    expect(await commandLine('verify', 'explain', fingerprint)).toMatchObject({ code: 0 });
    expect(await found('newer')).toEqual([]);
    // Another one from there is another finding.
    await sendFrom(robbed, thief, 500_000n);
    await settle();
    await follow();
    expect(await found('newer')).toMatchObject([{ facts: { amount: '500000' } }]);
    expect(await commandLine('verify', 'explain', '--all')).toMatchObject({ code: 0 });
  });
});
