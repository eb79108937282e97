// The signer process's rules over its real socket: what it signs, and every kind of request it must refuse.
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TronWeb } from 'tronweb';
import { addressOfKey, signerOf } from '../../src/chain/keys.js';
import { buildTransaction, type ChainAction } from '../../src/chain/signed-transaction.js';
import { SignerRefusedError, SignerUnavailableError, SocketSigner } from '../../src/chain/socket-signer.js';
import { until } from '../../src/local/wait.js';
import { startNode } from '../../src/local/processes.js';
import { sun } from '../../src/money/units.js';
import { SignerServer, type SignerEvent } from '../../src/signer/server.js';
import { readSignerSettings, type SignerSettings } from '../../src/signer/settings.js';

const key = (name: string): Buffer => createHash('sha256').update(name).digest();
const address = (name: string): string => addressOfKey(key(name));

const POOL = address('signer-pool');
const ACTIVATOR = address('signer-activator');
const RECEIVER = address('signer-receiver');
const STRANGER = address('signer-stranger');
const HOT_KEY = key('signer-hot');
const TRX = 1_000_000n;

let folder: string;
let settings: SignerSettings;
let server: SignerServer;
let signer: SocketSigner;
let nowMs = 0;
const events: SignerEvent[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signer-'));
  await writeFile(join(folder, 'hot.key'), HOT_KEY.toString('hex'), { mode: 0o600 });
  await writeFile(join(folder, 'wallets.json'), JSON.stringify(walletsFile()), { mode: 0o600 });
  settings = await readSignerSettings(environment());
});

beforeEach(async () => {
  nowMs = 0;
  events.length = 0;
  server = new SignerServer(
    settings,
    (event) => events.push(event),
    () => nowMs,
  );
  await server.listen();
  signer = new SocketSigner(settings.socketPath);
});

