// GET /v1/explain/{txid}: each cause of a burn or failure, made on the local chain with a token like main-net USDT.
import 'reflect-metadata';
import {
  TO_HOLDER,
  TO_OTHER,
  broadcast,
  codesOf,
  explained,
  newAddress,
  nextHolder,
  send,
  sendTrx,
} from '../../support/api/transfer-explanations.js';
import {
  callers,
  closeFixture,
  contract,
  devnet,
  SteppedWorker,
  mine,
  openFixtureWithToken,
  rent,
  START_LIMIT_MS,
  token,
  tokenHolder,
} from '../../support/worker/fulfilment-fixture.js';
import { actAs, newOwner } from '../../support/chain/order-chain.js';
import { endShort, LONG_SEC, settled, SHORT_SEC } from '../../support/worker/usable-energy-fixture.js';

const RENTED = 65_000;

let worker: SteppedWorker;

beforeAll(async () => {
  await openFixtureWithToken();
  worker = await SteppedWorker.open();
}, START_LIMIT_MS);
afterAll(async () => {
  await worker.close();
  await closeFixture();
}, START_LIMIT_MS);

const setFactor = (factor: number) => devnet.control('contract', { address: token, energy_factor: factor, hold: true });

describe('a transfer that was paid by the rental', () => {
  it('burnt nothing', async () => {
    const sender = await nextHolder();
    const key = await settled(worker, sender.address, RENTED, LONG_SEC);
    const body = await explained(await send(sender, tokenHolder.address));
    expect(body).toMatchObject({
      sentence: expect.stringMatching(/^The token transfer burnt nothing/),
      result: 'SUCCESS',
      owner_address: sender.address,
      receive_address: sender.address,
      contract_address: token,
      energy_used: TO_HOLDER,
      staked_energy: TO_HOLDER,
      burnt_energy: 0,
      energy_fee_sun: 100,
      bandwidth_used: 345,
      total_burn_sun: 0,
      causes: [{ code: 'NOTHING_BURNT', burn_sun: 0 }],
      rentals: [{ order_key: key, later_energy: 0, ended_energy: 0 }],
    });
    expect(body.rentals[0].running_energy).toBeGreaterThanOrEqual(RENTED);
  });
});

describe('the fee limit', () => {
  it('stops a call although the rented energy is there', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const txid = await send(sender, tokenHolder.address, { feeLimit: 1_000_000 });
    const body = await explained(txid);
    expect(body).toMatchObject({
      result: 'OUT_OF_ENERGY',
      energy_used: 10_000,
      fee_limit_sun: 1_000_000,
      total_burn_sun: 0,
    });
    expect(body.causes.map(({ code }: { code: string }) => code)).toEqual(['FEE_LIMIT_TOO_LOW']);
    expect(body.causes[0].sentence).toContain('allows 10 000 energy, less than the call needs, although 65');
    expect(body.causes[0].next).toMatch(/at least 65\d{5} sun/);
  });

  it('is judged by the energy price of that time', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const txid = await send(sender, tokenHolder.address, { feeLimit: 1_000_000 });
    await devnet.control('parameters', { getEnergyFee: 210 });
    await mine();
    const { causes, energy_fee_sun } = await explained(txid);
    expect(energy_fee_sun).toBe(100);
    expect(causes).toMatchObject([
      { code: 'FEE_LIMIT_TOO_LOW', sentence: expect.stringContaining('allows 10 000 energy') },
    ]);
    await devnet.control('parameters', { getEnergyFee: 100 });
    await mine();
  });
});

