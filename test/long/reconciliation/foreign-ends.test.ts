// Delegations ended by a foreign act: attribution to a rental, the customer's view and compensation, the operator's
// options.
import { until } from '../../../packages/local/src/wait.js';
import { takenBy } from '../../../src/modules/reconciliation/foreign-undelegations.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { namesOf, ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';
import { asAdmin } from '../../setup/admin.js';

let fixture: ReconciliationFixture;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
});

afterAll(() => fixture.close());

/** Creates an account, so that tests do not share rentals. */
async function newReceiver(): Promise<string> {
  const { bank, wallet } = fixture.service;
  const { address } = newOwner();
  const gift = { owner_address: bank.address, to_address: address, amount: 1_000_000 };
  await fixture.solid(await wallet.send('createtransaction', gift, bank));
  return address;
}

interface Rental {
  readonly id: bigint;
  readonly key: string;
  readonly wallet: string;
  readonly receiver: string;
  readonly sun: number;
}

async function rental(receiver: string, durationSec: number): Promise<Rental> {
  const id = await fixture.rent(receiver, 65_000, durationSec);
  const [row] = await fixture.database.query<{ key: string; wallet: string; sun: bigint }>(
    `SELECT o.key, w.address AS wallet, l.amount_sun AS sun FROM orders o JOIN leg l ON l.order_id = o.id
       JOIN pool_wallet w ON w.id = l.wallet_id WHERE o.id = $1`,
    [id],
  );
  return { id, receiver, key: row!.key, wallet: row!.wallet, sun: Number(row!.sun) };
}

/** Makes two rentals from one wallet to one receiver: one for an hour, one for a day. */
async function siblings(): Promise<readonly [Rental, Rental]> {
  const receiver = await newReceiver();
  const [short, long] = [await rental(receiver, 3600), await rental(receiver, 86_400)];
  return short.wallet === long.wallet ? [short, long] : siblings();
}

const answerOf = async (order: Rental) => (await fixture.customer.get(`/v1/orders/${order.key}`)).body;

async function standing(order: Rental): Promise<number> {
  const index = fixture.service.poolWallets.findIndex(({ address }) => address === order.wallet);
  return fixture.delegatedSun(index, order.receiver);
}

/** Repeats passes of the reconciler until `isSo` returns true. */
async function passUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const look = async (): Promise<true | undefined> => {
    await fixture.pass();
    return (await isSo()) ? true : undefined;
  };
  await until(look, 20_000, what);
}

const isEnded = (order: Rental) => async () => 'ended_early_by' in (await answerOf(order));

it('a rental that the wallet’s owner reclaimed ends with that act, its sibling goes on, and the wallet sells again', async () => {
  const [short, long] = await siblings();
  const txid = await fixture.undelegateForeign(short.wallet, short.receiver, short.sun);
  await passUntil('the act being held against the rental', isEnded(short));
  const ended = await answerOf(short);
  expect(ended).toMatchObject({ status: 'delivered', settled: true, ended_early_by: txid, needs_attention: false });
  expect(Date.parse(String(ended.reclaimed_at))).toBeLessThan(Date.parse(String(ended.ends_at)));
  expect(ended.delegations).toMatchObject([{ reclaim_txid: txid }]);
  expect(await answerOf(long)).not.toHaveProperty('ended_early_by');
  expect(await standing(long)).toBe(long.sun);
  await fixture.syncAll();
  await fixture.pass();
  expect(namesOf(await fixture.verify())).toEqual([]);
  expect((await fixture.wallet(short.wallet)).pause_reason).toBeNull();
  expect(await fixture.metric('early_reclaims_total')).toEqual(['early_reclaims_total 1']);
});

it('one act that took everything from a receiver ends all its rentals', async () => {
  const [short, long] = await siblings();
  const txid = await fixture.undelegateForeign(short.wallet, short.receiver, short.sun + long.sun);
  await passUntil('the act being held against the rentals', isEnded(long));
  for (const order of [short, long]) expect(await answerOf(order)).toMatchObject({ ended_early_by: txid });
  await fixture.syncAll();
  expect(namesOf(await fixture.verify())).toEqual([]);
});

