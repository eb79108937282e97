// Explained findings: they cover the same disagreement with changing figures, up to the explained amount.
import { ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

let fixture: ReconciliationFixture;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
});

afterAll(() => fixture.close());

const drift = (by: number): Promise<void> =>
  fixture.byHand(`UPDATE credit_account SET balance_credits = balance_credits + ${by.toString()}`);

async function fingerprintsOf(check: string): Promise<string[]> {
  const { checks } = await fixture.verify();
  return checks.find((each) => each.check === check)!.findings.map(({ fingerprint }) => fingerprint);
}

async function explain(...fingerprints: string[]): Promise<void> {
  const { code, err } = await fixture.cli('verify', 'explain', ...fingerprints, '--yes', '--reason', 'checked');
  expect(`${code.toString()} ${err}`).toMatch(/^0 /);
}

it('an explanation covers the explained amount and less, and neither more nor the opposite sign', async () => {
  await drift(7);
  const [found, ...more] = await fingerprintsOf('ledger-balance');
  expect(more).toEqual([]);
  await explain(found!);
  expect(await fingerprintsOf('ledger-balance')).toEqual([]);
  await drift(-2);
  expect(await fingerprintsOf('ledger-balance')).toEqual([]);
  await drift(3);
  expect(await fingerprintsOf('ledger-balance')).toEqual([found]);
  await explain(found!);
  expect(await fingerprintsOf('ledger-balance')).toEqual([]);
  await drift(-9);
  expect(await fingerprintsOf('ledger-balance')).toEqual([found]);
  await drift(1);
});

it('a delegation in excess keeps its name while it grows, and stays explained while rentals come and go', async () => {
  const receiver = fixture.service.accounts[1]!.address;
  await fixture.delegateForeign(1, receiver, 100);
  const [found] = await fingerprintsOf('open-delegations');
  await explain(found!);
  for (let count = 0; count < 3; count += 1) {
    await fixture.buy(receiver);
    expect(await fingerprintsOf('open-delegations')).toEqual([]);
  }
  await fixture.delegateForeign(1, receiver, 50);
  expect(await fingerprintsOf('open-delegations')).toEqual([found]);
});

it('names a wallet with an explained excess again when the excess grows', async () => {
  const over = (trx: number): Promise<void> =>
    fixture.byHand(
      `UPDATE pool_slot SET free_sun = free_sun + ${trx.toString()}::bigint * 1000000
        WHERE slot_no = (SELECT min(slot_no) FROM pool_slot) AND wallet_id = (SELECT min(id) FROM pool_wallet WHERE role = 'pool')`,
    );
  await over(500_000);
  const [found] = await fingerprintsOf('capacity');
  await explain(found!);
  expect(await fingerprintsOf('capacity')).toEqual([]);
  await over(1);
  expect(await fingerprintsOf('capacity')).toEqual([found]);
});

it('an explanation can be withdrawn, and that is recorded', async () => {
  await drift(20);
  const [found] = await fingerprintsOf('ledger-balance');
  await explain(found!);
  const listed = await fixture.cli('verify', 'explained', '--json');
  expect(listed.json()).toMatchObject({
    explained: expect.arrayContaining([expect.objectContaining({ fingerprint: found })]),
  });
  const withdraw = (fingerprint: string) =>
    fixture.cli('verify', 'withdraw', fingerprint, '--yes', '--reason', 'it was wrong');
  expect((await withdraw(found!)).code).toBe(0);
  expect(await fingerprintsOf('ledger-balance')).toEqual([found]);
  expect((await withdraw(found!)).err).toMatch(/There is no explanation of/);
  const audited = await fixture.cli('audit', 'list', '--action', 'verify.withdraw', '--json');
  expect(audited.json()).toMatchObject({ entries: [{ subject: found, reason: 'it was wrong' }] });
});
