// `pool permissions` on a chain whose fees differ from the main network's.
import { addressOf, startOperatorChain, type OperatorChain } from '../../support/chain/operator-chain.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const UPDATE_TRX = 7;
const MULTI_SIGN_TRX = 3;
const HOT = addressOf('hot');

let database: TestDatabase;
let chain: OperatorChain;
let cli: Cli;

beforeAll(async () => {
  [database, chain] = await Promise.all([
    createTestDatabase(),
    startOperatorChain(['rich', 'poor', 'joint'], {
      balances: { poor: 2.5, joint: UPDATE_TRX + 9 },
      parameters: {
        getUpdateAccountPermissionFee: UPDATE_TRX * 1_000_000,
        getMultiSignFee: MULTI_SIGN_TRX * 1_000_000,
      },
    }),
  ]);
  cli = cliWith(settings(database.url, chain.env));
});

afterAll(async () => {
  await chain.stop();
  await database.drop();
});

const permissions = (name: string, ...more: string[]) =>
  cli('pool', 'permissions', addressOf(name), '--role', 'pool', '--key-address', HOT, ...more);

async function balanceOf(name: string): Promise<number> {
  const { balance } = await chain.call('wallet/getaccount', { address: addressOf(name), visible: true });
  return balance as number;
}

it('prints the fee of the chain, which the update then burns', async () => {
  const before = await balanceOf('rich');
  const shown = await permissions('rich');
  expect(shown.out.replaceAll(/\s+/g, ' ')).toContain('TRON burns 7.000000 TRX for it, beside bandwidth.');
  expect(shown.err).toBe('');
  const { update, ...figures } = (await permissions('rich', '--json')).json();
  expect(figures).toMatchObject({
    fee_sun: UPDATE_TRX * 1_000_000,
    multi_sign_fee_sun: 0,
    balance_sun: before,
    missing_sun: 0,
  });
  await chain.send('rich', await chain.call('wallet/accountpermissionupdate', update));
  expect(before - (await balanceOf('rich'))).toBe(UPDATE_TRX * 1_000_000);
});

it('warns of a wallet that cannot pay the fee', async () => {
  const shown = await permissions('poor');
  expect(shown.code).toBe(0);
  expect(shown.err.replaceAll(/\s+/g, ' ')).toContain('holds 2.500000 TRX and cannot pay the fee of 7.000000 TRX');
  expect(shown.err).toContain('4.500000 TRX');
  expect((await permissions('poor', '--json')).json()).toMatchObject({ missing_sun: 4_500_000 });
});

it('adds the fee for several signatures if the owner permission needs them', async () => {
  const owner = {
    type: 0,
    permission_name: 'owner',
    threshold: 3,
    keys: ['joint', 'second', 'third'].map((name, index) => ({ address: addressOf(name), weight: 2 - (index % 2) })),
  };
  const active = {
    type: 2,
    permission_name: 'theirs',
    threshold: 1,
    operations: `02${'0'.repeat(62)}`,
    keys: [{ address: addressOf('joint'), weight: 1 }],
  };
  const body = { owner_address: addressOf('joint'), owner, actives: [active], visible: true };
  await chain.send('joint', await chain.call('wallet/accountpermissionupdate', body));
  const shown = await permissions('joint');
  expect(shown.out.replaceAll(/\s+/g, ' ')).toContain(
    'TRON burns 7.000000 TRX for it, and 3.000000 TRX for its 2 signatures, beside bandwidth.',
  );
  expect(shown.err.replaceAll(/\s+/g, ' ')).toContain('holds 9.000000 TRX and cannot pay the fee of 10.000000 TRX');
  expect((await permissions('joint', '--json')).json()).toMatchObject({
    fee_sun: 7_000_000,
    multi_sign_fee_sun: 3_000_000,
    missing_sun: 1_000_000,
  });
});