afterEach(async () => {
  signer.close();
  await server.close();
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

function walletsFile(): Record<string, unknown>[] {
  const limits = { key_file: 'hot.key', signatures_per_minute: 5, trx_per_minute: 2500, amount_max_trx: 1000 };
  return [
    { role: 'pool', address: POOL, permission_id: 2, ...limits },
    { role: 'activation', address: ACTIVATOR, permission_id: 3, key_file: 'hot.key', signatures_per_minute: 5 },
  ];
}

function environment(): Record<string, string> {
  return { SIGNER_SOCKET: join(folder, 'signer.sock'), SIGNER_WALLETS_FILE: join(folder, 'wallets.json') };
}

let salt = 0;
function bytes(action: Partial<ChainAction> = {}, permissionId = 2): Buffer {
  const full = {
    type: 'delegate',
    owner: POOL,
    receiver: RECEIVER,
    amountSun: sun(100n * TRX),
    ...action,
  } as ChainAction;
  salt += 1;
  const { rawData } = buildTransaction(full, {
    permissionId,
    reference: { number: 77, id: '000000000000004d'.padEnd(64, 'a'), timestampMs: 1 },
    expiresAtMs: 1_800_000_060_000,
    timestampMs: 1_800_000_000_000 + salt,
  });
  return rawData;
}

const activation = (owner = ACTIVATOR, permissionId = 3): Buffer =>
  bytes({ type: 'activate', owner, receiver: RECEIVER }, permissionId);

/** What tronweb builds when it is asked for something the service never builds. */
async function foreign(
  build: (builder: TronWeb['transactionBuilder'], options: never) => Promise<unknown>,
): Promise<Buffer> {
  const { transactionBuilder } = new TronWeb({ fullHost: 'http://127.0.0.1:1' });
  const blockHeader = {
    ref_block_bytes: '004d',
    ref_block_hash: 'aaaaaaaaaaaaaaaa',
    expiration: 1_800_000_060_000,
    timestamp: 1_800_000_000_000,
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

async function refusal(wallet: string, rawData: Buffer): Promise<string> {
  try {
    await signer.sign(wallet, rawData);
  } catch (error) {
    if (error instanceof SignerRefusedError) return error.code;
    throw error;
  }
  throw new Error('it signed');
}

describe('what a role allows', () => {
  it.each(['delegate', 'undelegate'] as const)('a pool wallet’s %s is signed by its key', async (type) => {
    const rawData = bytes({ type });
    const signature = await signer.sign(POOL, rawData);
    expect(signerOf(rawData, signature)).toBe(addressOfKey(HOT_KEY));
    expect(events).toContainEqual(expect.objectContaining({ msg: 'signed', wallet: POOL, receiver: RECEIVER }));
  });

  it('an activation wallet’s activation is signed by its key', async () => {
    const rawData = activation();
    expect(signerOf(rawData, await signer.sign(ACTIVATOR, rawData))).toBe(addressOfKey(HOT_KEY));
  });

  it('many at once on one connection each get their own signature', async () => {
    const all = [1, 2, 3, 4, 5].map(() => bytes({ amountSun: sun(TRX) }));
    const signatures = await Promise.all(all.map((rawData) => signer.sign(POOL, rawData)));
    expect(signatures.map((signature, index) => signerOf(all[index]!, signature))).toEqual(
      all.map(() => addressOfKey(HOT_KEY)),
    );
  });

  it('says which wallets it holds, and no key', async () => {
    const held = await signer.wallets();
    expect(held.map((wallet) => [wallet.address, wallet.role, wallet.permission_id, wallet.key_address])).toEqual([
      [POOL, 'pool', 2, addressOfKey(HOT_KEY)],
      [ACTIVATOR, 'activation', 3, addressOfKey(HOT_KEY)],
    ]);
    expect(JSON.stringify(held)).not.toContain(HOT_KEY.toString('hex'));
  });
});

describe('what is refused', () => {
  type Asked = readonly [string, Buffer];
  const cases: [string, string, () => Asked | Promise<Asked>][] = [
    ['a wallet it has no key for', 'UNKNOWN_WALLET', () => [STRANGER, bytes({ owner: STRANGER })]],
    ['another owner than the wallet', 'WRONG_OWNER', () => [POOL, bytes({ owner: STRANGER })]],
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
    [
      'bandwidth instead of energy',
      'WRONG_RESOURCE',
      async () => [
        POOL,
        await foreign((b, options) => b.delegateResource(5e6, RECEIVER, 'BANDWIDTH', POOL, false, undefined, options)),
      ],
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
    ['an amount beyond 63 bits', 'UNREADABLE', () => [POOL, endless(bytes({ amountSun: sun(TRX) }))]],
  ];

  it.each(cases)('%s', async (_what, code, make) => {
    const [wallet, rawData] = await make();
    expect(await refusal(wallet, rawData)).toBe(code);
    expect(events).toEqual([expect.objectContaining({ level: 'warn', error: code })]);
  });

  it('more signatures than a minute allows, until the minute has passed; the same bytes again are free', async () => {
    const all = [1, 2, 3, 4, 5, 6].map(() => bytes({ amountSun: sun(TRX) }));
    for (const rawData of all.slice(0, 5)) await signer.sign(POOL, rawData);
    expect(await refusal(POOL, all[5]!)).toBe('TOO_MANY');
    expect(await signer.sign(POOL, all[0]!)).toEqual(await signer.sign(POOL, all[0]!));
    nowMs += 60_000;
    await signer.sign(POOL, all[5]!);
  });

  it('more stake than a minute allows; taking stake back goes on', async () => {
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
});

/** A transaction with two contracts, both of which it would sign alone. */
function twice(): Buffer {
  const rawData = bytes();
  // The contract is field 11: its tag and one byte of length stand right before the type's number.
  const from = rawData.indexOf(Buffer.of(0x08, 57, 0x12)) - 2;
  const to = from + 2 + rawData[from + 1]!;
  expect([rawData[from], rawData[to]]).toEqual([0x5a, 0x70]);
  return Buffer.concat([rawData, rawData.subarray(from, to)]);
}

/** The type URL says AccountCreate while the number says Delegate: both have the same length. */
function renamed(rawData: Buffer): Buffer {
  const at = rawData.indexOf('DelegateResourceContract');
  expect(at).toBeGreaterThan(0);
  const changed = Buffer.from(rawData);
  changed.write('MelegateResourceContract', at, 'latin1');
  return changed;
}

/** The amount of 1 TRX (three bytes) becomes a number that never ends within 63 bits. */
function endless(rawData: Buffer): Buffer {
  const at = rawData.indexOf(Buffer.of(0x18, 0xc0, 0x84, 0x3d));
  expect(at).toBeGreaterThan(0);
  const changed = Buffer.from(rawData);
  changed.fill(0xff, at + 1, at + 14);
  return changed;
}

function say(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(settings.socketPath);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      heard += chunk.toString();
      if (heard.endsWith('\n')) socket.destroy();
    });
    socket.on('close', () => resolve(heard));
    socket.write(text);
  });
}

describe('the socket and the files', () => {
  it('only its own user can open the socket', async () => {
    expect((await stat(settings.socketPath)).mode & 0o777).toBe(0o600);
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
    server = new SignerServer(settings, () => undefined);
    await server.listen();
    expect(signerOf(rawData, await signer.sign(POOL, rawData))).toBe(addressOfKey(HOT_KEY));
  });

  it.each<[string, (list: Record<string, unknown>[]) => unknown]>([
    ['unknown member', ([pool]) => [{ ...pool, colour: 'red' }]],
    ['role must be', ([pool]) => [{ ...pool, role: 'bank' }]],
    ['address must be', ([pool]) => [{ ...pool, address: 'Tx' }]],
    ['amount_max_trx', ([pool]) => [{ ...pool, amount_max_trx: 0.5 }]],
    ['twice', ([pool]) => [pool, pool]],
    ['a list of', () => []],
    ['no such file', ([pool]) => [{ ...pool, key_file: 'gone.key' }]],
  ])('a wrong wallets file is refused: %s', async (message, change) => {
    const path = join(folder, 'wrong.json');
    await writeFile(path, JSON.stringify(change(walletsFile())), { mode: 0o600 });
    await expect(readSignerSettings({ ...environment(), SIGNER_WALLETS_FILE: path })).rejects.toThrow(message);
  });

  it('files that others can read are refused, and the error shows no key', async () => {
    await chmod(join(folder, 'hot.key'), 0o644);
    const attempt = readSignerSettings(environment());
    await expect(attempt).rejects.toThrow('chmod 600');
    await expect(attempt).rejects.not.toThrow(HOT_KEY.toString('hex'));
    await chmod(join(folder, 'hot.key'), 0o600);
  });
});

it('the process signs, keeps its key out of its log, and its successor takes over the socket it left', async () => {
  const socketPath = join(folder, 'process.sock');
  const child = await startNode('dist/bundle/main.signer.js', {
    name: 'signer',
    env: { ...environment(), SIGNER_SOCKET: socketPath },
    readyWhen: (line: string) => (line.includes('"listening"') ? true : undefined),
  });
  const client = new SocketSigner(socketPath);
  try {
    const rawData = bytes();
    expect(signerOf(rawData, await client.sign(POOL, rawData))).toBe(addressOfKey(HOT_KEY));
    // The line comes through a pipe, a little after the answer on the socket.
    await until(() => (child.tail().includes('"signed"') ? true : undefined), 10_000, 'the line of the signature');
    expect(child.tail()).not.toContain(HOT_KEY.toString('hex'));
    child.signal('SIGKILL');
    await child.exited;
    const successor = new SignerServer({ ...settings, socketPath }, () => undefined);
    await successor.listen();
    await successor.close();
  } finally {
    client.close();
    await child.stop();
  }
});