it('an act with the service’s own key from elsewhere ends the rental, and stops every sale until the operator explains it', async () => {
  const [short] = await siblings();
  const txid = await fixture.undelegateForeign(short.wallet, short.receiver, short.sun, true);
  await passUntil('the act being held against the rental', isEnded(short));
  expect(await answerOf(short)).toMatchObject({ ended_early_by: txid });
  await fixture.pass();
  expect((await fixture.wallets()).map(({ status }) => status)).toEqual(Array(4).fill('paused'));
  const { code } = await fixture.cli('verify', 'explain', '--all', '--yes', '--reason', 'the key was used by hand');
  expect(code).toBe(0);
  await fixture.syncAll();
  await fixture.pass();
  expect((await fixture.wallets()).map(({ status }) => status)).toEqual(Array(4).fill('active'));
});

it('an act waits for our undelegation under way, and ends the rental once that undelegation is dead', async () => {
  const order = await rental(await newReceiver(), 60);
  const [rule] = await fixture.faults([{ kind: 'accept-then-drop', path: 'wallet/broadcasthex', rate: 1 }]);
  const isSending = async (): Promise<true | undefined> => {
    const [row] = await fixture.database.query(
      `SELECT FROM chain_tx WHERE order_id = $1 AND purpose = 'reclaim' AND status = 'sending'`,
      [order.id],
    );
    return row === undefined ? undefined : true;
  };
  let txid: string;
  try {
    await until(isSending, 20_000, 'the reclaim being sent');
    txid = await fixture.undelegateForeign(order.wallet, order.receiver, order.sun);
    await fixture.pass();
    const answer = await answerOf(order);
    // Only while our transaction is not dead: its death frees the act.
    if ((await isSending()) === true) expect(answer).not.toHaveProperty('reclaimed_at');
  } finally {
    await fixture.clearFault(rule);
  }
  const isOver = async () => 'reclaimed_at' in (await answerOf(order));
  await passUntil('the act being held against the rental', isOver);
  // Reclaimed after its end, though by the foreign act.
  expect(await answerOf(order)).toMatchObject({ status: 'delivered', delegations: [{ reclaim_txid: txid }] });
  await fixture.syncAll();
  expect(namesOf(await fixture.verify())).toEqual([]);
});

it('an act counts for the rental that it took, although a newer rental of the same amount is not final yet', async () => {
  const receiver = await newReceiver();
  const order = await rental(receiver, 86_400);
  await asAdmin(fixture.service.databaseUrl, async (client) => {
    // The next rental's delegation is on chain, but cannot be recorded as final while this session locks its row.
    const isHeld = async (): Promise<true | undefined> => {
      await fixture.buy(receiver, 65_000, 86_400);
      const lock = async (): Promise<'held' | 'final' | undefined> => {
        await client.query('BEGIN');
        const { rows } = await client.query<{ status: string; wallet: string }>(
          `SELECT t.status, w.address AS wallet FROM chain_tx t JOIN pool_wallet w ON w.id = t.wallet_id
            WHERE t.order_id = (SELECT max(id) FROM orders) AND t.status IN ('sending', 'included', 'solid') FOR UPDATE OF t`,
        );
        const [row] = rows;
        if (row !== undefined && row.status !== 'solid' && row.wallet === order.wallet) return 'held';
        await client.query('ROLLBACK');
        return row === undefined ? undefined : 'final';
      };
      return (await until(lock, 20_000, 'the next delegation')) === 'held' ? true : undefined;
    };
    await until(isHeld, 20_000, 'a delegation that is not final yet');
    const txid = await fixture.undelegateForeign(order.wallet, receiver, order.sun);
    await fixture.pass();
    await fixture.pass();
    await client.query('COMMIT');
    await passUntil('the act being held against the rental', isEnded(order));
    expect(await answerOf(order)).toMatchObject({ ended_early_by: txid });
  });
  await fixture.syncAll();
  expect(namesOf(await fixture.verify())).toEqual([]);
});

