// The signer under pressure: limits that survive restarts, expirations too far ahead, many or misbehaving peers.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { addressOfKey, signerOf } from '../../../src/platform/chain/keys.js';
import { SocketSigner } from '../../../src/platform/chain/socket-signer.js';
import { sun } from '../../../src/domain/units.js';
import { SignerServer } from '../../../src/modules/signer/server.js';
import type { SignerSettings } from '../../../src/modules/signer/settings.js';
import {
  EPOCH_MS,
  HOT_KEY,
  POOL,
  TRX,
  YEARS_MS,
  bytes,
  clocks,
  closeFolder,
  closeSigner,
  folder,
  openFolder,
  openSigner,
  passMs,
  refusal,
  restart,
  server,
  settings,
  signer,
} from '../../support/worker/signer-fixture.js';
beforeAll(openFolder);
beforeEach(openSigner);
afterEach(closeSigner);
afterAll(closeFolder);

/** Starts a second signer on its own socket and state file. */
async function startAnother(
  change: Partial<SignerSettings>,
): Promise<{ readonly server: SignerServer; readonly client: SocketSigner; readonly stop: () => Promise<void> }> {
  const own = {
    ...settings,
    socketPath: join(folder, 'other.sock'),
    stateFile: join(folder, 'other.state'),
    ...change,
  };
  const other = new SignerServer(own, () => undefined, clocks);
  await other.listen();
  const client = new SocketSigner(own.socketPath);
  return {
    server: other,
    client,
    stop: async () => {
      client.close();
      await other.close();
      await rm(own.stateFile, { force: true });
    },
  };
}

describe('an expiration', () => {
  it('in the chain’s own time is allowed if the signer is configured for it, at a bounded pace', async () => {
    const past = Date.UTC(2020, 0, 1);
    const inChainTime = await startAnother({ expiration: { clock: 'chain', maxSec: 300 } });
    const ask = async (timestampMs: number) =>
      inChainTime.client.sign(POOL, bytes({ amountSun: sun(TRX) }, 2, { timestampMs }));
    try {
      await ask(past);
      // First an hour ahead, then as fast as a test chain may run; never years, however small the steps.
      await ask(past + 3_600_000 - 60_000);
      await expect(ask(past + 3_600_000 + 120_000)).rejects.toThrow('EXPIRES_TOO_LATE');
      await expect(ask(past + YEARS_MS)).rejects.toThrow('EXPIRES_TOO_LATE');
      passMs(10_000);
      await ask(past + 3_600_000 + 120_000);
      await expect(ask(past + 2 * 3_600_000)).rejects.toThrow('EXPIRES_TOO_LATE');
    } finally {
      await inChainTime.stop();
    }
    await signer.sign(POOL, bytes({}, 2, { timestampMs: past }));
  });
});