describe('the time of the rental', () => {
  it('began after the transaction', async () => {
    const sender = await nextHolder();
    const txid = await send(sender, tokenHolder.address);
    const key = await rent(sender.address, RENTED, LONG_SEC);
    expect((await explained(txid)).causes).toMatchObject([
      { code: 'SENT_BEFORE_DELIVERY', order_key: key, sentence: expect.stringContaining('not been delivered yet') },
    ]);
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine(4);
    await worker.followChain();
    const { causes, total_burn_sun, rentals } = await explained(txid);
    expect(causes).toMatchObject([{ code: 'SENT_BEFORE_DELIVERY', order_key: key, burn_sun: TO_HOLDER * 100 }]);
    expect(causes[0].sentence).toMatch(/which came in block \d+\.$/);
    expect(total_burn_sun).toBe(TO_HOLDER * 100);
    expect(rentals).toMatchObject([{ order_key: key, running_energy: 0 }]);
  });

  it('began in the same block, before or after the transaction', async () => {
    const [early, late] = [await nextHolder(), await nextHolder()];
    await rent(early.address, RENTED, LONG_SEC);
    await rent(late.address, RENTED, LONG_SEC);
    await mine();
    await worker.followChain();
    const before = await broadcast(late, tokenHolder.address);
    await worker.advance();
    const after = await broadcast(early, tokenHolder.address);
    await mine(4);
    await worker.followChain();
    const { causes, block_number } = await explained(before);
    expect(causes).toMatchObject([{ code: 'SENT_BEFORE_DELIVERY', sentence: expect.stringContaining('same block') }]);
    expect((await explained(after)).block_number).toBe(block_number);
    expect(await codesOf(after)).toEqual(['NOTHING_BURNT']);
  });

  it('was over', async () => {
    const sender = await nextHolder();
    const key = await settled(worker, sender.address, RENTED, SHORT_SEC);
    await endShort(worker, sender.address);
    const { causes } = await explained(await send(sender, tokenHolder.address));
    expect(causes).toMatchObject([{ code: 'SENT_AFTER_END', order_key: key, burn_sun: TO_HOLDER * 100 }]);
    expect(causes[0].sentence).toMatch(/had ended in block \d+ before it/);
  });

  it('has no bearing if it began more than an hour later', async () => {
    const sender = await nextHolder();
    const txid = await send(sender, tokenHolder.address);
    await mine(1300);
    await settled(worker, sender.address, RENTED, LONG_SEC);
    expect(await codesOf(txid)).toEqual(['NO_RENTAL']);
  });
});

describe('the addresses', () => {
  it('are others than the one that rented', async () => {
    const [rented, sender] = [await nextHolder(), await nextHolder()];
    await settled(worker, rented.address, RENTED, LONG_SEC);
    const body = await explained(await send(sender, rented.address));
    expect(body).toMatchObject({ owner_address: sender.address, receive_address: rented.address, rentals: [] });
    expect(body.causes).toMatchObject([{ code: 'SENT_FROM_ANOTHER_ADDRESS', burn_sun: TO_HOLDER * 100 }]);
    expect(body.causes[0].next).toContain(`send from ${rented.address}`);
  });

  it('include a recipient without the token, who needs twice the energy', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const to = newAddress();
    const body = await explained(await send(sender, to));
    expect(body.energy_used).toBe(TO_OTHER);
    expect(body.causes).toMatchObject([{ code: 'RECIPIENT_WITHOUT_TOKEN', burn_sun: body.energy_burn_sun }]);
    expect(body.causes[0].sentence).toContain(`The recipient ${to} did not hold the token`);
    expect(body.causes[0].sentence).toContain('the call needed 130 285 energy');
    expect(body.causes[0].sentence).toContain('the 64 37');
  });

  it('include a recipient that is not on chain, whose account is paid for', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const to = newAddress();
    const body = await explained(await sendTrx(sender, to));
    expect(body).toMatchObject({ to_address: to, activation_burn_sun: 1_100_000, total_burn_sun: 1_100_000 });
    expect(body.causes).toMatchObject([{ code: 'ACTIVATION_BURNT', burn_sun: 1_100_000 }]);
  });
});

