// Refills that are sized by a transfer: at the request, at each refill, and when the transfer would fail. The chain makes
// a block only on request.
import { jest } from '@jest/globals';
import { addressToHex } from '../../../src/platform/chain/address.js';
import { expectError } from '../../support/api/answers.js';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { pathOf, put } from '../../support/api/auto-delegation-fixture.js';
import { RefillSize } from '../../../src/modules/auto-delegations/refill-size.js';
import { CONSTANT_CALL_PATH } from '../../../src/platform/chain/tron.client.js';
import { energy } from '../../../src/domain/units.js';
import { actAs, newOwner, type Owner } from '../../support/chain/order-chain.js';
import { newAddress } from '../../support/chain/quote-chain.js';
import { autoRow, nextBlock, ordersOf } from '../../support/worker/refill-fixture.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  full,
  mine,
  openFixtureWithToken,
  rent,
  SteppedWorker,
  SOLID_LAG,
  START_LIMIT_MS,
  token,
  tokenHolder,
} from '../../support/worker/fulfilment-fixture.js';

jest.setTimeout(60_000);

/** Less than any transfer needs. */
const LEAST = { keep_energy: 10_000, daily_cap_credits: 10 ** 12 };

let merchant: HmacCustomer;

beforeAll(async () => {
  await openFixtureWithToken();
  merchant = new HmacCustomer(api.baseUrl, customer.merchant, customer.apiKey);
}, START_LIMIT_MS);
afterEach(async () => {
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const set = (address: string, terms: object): Promise<Answer> => put(merchant, address, { ...LEAST, ...terms });
const read = async (address: string): Promise<Answer['body']> => (await merchant.get(pathOf(address))).body;
const idOf = ({ id }: Answer['body']): bigint => BigInt((id as string).slice('auto_'.length));

async function send(from: Owner, to: string, amount: number): Promise<void> {
  await actAs(devnet.fullUrl, from, 'triggersmartcontract', {
    contract_address: token,
    function_selector: 'transfer(address,uint256)',
    parameter: addressToHex(to).slice(2).padStart(64, '0') + amount.toString(16).padStart(64, '0'),
    fee_limit: 1_000_000_000,
  });
  await mine();
}

/** The energy that a quote for the transfer would have. */
async function quoted(sender: string, recipient: string): Promise<number> {
  const request = { receive_address: sender, transfer_to: recipient, duration_sec: 3600 };
  return (await customer.post('/v1/quotes', request)).body.energy as number;
}

/** An account that exists and holds this many tokens. */
async function holderOf(owner: Owner, tokens: number): Promise<string> {
  await send(tokenHolder, owner.address, tokens);
  return owner.address;
}

describe('a transfer of the request', () => {
  it('sizes the refill exactly as it sizes a quote', async () => {
    const address = await holderOf(callers[0]!, 50);
    const recipient = newAddress();
    const { status, body } = await set(address, { transfer_to: recipient, transfer_amount: '20' });
    const needed = await quoted(address, recipient);
    expect([status, body.error]).toEqual([201, undefined]);
    expect(body).toMatchObject({ transfer_to: recipient, transfer_amount: '20', transfer_energy: needed });
    expect(body).toMatchObject({ keep_energy: needed, refill_below: needed });
    expect(body).not.toHaveProperty('token');
    expect(body.durations[0].price_sun).toBe(needed * body.durations[0].sun_per_energy);
    const worker = await SteppedWorker.open();
    await worker.followChain();
    await nextBlock(worker);
    expect(await ordersOf(idOf(body))).toMatchObject([{ energy: BigInt(needed) }]);
  });

  it('is measured again before each refill, which buys what it needs now', async () => {
    const address = await holderOf(callers[1]!, 50);
    const recipient = await holderOf(callers[6]!, 10);
    const { body } = await set(address, { transfer_to: recipient });
    const worker = await SteppedWorker.open();
    await worker.followChain();
    await nextBlock(worker);
    await nextBlock(worker, SOLID_LAG + 2);
    expect(await ordersOf(idOf(body))).toMatchObject([{ energy: BigInt(body.transfer_energy as number) }]);
    // The recipient holds the token no longer, so that the next transfer needs more.
    await send(callers[6]!, tokenHolder.address, 10);
    let after = body;
    for (let turn = 0; turn < 60 && after.transfer_energy === body.transfer_energy; turn += 1) {
      await api.database.query('UPDATE auto_delegation SET due_at = clock_timestamp() WHERE id = $1', [idOf(body)]);
      await nextBlock(worker);
      after = await read(address);
    }
    expect(after.transfer_energy).toBe(await quoted(address, recipient));
    expect(after.transfer_energy).toBeGreaterThan(body.transfer_energy as number);
    // The very check that measured it bought the difference.
    expect(await ordersOf(idOf(body))).toHaveLength(2);
  });

  it('raises a smaller keep_energy, and never lowers a larger one', async () => {
    const address = await holderOf(callers[2]!, 50);
    const transfer = { transfer_to: newAddress() };
    const needed = await quoted(address, transfer.transfer_to);
    const { body: small } = await set(address, { ...transfer, keep_energy: 20_000 });
    expect(small).toMatchObject({ keep_energy: needed, refill_below: needed });
    const { body: large } = await set(address, { ...transfer, keep_energy: 10 * needed });
    expect(large).toMatchObject({ keep_energy: 10 * needed, refill_below: 8 * needed, transfer_energy: needed });
    const worker = await SteppedWorker.open();
    await worker.followChain();
    await nextBlock(worker);
    expect(await ordersOf(idOf(large))).toMatchObject([{ energy: BigInt(10 * needed) }]);
    const { body: without } = await set(address, { keep_energy: 65_000 });
    for (const member of ['transfer_to', 'transfer_amount', 'transfer_energy'])
      expect(without).not.toHaveProperty(member);
  });

  it('is refused with the reason when it would fail, unless its sender can receive no energy at all', async () => {
    const poor = callers[3]!.address;
    const answer = await set(poor, { transfer_to: tokenHolder.address });
    expectError(answer, 'TRANSFER_WOULD_FAIL');
    expect(answer.body.msg).toMatch(/^The transfer would fail: /);
    expect((await merchant.get(pathOf(poor))).status).toBe(404);
    expectError(await set(newOwner().address, { transfer_to: tokenHolder.address }), 'RECEIVER_NOT_ACTIVATED');
  });

  it('is judged by its members', async () => {
    const refused = async (terms: object, field: string): Promise<void> => {
      const answer = await set(callers[4]!.address, terms);
      expectError(answer, 'INVALID_REQUEST');
      expect(answer.body.details[0].field).toBe(field);
    };
    await refused({ keep_energy: undefined, transfer_to: newAddress() }, 'keep_energy');
    await refused({ keep_energy: 65_000, transfer_amount: '1' }, 'transfer_amount');
    await refused({ keep_energy: 65_000, token }, 'token');
    await refused({ transfer_to: newAddress(), transfer_amount: '0' }, 'transfer_amount');
    await refused({ transfer_to: 'T-no-address' }, 'transfer_to');
    await refused({ transfer_to: newAddress(), refill_below: 10_001 }, 'refill_below');
    await refused({ transfer_to: newAddress(), token: newAddress() }, 'token');
  });
});

it('a refill whose transfer would fail is not bought: the state says so until the transfer works', async () => {
  const address = await holderOf(callers[5]!, 50);
  const { body } = await set(address, { transfer_to: newAddress(), transfer_amount: '50' });
  const id = idOf(body);
  await send(callers[5]!, tokenHolder.address, 30);
  const worker = await SteppedWorker.open();
  await worker.followChain();
  await nextBlock(worker);
  expect(await read(address)).toMatchObject({
    status: 'paused',
    pause: { reason: 'TRANSFER_WOULD_FAIL' },
    spent_today_credits: 0,
    purchases: 0,
  });
  expect(await ordersOf(id)).toEqual([]);
  await send(tokenHolder, address, 30);
  // The outcome of a simulation is cached for a second, and after some failures only a wake checks immediately.
  for (let rest = 50; rest > 0 && (await ordersOf(id)).length === 0; rest -= 1) {
    await merchant.post(`${pathOf(address)}/wake`, {});
    await nextBlock(worker);
  }
  expect(await ordersOf(id)).toMatchObject([{ energy: BigInt(body.transfer_energy as number) }]);
  expect(await autoRow(id)).toMatchObject({ pause_reason: null });
});

it('a refill whose transfer would fail is also missing where the address has some energy, but less than it last needed', async () => {
  const address = await holderOf(callers[7]!, 50);
  const { body } = await set(address, { transfer_to: newAddress(), transfer_amount: '50' });
  await send(callers[7]!, tokenHolder.address, 30);
  const worker = await SteppedWorker.open();
  await worker.followChain();
  // More than keep_energy, and less than the transfer needs.
  await rent(address, 20_000, 3600);
  await nextBlock(worker);
  expect(await autoRow(idOf(body))).toMatchObject({ pause_reason: 'TRANSFER_WOULD_FAIL', failures: 1 });
  expect(await read(address)).toMatchObject({ transfer_energy: body.transfer_energy });
});

it('a refill whose token is no contract any more is not bought', async () => {
  const address = await holderOf(callers[8]!, 50);
  const { body } = await set(address, { transfer_to: newAddress() });
  const id = idOf(body);
  const terms = JSON.stringify({ to: newAddress(), amount: '1', token: callers[9]!.address });
  await api.database.query('UPDATE auto_delegation SET transfer = $2 WHERE id = $1', [id, terms]);
  const worker = await SteppedWorker.open();
  await worker.followChain();
  await nextBlock(worker);
  expect(await autoRow(id)).toMatchObject({ pause_reason: 'TRANSFER_WOULD_FAIL', failures: 1 });
  expect(await ordersOf(id)).toEqual([]);
});

it('a transfer that no node can simulate pauses nothing, and its refill is bought once one can', async () => {
  const address = await holderOf(callers[10]!, 50);
  const { body } = await set(address, { transfer_to: newAddress() });
  const id = idOf(body);
  const worker = await SteppedWorker.open();
  await worker.followChain();
  full.before = (path) => (path === CONSTANT_CALL_PATH ? 'break' : undefined);
  await nextBlock(worker);
  const { due_at: dueAt, ...row } = await autoRow(id);
  expect(row).toMatchObject({ pause_reason: null, failures: 0 });
  // Not only after the lease of the check.
  expect(dueAt!.getTime() - Date.now()).toBeLessThan(5000);
  expect(await ordersOf(id)).toEqual([]);
  full.rest();
  await nextBlock(worker);
  expect(await ordersOf(id)).toMatchObject([{ energy: BigInt(body.transfer_energy as number) }]);
});

it('the transfer of a sleeping address is not simulated', async () => {
  const worker = await SteppedWorker.open();
  const levels = { keep_energy: energy(10_000n), refill_below: energy(8000n), transfer_energy: energy(9000n) };
  const transfer = { to: newAddress(), amount: '1' };
  const asked: string[] = [];
  full.before = (path) => void asked.push(path);
  const row = { address: tokenHolder.address, asleep: true, transfer, ...levels };
  const sized = await worker.part(RefillSize).of(row);
  expect(sized).toEqual({ row: { ...row, refill_below: 9000n }, transferEnergy: undefined, refusal: undefined });
  expect(asked).toEqual([]);
});