describe('many peers', () => {
  const idlers: Socket[] = [];
  const joined = async (): Promise<Socket> => {
    const socket = connect(settings.socketPath);
    idlers.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  afterEach(() => {
    for (const socket of idlers.splice(0)) socket.destroy();
  });

  it('that stay silent do not lock out the worker, which keeps its connection when more of them come', async () => {
    for (let count = 0; count < 64; count += 1) await joined();
    const rawData = bytes();
    expect(signerOf(rawData, await signer.sign(POOL, rawData))).toBe(addressOfKey(HOT_KEY));
    const before = signerConnection(signer);
    for (let count = 0; count < 100; count += 1) await joined();
    await signer.sign(POOL, bytes());
    expect(signerConnection(signer)).toBe(before);
  });

  it('that end the connection during a request cost nothing: the request is repeated on a new one', async () => {
    await signer.sign(POOL, bytes());
    await restart();
    await signer.sign(POOL, bytes());
  });

  it('that ask and never read are disconnected, and others are served meanwhile', async () => {
    const deaf = await joined();
    deaf.pause();
    const cut = new Promise<void>((resolve) => {
      deaf.on('error', () => undefined);
      deaf.on('close', () => resolve());
    });
    const line = '{"id":1,"list":true}\n';
    deaf.write(line.repeat(400_000));
    expect(await signer.wallets()).toHaveLength(3);
    // The signer stops reading when its own buffers are full, so most requests are still in this client's buffer.
    expect(deaf.writableLength).toBeGreaterThan(line.length * 300_000);
    await cut;
  });
});

function signerConnection(client: SocketSigner): unknown {
  return (client as unknown as { readonly socket: unknown }).socket;
}

describe('the counts', () => {
  it('still apply after a restart, and no longer than a minute, whatever was done to the clock', async () => {
    const all = [1, 2, 3, 4, 5, 6, 7].map(() => bytes({ amountSun: sun(TRX) }));
    for (const rawData of all.slice(0, 5)) await signer.sign(POOL, rawData);
    await restart();
    expect(await refusal(POOL, all[5]!)).toBe('TOO_MANY');
    // Signing the same bytes again is free, also after a restart.
    await signer.sign(POOL, all[0]!);
    passMs(30_000);
    await restart(() => EPOCH_MS + 3_600_000);
    expect(await refusal(POOL, all[5]!)).toBe('TOO_MANY');
    await restart(() => EPOCH_MS - 3_600_000);
    expect(await refusal(POOL, bytes({}, 2, { timestampMs: EPOCH_MS - 3_600_000 }))).toBe('TOO_MANY');
    passMs(30_000);
    await restart();
    await signer.sign(POOL, all[5]!);
  });

  it.each([
    ['in the process that counted it', false],
    ['after a restart', true],
  ])('apply no longer than a minute when the clock was set back and stays so, %s', async (_, isRestarted) => {
    let aheadMs = 3_600_000;
    const wallMs = (): number => clocks.wallMs() + aheadMs;
    await restart(wallMs);
    for (let count = 0; count < 5; count += 1) await signer.sign(POOL, bytes({ amountSun: sun(TRX) }));
    aheadMs = 0;
    if (isRestarted) await restart(wallMs);
    passMs(59_000);
    expect(await refusal(POOL, bytes())).toBe('TOO_MANY');
    passMs(2_000);
    await signer.sign(POOL, bytes());
  });

  it('apply for a whole minute when the clock was set forward', async () => {
    let aheadMs = 0;
    await restart(() => clocks.wallMs() + aheadMs);
    for (let count = 0; count < 5; count += 1) await signer.sign(POOL, bytes({ amountSun: sun(TRX) }));
    aheadMs = 3_600_000;
    expect(await refusal(POOL, bytes())).toBe('TOO_MANY');
  });

  it('are read past a truncated line, and continued', async () => {
    for (let count = 0; count < 4; count += 1) await signer.sign(POOL, bytes({ amountSun: sun(TRX) }));
    const text = await readFile(settings.stateFile, 'utf8');
    await writeFile(settings.stateFile, text + text.slice(1, 50));
    await restart();
    await signer.sign(POOL, bytes({ amountSun: sun(TRX) }));
    await restart();
    expect(await refusal(POOL, bytes())).toBe('TOO_MANY');
  });

  it('are on disk before the signature leaves, and nothing is signed if they cannot be', async () => {
    const rawData = bytes({ amountSun: sun(TRX) });
    await signer.sign(POOL, rawData);
    expect(await readFile(settings.stateFile, 'utf8')).toContain(createHash('sha256').update(rawData).digest('hex'));
    // As if the disk were gone.
    await (server as unknown as { readonly journal: { readonly file: FileHandle } }).journal.file.close();
    expect(await refusal(POOL, bytes({ amountSun: sun(TRX) }))).toBe('FAILED');
    await signer.sign(POOL, rawData);
  });

  it('are kept in a private, writable file, and without one the signer does not start', async () => {
    expect((await stat(settings.stateFile)).mode & 0o777).toBe(0o600);
    for (const stateFile of [folder, join(folder, 'no', 'such.state'), '/dev/full']) {
      const without = new SignerServer({ ...settings, stateFile, socketPath: join(folder, 'x.sock') }, () => undefined);
      await expect(without.listen()).rejects.toThrow('SIGNER_STATE_FILE');
    }
  });

  it('are rewritten when the file has grown, and nothing that counts is lost', async () => {
    for (let count = 0; count < 4; count += 1) await signer.sign(POOL, bytes({ amountSun: sun(TRX) }));
    const line = (await readFile(settings.stateFile, 'utf8')).split('\n').find((each) => each !== '')!;
    passMs(61_000);
    const [past, fresh] = [bytes({ amountSun: sun(TRX) }), bytes({ amountSun: sun(TRX) })];
    await signer.sign(POOL, past);
    await server.close();
    const grown = await readFile(settings.stateFile, 'utf8');
    const old = Array.from({ length: 5000 }, (_, index) =>
      line.replace(/"txid":"[0-9a-f]{8}/, `"txid":"${index.toString(16).padStart(8, '0')}`),
    );
    await writeFile(settings.stateFile, `${old.join('\n')}\n${grown}`);
    await restart();
    await signer.sign(POOL, fresh);
    await server.close();
    const left = (await readFile(settings.stateFile, 'utf8')).split('\n').filter((each) => each !== '');
    expect(left.length).toBeLessThan(10);
    for (const rawData of [past, fresh]) {
      expect(left.join()).toContain(createHash('sha256').update(rawData).digest('hex'));
    }
    await restart();
    for (let count = 0; count < 3; count += 1) await signer.sign(POOL, bytes({ amountSun: sun(TRX) }));
    expect(await refusal(POOL, bytes())).toBe('TOO_MANY');
  });
});
