// The tests' local chain: its own process, its own ports, and a head that tests can move.
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Devnet, type Genesis, startDevnet } from '../../setup/devnet.js';

const genesis: Genesis = { accounts: [{ address: 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', balance: 5_000_000 }] };

async function headNumber(url: string, path: string): Promise<number> {
  const response = await fetch(`${url}/${path}`, { method: 'POST', signal: AbortSignal.timeout(5_000) });
  const block = (await response.json()) as { block_header: { raw_data: { number?: number } } };
  return block.block_header.raw_data.number ?? 0;
}

describe('a chain that makes blocks on request', () => {
  let devnet: Devnet;
  beforeAll(async () => {
    devnet = await startDevnet({ genesis, blockMs: 0, solidLag: 2, second: { behind: 1, solidLag: 3 } });
  });
  afterAll(() => devnet.stop());

  test('each node answers with its own head, and its solid head lags', async () => {
    await devnet.control('mine', { count: 10 });
    const head = await headNumber(devnet.fullUrl, 'wallet/getnowblock');
    expect(head).toBeGreaterThanOrEqual(10);
    expect(await headNumber(devnet.solidUrl, 'walletsolidity/getnowblock')).toBe(head - 2);
    expect(await headNumber(devnet.second!.fullUrl, 'wallet/getnowblock')).toBe(head - 1);
    expect(await headNumber(devnet.second!.solidUrl, 'walletsolidity/getnowblock')).toBe(head - 1 - 3);
  });

  test('a refused control request is an error', async () => {
    await expect(devnet.control('mine', { count: 0 })).rejects.toThrow(/count must be/);
  });
});

test('a chain comes back with its blocks, on the same ports', async () => {
  const stateFile = join(tmpdir(), `energy-devnet-state-${process.pid}.json`);
  const first = await startDevnet({ genesis, blockMs: 0, stateFile });
  await first.control('mine', { count: 3 });
  const head = await headNumber(first.fullUrl, 'wallet/getnowblock');
  await first.stop();
  const ports = { full: Number(new URL(first.fullUrl).port), solid: Number(new URL(first.solidUrl).port) };
  const second = await startDevnet({ genesis, blockMs: 0, stateFile, ports });
  expect(second.fullUrl).toBe(first.fullUrl);
  expect(await headNumber(second.fullUrl, 'wallet/getnowblock')).toBe(head);
  await second.stop();
  await rm(stateFile);
});

test('a genesis that cannot be used is an error with the reason', async () => {
  const broken = { accounts: [{ address: 'nobody', balance: 1 }] };
  await expect(startDevnet({ genesis: broken })).rejects.toThrow(/devnet ended with code 1[^]*genesis/);
});