describe('the energy of the rental', () => {
  it('was used by an earlier transaction of the same address', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const first = await send(sender, tokenHolder.address);
    const second = await send(sender, tokenHolder.address);
    expect(await codesOf(first)).toEqual(['NOTHING_BURNT']);
    const { causes } = await explained(second);
    expect(causes[0]).toMatchObject({ code: 'ENERGY_ALREADY_USED', txid: first });
    expect(causes[0].sentence).toContain(`64 285 in transaction ${first}`);
  });

  it('was less than the call needs', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, 30_000, LONG_SEC);
    const body = await explained(await send(sender, tokenHolder.address));
    expect(body.causes).toMatchObject([{ code: 'RENTAL_TOO_SMALL', burn_sun: body.energy_burn_sun }]);
    expect(await codesOf(await send(sender, newAddress()))).toContain('RENTAL_TOO_SMALL');
  });

  it('was enough before the contract became dearer', async () => {
    const sender = await nextHolder();
    await setFactor(20_000);
    try {
      await rent(sender.address, 50_000, LONG_SEC);
      await mine();
      await worker.followChain();
      await worker.advance();
      await send(tokenHolder, sender.address);
      await mine(3);
      await worker.followChain();
    } finally {
      await setFactor(34_000);
    }
    const body = await explained(await send(sender, tokenHolder.address));
    expect(body.energy_used).toBe(TO_HOLDER);
    expect(body.causes).toMatchObject([{ code: 'DYNAMIC_ENERGY_RISEN' }]);
    expect(body.causes[0].sentence).toMatch(/rose from (199|200) % in block \d+ to 33\d %/);
  });

  it('and the sender’s TRX did not suffice', async () => {
    const poor = newOwner();
    await actAs(devnet.fullUrl, tokenHolder, 'createaccount', { account_address: poor.address });
    await mine();
    await send(tokenHolder, poor.address, { amount: 100 });
    await settled(worker, poor.address, RENTED, LONG_SEC);
    const body = await explained(await send(poor, newAddress()));
    expect(body).toMatchObject({ result: 'OUT_OF_ENERGY', total_burn_sun: 0 });
    expect(body.causes.map(({ code }: { code: string }) => code)).toEqual([
      'RECIPIENT_WITHOUT_TOKEN',
      'BALANCE_TOO_LOW',
    ]);
    expect(body.causes[0].sentence).toContain('needed more than 65');
  });
});

describe('the call', () => {
  it('reverted, and the token gives no reason', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const body = await explained(await send(sender, tokenHolder.address, { amount: 99_000_000 }));
    expect(body.result).toBe('REVERT');
    expect(body.causes).toMatchObject([{ code: 'CALL_REVERTED', sentence: expect.stringContaining('gave no reason') }]);
  });

  it('reverted with the contract’s reason', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const { causes } = await explained(await send(sender, tokenHolder.address, { contract: contract.address }));
    expect(causes).toMatchObject([
      { code: 'CALL_REVERTED', sentence: 'The contract reverted: TRC20: transfer amount exceeds balance' },
    ]);
  });

  it('failed inside the contract', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    const call = { contract: contract.address, selector: 'failAssembly()', parameter: '', feeLimit: 1_000_000 };
    const { causes, result } = await explained(await send(sender, tokenHolder.address, call));
    expect(result).toBe('ILLEGAL_OPERATION');
    expect(causes).toMatchObject([{ code: 'CALL_FAILED' }]);
  });
});

describe('other fees', () => {
  it('are bandwidth beyond the free part', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, 2 * RENTED, LONG_SEC);
    await send(sender, tokenHolder.address);
    const body = await explained(await send(sender, tokenHolder.address));
    expect(body).toMatchObject({ energy_burn_sun: 0, bandwidth_used: 0, bandwidth_burn_sun: 345_000 });
    expect(body.causes).toMatchObject([{ code: 'BANDWIDTH_BURNT', burn_sun: 345_000 }]);
  });

  it('are that of a memo', async () => {
    const sender = await nextHolder();
    await settled(worker, sender.address, RENTED, LONG_SEC);
    await devnet.control('parameters', { getMemoFee: 1_000_000 });
    const body = await explained(await sendTrx(sender, callers[23]!.address, 'for lunch'));
    expect(body.causes).toMatchObject([{ code: 'OTHER_FEES_BURNT', burn_sun: 1_000_000 }]);
    expect(body.causes[0].sentence).toContain('It has a memo');
  });
});
