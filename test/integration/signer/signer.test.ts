// The signer's rules over its real socket: accepted transactions, and every kind of request it must refuse.
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TronWeb } from 'tronweb';
import { addressOfKey, signerOf } from '../../../src/platform/chain/keys.js';
import { SignerUnavailableError, SocketSigner } from '../../../src/platform/chain/socket-signer.js';
import { until } from '../../../packages/local/src/wait.js';
import { startNode } from '../../../packages/local/src/processes.js';
import { sun } from '../../../src/domain/units.js';
import { assertExpiration } from '../../../src/modules/pool/signer-expiration.js';
import { SignerServer } from '../../../src/modules/signer/server.js';
import { readSignerSettings } from '../../../src/modules/signer/settings.js';
import {
  ACTIVATOR,
  LENDER,
  EPOCH_MS,
  HOT_KEY,
  POOL,
  RECEIVER,
  OUTSIDER,
  TRX,
  YEARS_MS,
  activation,
  bytes,
  closeFolder,
  closeSigner,
  environment,
  events,
  folder,
  openFolder,
  openSigner,
  passMs,
  refusal,
  restart,
  say,
  server,
  settings,
  signer,
  walletsFile,
} from '../../support/worker/signer-fixture.js';
beforeAll(openFolder);
beforeEach(openSigner);
afterEach(closeSigner);
afterAll(closeFolder);

/** Lets tronweb build a transaction that the service never builds. */
async function foreign(
  build: (builder: TronWeb['transactionBuilder'], options: never) => Promise<unknown>,
): Promise<Buffer> {
  const { transactionBuilder } = new TronWeb({ fullHost: 'http://127.0.0.1:1' });
  const blockHeader = {
    ref_block_bytes: '004d',
    ref_block_hash: 'aaaaaaaaaaaaaaaa',
    expiration: EPOCH_MS + 60_000,
    timestamp: EPOCH_MS,
  };
  const built = (await build(transactionBuilder, { permissionId: 2, blockHeader } as never)) as {
    raw_data_hex: string;
  };
  return Buffer.from(built.raw_data_hex, 'hex');
}

function field(number: number, body: Buffer): Buffer {
  expect(body.length).toBeLessThan(128);
  return Buffer.concat([Buffer.of((number << 3) | 2, body.length), body]);
}

describe('what a role allows', () => {
  it.each(['delegate', 'undelegate'] as const)('a pool wallet’s %s is signed by its key', async (type) => {
    const rawData = bytes({ type });
    const signature = await signer.sign(POOL, rawData);
    expect(signerOf(rawData, signature)).toBe(addressOfKey(HOT_KEY));
    expect(events).toContainEqual(expect.objectContaining({ msg: 'signed', wallet: POOL, receiver: RECEIVER }));
  });

  it.each(['delegate', 'undelegate'] as const)(
    'a %s of bandwidth is signed for a wallet that sells it',
    async (type) => {
      const rawData = bytes({ type, owner: LENDER, resource: 'BANDWIDTH' });
      expect(signerOf(rawData, await signer.sign(LENDER, rawData))).toBe(addressOfKey(HOT_KEY));
      expect(events).toContainEqual(expect.objectContaining({ msg: 'signed', resource: 'BANDWIDTH' }));
    },
  );

  it('counts both resources against one minute’s stake', async () => {
    for (const resource of ['ENERGY', 'BANDWIDTH'] as const) {
      await signer.sign(LENDER, bytes({ owner: LENDER, resource, amountSun: sun(1000n * TRX) }));
    }
    expect(await refusal(LENDER, bytes({ owner: LENDER, resource: 'BANDWIDTH', amountSun: sun(501n * TRX) }))).toBe(
      'TOO_MUCH',
    );
  });

  it('an activation wallet’s activation is signed by its key', async () => {
    const rawData = activation();
    expect(signerOf(rawData, await signer.sign(ACTIVATOR, rawData))).toBe(addressOfKey(HOT_KEY));
  });

  it('many concurrent requests on one connection each get their own signature', async () => {
    const all = [1, 2, 3, 4, 5].map(() => bytes({ amountSun: sun(TRX) }));
    const signatures = await Promise.all(all.map((rawData) => signer.sign(POOL, rawData)));
    expect(signatures.map((signature, index) => signerOf(all[index]!, signature))).toEqual(
      all.map(() => addressOfKey(HOT_KEY)),
    );
  });

  it('lists its wallets, and no key', async () => {
    const held = await signer.wallets();
    expect(held.map((wallet) => [wallet.address, wallet.role, wallet.permission_id, wallet.key_address])).toEqual([
      [POOL, 'pool', 2, addressOfKey(HOT_KEY)],
      [ACTIVATOR, 'activation', 3, addressOfKey(HOT_KEY)],
      [LENDER, 'pool', 2, addressOfKey(HOT_KEY)],
    ]);
    expect(JSON.stringify(held)).not.toContain(HOT_KEY.toString('hex'));
  });
});

