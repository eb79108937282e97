// Hostile content of blocks: names like numbers, and bytes that a careless reader takes for our transactions.
import { addressBytes } from '../../../src/domain/base58-address.js';
import { signWithKey } from '../../../src/platform/chain/keys.js';
import { TronClient, signedActOf } from '../../../src/platform/chain/tron.client.js';
import { signedTransactionHex } from '../../../src/platform/chain/signed-transaction.js';
import { DELEGATE_TYPE, UNDELEGATE_TYPE } from '../../../src/platform/chain/transaction-owner.js';
import { until } from '../../../packages/local/src/wait.js';
import { rawDataOf, SECOND_OWNERS, wire } from '../../support/chain/hostile-bytes.js';
import { namesOf, ReconciliationFixture } from '../../support/worker/reconciliation-fixture.js';

const LIMIT_MS = 30_000;
const POISON = ':1234567890123456,';
const TRX = 1_000_000n;

let fixture: ReconciliationFixture;
const receiver = (index: number): string => fixture.service.accounts[index]!.address;
const outsider = () => fixture.service.accounts.at(-1)!;
const ours = () => addressBytes(fixture.service.poolWallets[0]!.address)!;
const theirs = () => addressBytes(outsider().address)!;

beforeAll(async () => {
  fixture = await ReconciliationFixture.open();
  await fixture.syncAll();
  const stake = { owner_address: outsider().address, frozen_balance: 200_000_000, resource: 'ENERGY' };
  await fixture.solid(await fixture.service.wallet.send('freezebalancev2', stake, outsider()));
});

afterAll(() => fixture.close());

/** Returns the fields that every transaction has beside its contract, from the newest block. */
async function surroundings(): Promise<Buffer[]> {
  const head = (await fixture.service.wallet.post('wallet/getnowblock', {})) as {
    blockID: string;
    block_header: { raw_data: { timestamp: number } };
  };
  const id = Buffer.from(head.blockID, 'hex');
  const { timestamp } = head.block_header.raw_data;
  return [
    wire.bytes(1, id.subarray(6, 8)),
    wire.bytes(4, id.subarray(8, 16)),
    wire.number(8, BigInt(timestamp + 60_000)),
    wire.number(14, BigInt(timestamp + Math.floor(Math.random() * 1e6))),
  ];
}

/** Sends a contract crafted by an outsider. Returns its id once it is final. */
async function send(type: number, url: string, value: Buffer): Promise<string> {
  const raw = rawDataOf(type, url, value, ...(await surroundings()));
  const transaction = signedTransactionHex(raw, signWithKey(raw, outsider().privateKey));
  const sent = await fixture.service.wallet.post('wallet/broadcasthex', { transaction });
  expect(sent).toMatchObject({ result: true });
  const txid = String(sent['txid']);
  await fixture.solid(txid);
  return txid;
}

const transfer = (to: string): Buffer =>
  Buffer.concat([wire.bytes(1, theirs()), wire.bytes(2, addressBytes(to)!), wire.number(3, 1n)]);

/** A careless reader sees our owner in it, the chain sees the outsider's. */
function disguised(second: (owner: Uint8Array) => Buffer, to: string): Buffer {
  const parts = [wire.bytes(1, ours()), wire.number(2, 1n), wire.number(3, TRX), wire.bytes(4, addressBytes(to)!)];
  return Buffer.concat([...parts, second(theirs())]);
}

async function expectReclaimed(key: string): Promise<void> {
  await until(
    async () => {
      const [row] = await fixture.database.query<{ status: string }>(
        `SELECT l.status FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1`,
        [key],
      );
      return row?.status === 'reclaimed' ? true : undefined;
    },
    LIMIT_MS,
    `the end of ${key}`,
  );
}

/** Makes nodes fail to serve blocks, or even the outcome of their transactions. */
async function failBlocks(...endpoints: string[]): Promise<void> {
  const ports = ['wallet', 'walletsolidity'];
  const faults = [
    ...endpoints.flatMap((endpoint) =>
      ports.map((port) => ({ kind: 'garbage', path: `${port}/${endpoint}`, rate: 1 })),
    ),
    // The other request for a whole block.
    ...ports.map((port) => ({ kind: 'garbage', path: `${port}/getblock`, detail: true, rate: 1 })),
  ];
  await control('faults', { faults });
}

async function control(action: string, body: object): Promise<void> {
  const answer = await fetch(`${fixture.service.controlUrl}/${action}`, { method: 'POST', body: JSON.stringify(body) });
  expect(await answer.json()).not.toHaveProperty('Error');
}

async function unreadable(read: string): Promise<number> {
  const lines = await fixture.metric('unreadable_blocks_total');
  return Number(
    lines
      .find((line) => line.includes(`read="${read}"`))
      ?.split(' ')
      .at(-1),
  );
}

async function expectPeace(): Promise<void> {
  await fixture.pass();
  expect(await fixture.database.query('SELECT FROM orphan_tx')).toEqual([]);
  expect(await fixture.database.query('SELECT FROM sales_stop')).toEqual([]);
  expect((await fixture.wallets()).map(({ status, pause_reason }) => pause_reason ?? status)).toEqual(
    Array(4).fill('active'),
  );
  expect(namesOf(await fixture.verify())).toEqual([]);
  const [state] = await fixture.database.query<{ scanned_to: bigint }>('SELECT scanned_to FROM reconcile_state');
  const poisoned = await fixture.service.wallet.post('wallet/getnowblock', {});
  const { number } = (poisoned as { block_header: { raw_data: { number: number } } }).block_header.raw_data;
  expect(Number(state!.scanned_to)).toBeGreaterThan(number - 100);
}

