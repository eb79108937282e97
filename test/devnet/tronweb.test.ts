// Everyday wallet and dapp operations through tronweb, with the devnet as its fullHost.
import { TronWeb } from 'tronweb';
import { type Client, TOKEN, TRX, keyOf, startChain } from './client.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
let chain: Client;
let wallet: TronWeb;

beforeAll(async () => {
  chain = await startChain();
  await chain.mine();
  wallet = new TronWeb({
    fullHost: chain.node.fullUrl,
    solidityNode: chain.node.solidUrl,
    privateKey: bank.secret,
  });
});
afterAll(() => chain.node.stop());

test('sends TRX and reads the balance', async () => {
  const to = keyOf('bob').address;
  const sent = await wallet.trx.sendTransaction(to, 5 * TRX);
  expect(sent.result).toBe(true);
  await chain.mine(2);
  expect(await wallet.trx.getUnconfirmedBalance(to)).toBe(5 * TRX);
  expect(await wallet.trx.getBalance(to)).toBe(5 * TRX);
});

/** Signs, sends, and makes the blocks that make it final. */
async function broadcast(tx: Parameters<TronWeb['trx']['sign']>[0]): Promise<void> {
  const sent = await wallet.trx.sendRawTransaction((await wallet.trx.sign(tx)) as never);
  expect(sent).toMatchObject({ result: true });
  await chain.mine(2);
}

test('stakes, delegates and undelegates', async () => {
  const { transactionBuilder, trx } = wallet;
  await broadcast(await transactionBuilder.freezeBalanceV2(1000 * TRX, 'ENERGY', bank.address));
  await broadcast(await transactionBuilder.delegateResource(100 * TRX, pool.address, 'ENERGY', bank.address));
  const lent = async (): Promise<unknown> =>
    (await trx.getDelegatedResourceV2(bank.address, pool.address)).delegatedResource;
  expect(await lent()).toMatchObject([{ frozen_balance_for_energy: 100 * TRX }]);
  expect((await trx.getCanDelegatedMaxSize(bank.address, 'ENERGY')).max_size).toBe(900 * TRX);
  await broadcast(await transactionBuilder.undelegateResource(100 * TRX, pool.address, 'ENERGY', bank.address));
  expect(await lent()).toBeUndefined();
});

test('lends bandwidth with a lock and takes it back', async () => {
  const { transactionBuilder, trx } = wallet;
  await broadcast(await transactionBuilder.freezeBalanceV2(2000 * TRX, 'BANDWIDTH', bank.address));
  await broadcast(
    await transactionBuilder.delegateResource(500 * TRX, pool.address, 'BANDWIDTH', bank.address, true, 1),
  );
  const lent = async (): Promise<unknown> =>
    (await trx.getDelegatedResourceV2(bank.address, pool.address)).delegatedResource;
  expect(await lent()).toMatchObject([{ frozen_balance_for_bandwidth: 500 * TRX }]);
  expect((await trx.getAccountResources(pool.address)).NetLimit).toBeGreaterThan(0);
  await broadcast(await transactionBuilder.undelegateResource(500 * TRX, pool.address, 'BANDWIDTH', bank.address));
  expect(await lent()).toBeUndefined();
});

test('votes, reads the reward and withdraws it', async () => {
  const { transactionBuilder, trx } = wallet;
  const [first] = await trx.listSuperRepresentatives();
  const address = TronWeb.address.fromHex(first!.address);
  await broadcast(await transactionBuilder.freezeBalanceV2(1000 * TRX, 'ENERGY', bank.address));
  await broadcast(await transactionBuilder.vote({ [address]: 1000 }, bank.address));
  expect((await trx.getAccount(bank.address)).votes).toMatchObject([{ vote_count: 1000 }]);
  expect(await trx.getBrokerage(address)).toBe(20);
  expect(await trx.timeUntilNextVoteCycle()).toBeGreaterThan(0);
  // Two cycles: the vote counts from the end of the first, and the second one is paid.
  for (let i = 0; i < 2; i++) {
    const { num } = await chain.post('getnextmaintenancetime');
    await chain.node.control('mine', { blocks: [{ timestamp: num }] });
    await chain.mine(2);
  }
  const reward = await trx.getUnconfirmedReward(bank.address);
  expect(reward).toBeGreaterThan(0);
  const before = await trx.getUnconfirmedBalance(bank.address);
  await broadcast(await transactionBuilder.withdrawBlockRewards(bank.address));
  expect(await trx.getUnconfirmedBalance(bank.address)).toBeGreaterThan(before + reward - TRX);
});

test('deploys a contract, sends to it, calls it and reads the event of a receipt', async () => {
  const made = await wallet.transactionBuilder.createSmartContract({
    abi: TOKEN.abi as never,
    bytecode: TOKEN.bytecode,
    name: 'Token',
    feeLimit: 1000 * TRX,
  });
  const deployed = await wallet.trx.sendRawTransaction(await wallet.trx.sign(made));
  expect(deployed.result).toBe(true);
  await chain.mine(2);
  const token = wallet.contract(TOKEN.abi as never, made.contract_address) as unknown as {
    transfer(to: string, amount: number): { send(options: object): Promise<string> };
    balanceOf(who: string): { call(): Promise<bigint> };
  };
  const txId = await token.transfer(pool.address, 42).send({ feeLimit: 100 * TRX });
  await chain.mine(2);
  expect(await token.balanceOf(pool.address).call()).toBe(42n);
  const info = await wallet.trx.getTransactionInfo(txId);
  const [log] = info.log;
  expect(log?.topics[0]).toBe(wallet.sha3('Transfer(address,address,uint256)', false));
  expect(BigInt(`0x${log?.data ?? ''}`)).toBe(42n);
  expect((await wallet.trx.getContract(made.contract_address)).name).toBe('Token');
});

test('a refusal reaches the wallet in the node’s words', async () => {
  const broke = keyOf('nobody');
  await expect(wallet.transactionBuilder.sendTrx(bank.address, 1, broke.address)).resolves.toBeDefined();
  const tx = await wallet.transactionBuilder.sendTrx(bank.address, 1, broke.address);
  const sent = await wallet.trx.sendRawTransaction(await wallet.trx.sign(tx, broke.secret));
  expect(sent).toMatchObject({ code: 'CONTRACT_VALIDATE_ERROR' });
});