it('lets no worker start with an expiration that it would refuse each time', async () => {
  await assertExpiration(signer, settings.expiration.maxSec);
  await expect(assertExpiration(signer, settings.expiration.maxSec + 1)).rejects.toThrow(
    'TRON_EXPIRATION_SEC (301) exceeds SIGNER_EXPIRATION_MAX_SEC (300), so the signer signs nothing. Lower',
  );
  await assertExpiration(new SocketSigner(join(folder, 'none.sock')), settings.expiration.maxSec + 1);
});

describe('what is refused', () => {
  type Asked = readonly [string, Buffer];
  const cases: [string, string, () => Asked | Promise<Asked>][] = [
    ['a wallet it has no key for', 'UNKNOWN_WALLET', () => [OUTSIDER, bytes({ owner: OUTSIDER })]],
    ['another owner than the wallet', 'WRONG_OWNER', () => [POOL, bytes({ owner: OUTSIDER })]],
    ['another permission', 'WRONG_PERMISSION', () => [POOL, bytes({}, 0)]],
    ['an amount beyond the cap', 'AMOUNT_TOO_LARGE', () => [POOL, bytes({ amountSun: sun(1000n * TRX + 1n) })]],
    ['one of our own wallets as receiver', 'WRONG_RECEIVER', () => [POOL, bytes({ receiver: ACTIVATOR })]],
    ['a delegation by an activation wallet', 'WRONG_TYPE', () => [ACTIVATOR, bytes({ owner: ACTIVATOR }, 3)]],
    ['an activation by a pool wallet', 'WRONG_TYPE', () => [POOL, activation(POOL, 2)]],
    [
      'a transfer of TRX',
      'WRONG_TYPE',
      async () => [POOL, await foreign((b, options) => b.sendTrx(RECEIVER, 5, POOL, options))],
    ],
    [
      'a withdrawal of unfrozen TRX',
      'WRONG_TYPE',
      async () => [POOL, await foreign((b, options) => b.withdrawExpireUnfreeze(POOL, options))],
    ],
    ['bandwidth instead of energy', 'WRONG_RESOURCE', () => [POOL, bytes({ resource: 'BANDWIDTH' })]],
    ['taking back bandwidth', 'WRONG_RESOURCE', () => [POOL, bytes({ type: 'undelegate', resource: 'BANDWIDTH' })]],
    [
      'bandwidth beyond the cap of a wallet that sells it',
      'AMOUNT_TOO_LARGE',
      () => [LENDER, bytes({ owner: LENDER, resource: 'BANDWIDTH', amountSun: sun(1000n * TRX + 1n) })],
    ],
    [
      'a locked delegation',
      'LOCKED',
      async () => [
        POOL,
        await foreign((b, options) => b.delegateResource(5e6, RECEIVER, 'ENERGY', POOL, true, 100, options)),
      ],
    ],
    ['a memo', 'UNREADABLE', () => [POOL, Buffer.concat([bytes(), field(10, Buffer.from('hello'))])]],
    ['a fee limit', 'UNREADABLE', () => [POOL, Buffer.concat([bytes(), Buffer.of(0x90, 0x01, 0x05)])]],
    ['a field nobody knows', 'UNREADABLE', () => [POOL, Buffer.concat([bytes(), field(15, Buffer.of(1))])]],
    ['a second contract behind the first', 'UNREADABLE', () => [POOL, twice()]],
    ['bytes cut off', 'UNREADABLE', () => [POOL, bytes().subarray(0, -1)]],
    ['bytes of nothing', 'UNREADABLE', () => [POOL, Buffer.alloc(120, 0xff)]],
    ['another type behind the type’s number', 'UNREADABLE', () => [POOL, renamed(bytes())]],
    [
      'an expiration far after its own timestamp',
      'EXPIRES_TOO_LATE',
      () => [POOL, bytes({}, 2, { expiresAtMs: EPOCH_MS + YEARS_MS })],
    ],
    [
      'an expiration far after the clock, its timestamp beside it',
      'EXPIRES_TOO_LATE',
      () => [POOL, bytes({}, 2, { timestampMs: EPOCH_MS + YEARS_MS })],
    ],
    [
      'the expiration of an activation, and the one beyond all dates',
      'EXPIRES_TOO_LATE',
      () => [ACTIVATOR, bytes({ type: 'activate', owner: ACTIVATOR }, 3, { expiresAtMs: Number.MAX_SAFE_INTEGER - 1 })],
    ],
    ['an amount beyond 63 bits', 'UNREADABLE', () => [POOL, endless(bytes({ amountSun: sun(TRX) }))]],
  ];

  it.each(cases)('%s', async (_what, code, make) => {
    const [wallet, rawData] = await make();
    expect(await refusal(wallet, rawData)).toBe(code);
    expect(events).toEqual([expect.objectContaining({ level: 'warn', error: code })]);
  });

  it('more signatures than a minute allows, until the minute has passed, while the same bytes again are free', async () => {
    const all = [1, 2, 3, 4, 5, 6].map(() => bytes({ amountSun: sun(TRX) }));
    for (const rawData of all.slice(0, 5)) await signer.sign(POOL, rawData);
    expect(await refusal(POOL, all[5]!)).toBe('TOO_MANY');
    expect(await signer.sign(POOL, all[0]!)).toEqual(await signer.sign(POOL, all[0]!));
    passMs(60_000);
    await signer.sign(POOL, all[5]!);
  });

  it('more stake than a minute allows, while taking stake back continues', async () => {
    await signer.sign(POOL, bytes({ amountSun: sun(1000n * TRX) }));
    await signer.sign(POOL, bytes({ amountSun: sun(1000n * TRX) }));
    expect(await refusal(POOL, bytes({ amountSun: sun(501n * TRX) }))).toBe('TOO_MUCH');
    await signer.sign(POOL, bytes({ type: 'undelegate', amountSun: sun(1000n * TRX) }));
    await signer.sign(POOL, bytes({ amountSun: sun(500n * TRX) }));
  });

  it.each([
    'not json',
    '[]',
    '{}',
    '{"id":1}',
    '{"id":1,"wallet":"T","raw_data":"xyz"}',
    '{"id":1,"wallet":"T","raw_data":"AA"}',
    '{"id":1,"wallet":"T","raw_data":"aa","digest":"bb"}',
    '{"id":-1,"list":true}',
    '{"id":1,"list":true,"wallet":"T"}',
  ])('a line that is no request: %s', async (line) => {
    expect(JSON.parse(await say(`${line}\n`))).toMatchObject({ id: null, error: 'MALFORMED' });
  });

  it('a line without end closes the connection', async () => {
    expect(await say('x'.repeat(20_000))).toBe('');
  });

  it('a line that is too long closes the connection, even with an end', async () => {
    expect(await say(`{"id":1,"list":true}${' '.repeat(20_000)}\n`)).toBe('');
  });
});