it('orders are delivered, settled and reclaimed despite a contract and a transfer named like numbers', async () => {
  const keys: string[] = [];
  for (const name of [POISON, `"${POISON}"`, `\\"},{"${POISON}`, '\u0000\n\u2028 1234567890123456789']) {
    const bought = await fixture.buy(receiver(keys.length % 3), 65_000, 60);
    expect(bought.status).toBe(202);
    keys.push(bought.key);
    const deployed = fixture.service.wallet.send(
      'deploycontract',
      {
        owner_address: outsider().address,
        name,
        abi: '[]',
        bytecode: '600a600c600039600a6000f3602a60805260206080f3',
        fee_limit: 100_000_000,
        origin_energy_limit: 1000,
        consume_user_resource_percent: 100,
      },
      outsider(),
    );
    const url = `${name}/protocol.TransferContract`;
    await Promise.all([deployed.then((txid) => fixture.solid(txid)), send(1, url, transfer(receiver(1)))]);
  }
  for (const key of keys) await expectReclaimed(key);
  await expectPeace();
});

/** Waits until the orphan is reclaimed, and explains it as the operator would. */
async function undelegated(to: string, before: number): Promise<void> {
  const isBack = async () => ((await fixture.delegatedSun(1, to)) === before ? true : undefined);
  await until(isBack, LIMIT_MS, 'the reclaim of the orphan');
  await control('faults/clear', {});
  await fixture.pass();
  const { code } = await fixture.cli('verify', 'explain', '--all', '--yes', '--reason', 'a test made it');
  expect(code).toBe(0);
  await fixture.byHand('DELETE FROM orphan_tx');
}

describe('while no block can be read', () => {
  afterEach(() => control('faults/clear', {}));

  it('orders are delivered, settled and reclaimed, and acts without a record are found by lists of transactions', async () => {
    await expectPeace();
    await failBlocks('getblockbynum');
    const { key } = await fixture.buy(receiver(0), 65_000, 60);
    const before = await fixture.delegatedSun(1, receiver(1));
    const txid = await fixture.delegateForeign(1, receiver(1), 1000);
    await expectReclaimed(key);
    await fixture.pass();
    expect(await fixture.database.query(`SELECT encode(txid, 'hex') AS txid, by_own_key FROM orphan_tx`)).toEqual([
      { txid, by_own_key: false },
    ]);
    expect(await unreadable('listed')).toBeGreaterThan(0);
    expect(await unreadable('unsearched')).toBe(0);
    await undelegated(receiver(1), before);
    await expectPeace();
  });

  it('orders go on by asking for each transaction where those lists fail too, and the search continues', async () => {
    await failBlocks('getblockbynum', 'gettransactioninfobyblocknum');
    const { key } = await fixture.buy(receiver(2), 65_000, 60);
    await expectReclaimed(key);
    expect(await unreadable('ours')).toBeGreaterThan(0);
    await fixture.pass();
    expect(await unreadable('unsearched')).toBeGreaterThan(0);
    const scanned = () => fixture.database.query<{ to: bigint }>('SELECT scanned_to AS to FROM reconcile_state');
    const [before] = await scanned();
    await fixture.pass();
    const [after] = await scanned();
    expect(after!.to).toBeGreaterThan(before!.to);
    await control('faults/clear', {});
    await expectPeace();
    expect((await fixture.buy(receiver(2))).status).toBe(202);
  });

  it('an act in a block that was skipped is found later, also by another worker', async () => {
    await expectPeace();
    await failBlocks('getblockbynum', 'gettransactioninfobyblocknum');
    const before = await fixture.delegatedSun(1, receiver(2));
    const txid = await fixture.delegateForeign(1, receiver(2), 1000);
    await fixture.pass();
    const acts = () => fixture.database.query(`SELECT encode(txid, 'hex') AS txid FROM orphan_tx`);
    expect(await acts()).toEqual([]);
    await control('faults/clear', {});
    const other = await fixture.openWorker();
    try {
      await fixture.pass(other);
      expect(await acts()).toEqual([{ txid }]);
      expect(await fixture.database.query('SELECT FROM unsearched_block')).toEqual([]);
    } finally {
      await other.close();
    }
    await undelegated(receiver(2), before);
    await expectPeace();
  });
});

it.each(SECOND_OWNERS)(
  'a delegation, and its end, that names our wallet and, with %s, its real owner, is not ours',
  async (_what, second) => {
    const to = receiver(0);
    const url = 'type.googleapis.com/protocol.';
    const [node] = fixture.worker.get(TronClient).pool.nodes;
    const acts = [
      await send(DELEGATE_TYPE, `${url}DelegateResourceContract`, disguised(second, to)),
      await send(UNDELEGATE_TYPE, `${url}UnDelegateResourceContract`, disguised(second, to)),
    ];
    // Also by code that does not check the signer.
    for (const txid of acts) {
      expect(await signedActOf(node!, 'solid', txid)).toMatchObject({ act: { owner: outsider().address } });
    }
    await expectPeace();
    await fixture.rent(to);
  },
  60_000,
);