it('an act whose leg is held by another session holds up no other act', async () => {
  const [held, free] = [await rental(await newReceiver(), 3600), await rental(await newReceiver(), 3600)];
  await fixture.undelegateForeign(held.wallet, held.receiver, held.sun);
  await fixture.undelegateForeign(free.wallet, free.receiver, free.sun);
  await asAdmin(fixture.service.databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT FROM leg WHERE order_id = $1 FOR UPDATE', [held.id]);
    await passUntil('the other act being held against its rental', isEnded(free));
    expect(await answerOf(held)).not.toHaveProperty('ended_early_by');
    await client.query('COMMIT');
  });
  await passUntil('the act being held against its rental', isEnded(held));
  await fixture.syncAll();
  expect(namesOf(await fixture.verify())).toEqual([]);
});

it('what no act explains is ended by the operator alone, and only while the chain shows it missing', async () => {
  const [short, long] = await siblings();
  const close = (order: Rental, ...more: string[]) =>
    fixture.cli('orders', 'close-leg', order.id.toString(), '--yes', '--reason', 'sold twice by hand', ...more);
  const refused = await close(short);
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/still shows all energy/);
  // More than the first rental and less than both, so that it fits no single rental.
  const txid = await fixture.undelegateForeign(short.wallet, short.receiver, short.sun + 1_000_000_000);
  await fixture.pass();
  await fixture.pass();
  expect(await answerOf(short)).not.toHaveProperty('ended_early_by');
  const wrong = await close(short, '--txid', 'ab'.repeat(32));
  expect(wrong.err).toMatch(/No solid block contains this transaction/);
  expect((await close(short, '--txid', txid)).code).toBe(0);
  expect(await answerOf(short)).toMatchObject({ ended_early_by: txid });
  expect((await close(long)).code).toBe(0);
  expect(await answerOf(long)).toMatchObject({ settled: true });
  expect((await answerOf(long)).reclaimed_at).toBeDefined();
  const audited = await fixture.cli('audit', 'list', '--action', 'orders.close-leg', '--json');
  expect(audited.json()).toMatchObject({
    entries: [
      { actor: 'tester', action: 'orders.close-leg', subject: long.id.toString(), reason: 'sold twice by hand' },
      { subject: short.id.toString(), detail: { txid } },
    ],
  });
  expect((await fixture.cli('audit', 'list', '--by', 'nobody', '--json')).json()).toEqual({ entries: [] });
  const explained = await fixture.cli('verify', 'explain', '--all', '--yes', '--reason', 'what is left is known');
  expect(explained.code).toBe(0);
});

it('an order requeued while it runs does not count against its wallet: its delegation is not new', async () => {
  const order = await rental(await newReceiver(), 3600);
  const legs = () => fixture.database.query(`SELECT changed_at FROM leg WHERE order_id = $1`, [order.id]);
  const before = await legs();
  expect(before).toHaveLength(1);
  expect((await fixture.cli('orders', 'requeue', order.id.toString(), '--reason', 'impatient')).code).toBe(0);
  expect(await legs()).toEqual(before);
});