/** A transaction with two contracts, each of which alone would be signed. */
function twice(): Buffer {
  const rawData = bytes();
  // The contract is field 11. Its tag and one length byte precede the type's number.
  const from = rawData.indexOf(Buffer.of(0x08, 57, 0x12)) - 2;
  const to = from + 2 + rawData[from + 1]!;
  expect([rawData[from], rawData[to]]).toEqual([0x5a, 0x70]);
  return Buffer.concat([rawData, rawData.subarray(from, to)]);
}

/** Renames the type URL while the type number stays Delegate. Both names have the same length. */
function renamed(rawData: Buffer): Buffer {
  const at = rawData.indexOf('DelegateResourceContract');
  expect(at).toBeGreaterThan(0);
  const changed = Buffer.from(rawData);
  changed.write('MelegateResourceContract', at, 'latin1');
  return changed;
}

/** Turns the amount of 1 TRX (three bytes) into a varint that exceeds 63 bits. */
function endless(rawData: Buffer): Buffer {
  const at = rawData.indexOf(Buffer.of(0x18, 0xc0, 0x84, 0x3d));
  expect(at).toBeGreaterThan(0);
  const changed = Buffer.from(rawData);
  changed.fill(0xff, at + 1, at + 14);
  return changed;
}

describe('the socket and the files', () => {
  it('only its own user can open the socket', async () => {
    expect((await stat(settings.socketPath)).mode & 0o777).toBe(0o600);
  });

  it('its group can too if configured, and no one else', async () => {
    const path = join(folder, 'shared.sock');
    const shared = readSignerSettings({ ...environment(), SIGNER_SOCKET: path, SIGNER_SOCKET_MODE: '0660' });
    const other = new SignerServer({ ...shared, stateFile: join(folder, 'shared.state') }, () => undefined);
    await other.listen();
    expect((await stat(path)).mode & 0o777).toBe(0o660);
    await other.close();
    expect(() => readSignerSettings({ ...environment(), SIGNER_SOCKET_MODE: '0666' })).toThrow('0660');
  });

  it('reads its settings as strictly as the worker', () => {
    const read = (more: Record<string, string>) => readSignerSettings({ ...environment(), ...more });
    for (const text of ['true', 'TRUE', '1']) {
      expect(read({ ALLOW_SLOW_SIGNATURES: text }).allowSlowSignatures).toBe(true);
    }
    for (const text of ['', 'false', '0']) {
      expect(read({ ALLOW_SLOW_SIGNATURES: text }).allowSlowSignatures).toBe(false);
    }
    expect(() => read({ ALLOW_SLOW_SIGNATURES: 'yes' })).toThrow('ALLOW_SLOW_SIGNATURES must be true or false');
    expect(read({ SIGNER_EXPIRATION_MAX_SEC: '120' }).expiration.maxSec).toBe(120);
    for (const text of ['3e2', '0x12c', '120.0', '5m']) {
      expect(() => read({ SIGNER_EXPIRATION_MAX_SEC: text })).toThrow('SIGNER_EXPIRATION_MAX_SEC must be an integer');
    }
  });

  it('a second signer refuses to take the socket of a living one', async () => {
    const second = new SignerServer(settings, () => undefined);
    await expect(second.listen()).rejects.toThrow('another signer');
  });

  it('without a signer a request fails as unavailable, and works once it is back', async () => {
    const rawData = bytes();
    await signer.sign(POOL, rawData);
    await server.close();
    await expect(signer.sign(POOL, rawData)).rejects.toThrow(SignerUnavailableError);
    await restart();
    expect(signerOf(rawData, await signer.sign(POOL, rawData))).toBe(addressOfKey(HOT_KEY));
  });

  it.each<[string, (list: Record<string, unknown>[]) => unknown]>([
    ['unknown member', ([pool]) => [{ ...pool, colour: 'red' }]],
    ['role must be', ([pool]) => [{ ...pool, role: 'bank' }]],
    ['address must be', ([pool]) => [{ ...pool, address: 'Tx' }]],
    ['bandwidth', ([pool]) => [{ ...pool, bandwidth: 'yes' }]],
    ['amount_max_trx', ([pool]) => [{ ...pool, amount_max_trx: 0.5 }]],
    ['twice', ([pool]) => [pool, pool]],
    ['a list of', () => []],
    ['no such file', ([pool]) => [{ ...pool, key_file: 'gone.key' }]],
  ])('refuses a wrong wallets file: %s', async (message, change) => {
    const path = join(folder, 'wrong.json');
    await writeFile(path, JSON.stringify(change(walletsFile())), { mode: 0o600 });
    expect(() => readSignerSettings({ ...environment(), SIGNER_WALLETS_FILE: path })).toThrow(message);
  });

  it('accepts the wallets file of the operators’ page', async () => {
    const page = await readFile(new URL('../../../docs/operating/signer.md', import.meta.url), 'utf8');
    const example = /^```json\n(.*?)^```$/ms.exec(page)![1]!;
    const path = join(folder, 'documented.json');
    const real = example.replace('TYourStakedWallet', POOL).replace('TYourActivationWallet', ACTIVATOR);
    await writeFile(path, real.replace('activation.key', 'hot.key'), { mode: 0o600 });
    const { wallets } = readSignerSettings({ ...environment(), SIGNER_WALLETS_FILE: path });
    expect(wallets.map(({ role, address }) => [role, address])).toEqual([
      ['pool', POOL],
      ['activation', ACTIVATOR],
    ]);
    const documented = [...page.matchAll(/^\| (`[a-z_`, ]+`) \|/gm)].flatMap((row) => row[1]!.match(/[a-z_]+/g)!);
    for (const member of walletsFile().flatMap(Object.keys)) expect(documented).toContain(member);
  });

  it('refuses files that others can read, without a key in the error', async () => {
    await chmod(join(folder, 'hot.key'), 0o644);
    const attempt = () => readSignerSettings(environment());
    expect(attempt).toThrow('chmod 600');
    expect(attempt).not.toThrow(HOT_KEY.toString('hex'));
    await chmod(join(folder, 'hot.key'), 0o600);
  });
});

it('the process signs, keeps its key out of its log, and its successor takes over its socket and its limits', async () => {
  const socketPath = join(folder, 'process.sock');
  const child = await startNode('dist/bundle/main.signer.js', {
    name: 'signer',
    env: { ...environment(), SIGNER_SOCKET: socketPath },
    readyWhen: (line: string) => (line.includes('"listening"') ? true : undefined),
  });
  const client = new SocketSigner(socketPath);
  try {
    const fresh = (): Buffer => bytes({ amountSun: sun(TRX) }, 2, { timestampMs: Date.now() });
    const rawData = fresh();
    expect(signerOf(rawData, await client.sign(POOL, rawData))).toBe(addressOfKey(HOT_KEY));
    // The log line comes through a pipe, slightly after the answer on the socket.
    await until(() => (child.tail().includes('"signed"') ? true : undefined), 10_000, 'the line of the signature');
    expect(child.tail()).not.toContain(HOT_KEY.toString('hex'));
    for (let count = 1; count < 5; count += 1) await client.sign(POOL, fresh());
    child.signal('SIGKILL');
    await child.exited;
    const successor = new SignerServer({ ...settings, socketPath }, () => undefined);
    await successor.listen();
    await expect(client.sign(POOL, fresh())).rejects.toThrow('TOO_MANY');
    await successor.close();
  } finally {
    client.close();
    await child.stop();
  }
});