it('a compensation is booked and shown, and never exceeds the order’s charge', async () => {
  const order = await rental(await newReceiver(), 3600);
  const { credits } = await answerOf(order);
  const balance = async () => (await fixture.customer.get('/v1/balance')).body.credits_balance as number;
  const give = (amount: number, ...more: string[]) =>
    fixture.cli('orders', 'compensate', order.id.toString(), '--credits', amount.toString(), '--yes', ...more);
  const before = await balance();
  expect((await give(1)).code).toBe(2);
  expect((await give(1000, '--reason', 'ended early')).code).toBe(0);
  expect((await give(2000, '--reason', 'and once more')).code).toBe(0);
  expect(await balance()).toBe(before + 3000);
  const beyond = await give(Number(credits) - 2999, '--reason', 'too much');
  expect(beyond.code).toBe(1);
  expect(beyond.err).toMatch(new RegExp(`Only ${(Number(credits) - 3000).toString()} of the order’s charges`));
  expect(await balance()).toBe(before + 3000);
  expect((await answerOf(order)).compensations).toMatchObject([
    { credits: 1000, reason: 'ended early' },
    { credits: 2000, reason: 'and once more' },
  ]);
  const keys = await fixture.database.query<{ entry_key: string }>(
    `SELECT entry_key FROM credit_entry WHERE kind = 'compensation' ORDER BY id`,
  );
  const id = order.id.toString();
  expect(keys.map(({ entry_key }) => entry_key)).toEqual([`compensation:${id}:1`, `compensation:${id}:2`]);
  const many = await Promise.all([1, 2, 3].map(() => give(Number(credits) - 3000, '--reason', 'all at once')));
  expect(many.map(({ code }) => code).sort()).toEqual([0, 1, 1]);
  expect(namesOf(await fixture.verify()).filter((name) => name.startsWith('order-'))).toEqual([]);
});

it('a compensation with a number is booked once, whatever is repeated', async () => {
  const order = await rental(await newReceiver(), 3600);
  const give = (amount: number, number: number) =>
    fixture.cli(
      ...['orders', 'compensate', order.id.toString(), '--credits', amount.toString(), '--number', number.toString()],
      ...['--reason', 'ended early', '--yes', '--json'],
    );
  const given = async () => ((await answerOf(order)).compensations ?? []) as { readonly credits: number }[];
  const skipped = await give(1000, 2);
  expect(skipped.code).toBe(1);
  expect(skipped.err).toMatch(/next compensation of the order is number 1/);
  const first = await give(1000, 1);
  expect([first.code, JSON.parse(first.out)]).toMatchObject([0, { compensation: 1, booked: true }]);
  const again = await give(1000, 1);
  expect([again.code, JSON.parse(again.out)]).toMatchObject([0, { compensation: 1, booked: false }]);
  const other = await give(999, 1);
  expect(other.code).toBe(1);
  expect(other.err).toMatch(/number 1 of the order is already booked, over 1000 credits/);
  expect(await given()).toMatchObject([{ credits: 1000 }]);
  const atOnce = await Promise.all([1, 2, 3].map(() => give(2000, 2)));
  expect(atOnce.map(({ code, out }) => [code, (JSON.parse(out) as { booked: boolean }).booked]).sort()).toEqual([
    [0, false],
    [0, false],
    [0, true],
  ]);
  expect(await given()).toMatchObject([{ credits: 1000 }, { credits: 2000 }]);
});

it('the database refuses a leg that ends without an undelegation, an act or a statement of the operator', async () => {
  const order = await rental(await newReceiver(), 3600);
  const end = (set: string) =>
    fixture.database.query(`UPDATE leg SET status = 'reclaimed' ${set} WHERE order_id = ${order.id.toString()}`);
  await expect(end('')).rejects.toThrow(/ended without an undelegation/);
  await expect(end(', closed_at = now()')).rejects.toThrow(/has a time, and an act or a reason/);
});

describe('the legs that an act took', () => {
  const leg = (id: number, sun: number) => ({ id: BigInt(id), amount_sun: BigInt(sun), moving: null });
  it.each([
    ['the one of its amount', 5n, [leg(1, 4), leg(2, 5)], [2n]],
    ['of equal ones the first to end', 5n, [leg(1, 5), leg(2, 5)], [1n]],
    ['the first to end that make its amount', 9n, [leg(1, 4), leg(2, 5), leg(3, 6)], [1n, 2n]],
    ['none when it is more than all', 20n, [leg(1, 4), leg(2, 5)], undefined],
    ['none when it is between', 6n, [leg(1, 4), leg(2, 5)], undefined],
    ['none where there is none', 6n, [], undefined],
  ])('%s', (_name, amount, legs, ids) => {
    expect(takenBy(amount, legs)?.map(({ id }) => id)).toEqual(ids);
  });
});
