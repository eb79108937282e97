// The pool commands on a real database and a local chain, which decides the rights of a wallet's key.
import { execFile } from 'node:child_process';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { addressOfKey } from '../../../src/platform/chain/keys.js';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';
import { addressOf, keyOf, type OperatorChain } from '../../support/chain/operator-chain.js';
import { openOperatorFixture, POOL_OPERATIONS, type OperatorFixture } from '../../support/chain/operator-fixture.js';
import { cliWith, type Cli } from '../../support/cli.js';

const ACTIVATION_OPERATIONS = `01${'0'.repeat(62)}`;
const WITH_TRANSFER = `0200000000000006${'0'.repeat(48)}`;
const DELEGATE_ONLY = `0000000000000002${'0'.repeat(48)}`;
const HOT = addressOf('hot');

let fixture: OperatorFixture;
let chain: OperatorChain;
let env: Record<string, string>;
let cli: Cli;
let folder: string;
let keyFile: string;
let rows: OperatorFixture['rows'];

beforeAll(async () => {
  fixture = await openOperatorFixture(['exact', 'wide', 'narrow', 'bare', 'activator', 'other', 'lent', 'lent too']);
  ({ chain, env, cli, folder, keyFile, rows } = fixture);
  await chain.stake('exact', 5000);
  await chain.permit('exact', [{ name: 'mine', operations: POOL_OPERATIONS, key: HOT }]);
  await chain.permit('wide', [{ name: 'mine', operations: WITH_TRANSFER, key: HOT }]);
  await chain.permit('narrow', [{ name: 'mine', operations: DELEGATE_ONLY, key: HOT }]);
  await chain.permit('activator', [
    { name: 'other', operations: POOL_OPERATIONS, key: addressOf('other') },
    { name: 'mine', operations: ACTIVATION_OPERATIONS, key: HOT },
  ]);
});

afterAll(() => fixture.close());

function add(name: string, role = 'pool', permission = '2', ...more: string[]) {
  const args = ['--role', role, '--address', addressOf(name), '--permission-id', permission, ...more];
  return cli('pool', 'add', ...args, ...(more.some((arg) => arg.startsWith('--key')) ? [] : ['--key-file', keyFile]));
}

async function isInPool(name: string): Promise<boolean> {
  return (await rows(`SELECT FROM pool_wallet WHERE address = $1`, [addressOf(name)])).length > 0;
}

describe('pool add', () => {
  it('accepts a wallet whose key may do exactly its role’s work, seals the key and creates the slots', async () => {
    const added = await add('exact', 'pool', '2', '--slots', '7', '--json');
    expect([added.code, added.err]).toEqual([0, '']);
    expect(added.json()).toMatchObject({ address: addressOf('exact'), key_address: HOT, staked_sun: 5_000_000_000 });
    const [wallet] = await rows(`SELECT * FROM pool_wallet WHERE address = $1`, [addressOf('exact')]);
    expect(wallet).toMatchObject({ role: 'pool', permission_id: 2, key_address: HOT, status: 'active' });
    const sealer = new Sealer({ current: sealKey(Buffer.from(env['MASTER_KEY']!, 'base64'), 'pool-key') });
    expect(sealer.open(wallet!['key_sealed'] as Buffer, addressOf('exact'))).toEqual(keyOf('hot'));
    expect(await rows(`SELECT slot_no, free_sun FROM pool_slot WHERE wallet_id = $1`, [wallet!['id']])).toHaveLength(7);
    const [act] = await rows(`SELECT actor, detail FROM audit_log WHERE action = 'pool.add'`);
    expect(JSON.stringify(act)).not.toContain(keyOf('hot').toString('hex'));
    const again = await add('exact');
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('already')]);
  });

  it('accepts an activation wallet by its own mask, under any of its permissions', async () => {
    expect((await add('activator', 'activation', '3')).code).toBe(0);
    expect(
      (
        await rows(
          `SELECT count(*)::int AS n FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id WHERE w.address = $1`,
          [addressOf('activator')],
        )
      )[0],
    ).toEqual({ n: 16 });
  });

  it.each([
    ['wide', 'pool', '2', 'also allows Transfer'],
    ['narrow', 'pool', '2', 'does not allow UnDelegateResource'],
    ['wide', 'pool', '3', 'has no permission 3'],
    ['bare', 'pool', '0', 'does not name the key'],
    ['narrow', 'activation', '2', 'does not allow AccountCreate'],
    ['nobody', 'pool', '2', 'does not exist on chain'],
  ])('refuses %s as %s under permission %s: it %s', async (name, role, permission, why) => {
    const refused = await add(name, role, permission);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain(why);
    expect(await isInPool(name)).toBe(false);
  });

  it('accepts a wide key only if the settings name the wallet, and warns', async () => {
    const allowing = cliWith({ ...env, POOL_ALLOW_WIDE_PERMISSION: addressOf('wide') });
    const args = ['--role', 'pool', '--address', addressOf('wide'), '--permission-id', '2', '--key-file', keyFile];
    const added = await allowing('pool', 'add', ...args);
    expect([added.code, added.err]).toEqual([0, expect.stringContaining('also allows Transfer')]);
  });

  it.each([0o640, 0o604, 0o620])('rejects a key file that others can read (%o), with the remedy', async (mode) => {
    const open = join(folder, `open-${mode.toString(8)}.key`);
    await writeFile(open, keyOf('hot').toString('hex'));
    await chmod(open, mode);
    for (const command of [['add', '--address'], ['set-key'], ['permissions']]) {
      const role = command[0] === 'set-key' ? [] : ['--role', 'pool'];
      const permission = command[0] === 'permissions' ? [] : ['--permission-id', '2'];
      const refused = await cli('pool', ...command, addressOf('narrow'), ...role, ...permission, '--key-file', open);
      expect([refused.code, refused.out, refused.err]).toEqual([2, '', expect.stringContaining(`chmod 600 ${open}`)]);
    }
    expect(await isInPool('narrow')).toBe(false);
  });

  it('reads the key from standard input, as a container gets it', async () => {
    const args = ['pool', 'permissions', addressOf('bare'), '--role', 'pool', '--key-file', '-', '--json'];
    const hex = keyOf('hot').toString('hex');
    for (const input of [hex, `0x${hex}\n`]) {
      const shown = await cliWith(env, undefined, input)(...args);
      expect([shown.code, shown.err]).toEqual([0, '']);
      expect(JSON.stringify(shown.json().update)).toContain(HOT);
    }
    const wrong = [
      [undefined, 'Redirect a file'],
      ['', '64 hex characters'],
      [`${hex}\n${hex}`, '64 hex characters'],
      ['x'.repeat(5000), 'too large'],
    ] as const;
    for (const [input, why] of wrong) {
      const refused = await cliWith(env, undefined, input)(...args);
      expect([refused.code, refused.out, refused.err]).toEqual([2, '', expect.stringContaining(why)]);
    }
  });

  it('reads the key from a pipe and from a redirected file in a separate process', async () => {
    const args = ['pool', 'permissions', addressOf('bare'), '--role', 'pool', '--key-file', '-', '--json'];
    const command = [process.execPath, 'dist/bundle/main.cli.js', ...args].map((arg) => `'${arg}'`).join(' ');
    const hex = keyOf('hot').toString('hex');
    for (const line of [`cat '${keyFile}' | ${command}`, `${command} < '${keyFile}'`]) {
      const { stdout, stderr } = await promisify(execFile)('/bin/sh', ['-c', line], {
        env: { ...process.env, ...env },
      });
      expect(stderr).not.toContain(hex);
      expect(JSON.parse(stdout)).toMatchObject({ update: { actives: expect.anything() as unknown } });
      expect(stdout).not.toContain(hex);
    }
  });

  it('writes a new key into a private file, never over another', async () => {
    const fresh = join(folder, 'fresh.key');
    const made = await cliWith({})('pool', 'new-key', fresh, '--json');
    expect([made.code, made.err]).toEqual([0, '']);
    expect((await stat(fresh)).mode & 0o777).toBe(0o600);
    const content = await readFile(fresh, 'utf8');
    expect(content).toMatch(/^[0-9a-f]{64}\n$/);
    expect(made.json()).toEqual({ key_file: fresh, key_address: addressOfKey(Buffer.from(content.trim(), 'hex')) });
    const again = await cliWith({})('pool', 'new-key', fresh);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining('exists')]);
    expect(await readFile(fresh, 'utf8')).toBe(content);
  });

  it('reads the key from a file, and rejects an invalid one', async () => {
    const wrong = join(folder, 'wrong.key');
    await writeFile(wrong, 'not a key', { mode: 0o600 });
    expect((await add('narrow', 'pool', '2', '--key-file', wrong)).code).toBe(2);
    expect((await add('narrow', 'pool', '2', '--key-file', join(folder, 'gone'))).code).toBe(2);
    await writeFile(wrong, '0'.repeat(64));
    const zero = await add('narrow', 'pool', '2', '--key-file', wrong);
    expect([zero.code, zero.err]).toEqual([2, expect.stringContaining('key')]);
  });

  it.each(['ENERGY', 'BANDWIDTH'])('asks before it adds a wallet that has delegated %s already', async (resource) => {
    const name = resource === 'ENERGY' ? 'lent' : 'lent too';
    await chain.permit(name, [{ name: 'mine', operations: POOL_OPERATIONS, key: HOT }]);
    const owner = { owner_address: addressOf(name), visible: true };
    const stake = { ...owner, frozen_balance: 700_000_000, resource };
    await chain.send(name, await chain.call('wallet/freezebalancev2', stake));
    const lending = { ...owner, receiver_address: addressOf('other'), balance: 500_000_000, resource };
    await chain.send(name, await chain.call('wallet/delegateresource', lending));
    await chain.mine(2);
    const refused = await add(name);
    expect([refused.code, refused.out, await isInPool(name)]).toEqual([2, '', false]);
    expect(refused.err).toContain(
      'has delegated 500.000000 TRX already. If another service delegates from this wallet',
    );
    expect((await add(name, 'pool', '2', '--yes')).code).toBe(0);
    // The question is about wallets that are new to the pool.
    expect(await add(name)).toMatchObject({ code: 1, err: expect.stringContaining('already in the pool') });
  });

  it('adds nothing without a chain', async () => {
    const lost = cliWith({
      ...env,
      TRON_FULL_NODE_URLS: 'http://127.0.0.1:1',
      TRON_SOLIDITY_NODE_URLS: 'http://127.0.0.1:1',
    });
    const args = ['--role', 'pool', '--address', addressOf('bare'), '--permission-id', '2', '--key-file', keyFile];
    const refused = await lost('pool', 'add', ...args, '--json');
    expect([refused.code, JSON.parse(refused.err)]).toEqual([
      1,
      expect.objectContaining({ error: 'CHAIN_UNAVAILABLE' }),
    ]);
  });

  it('knows a key of the signer process only by its address', async () => {
    await chain.permit('other', [{ name: 'mine', operations: POOL_OPERATIONS, key: HOT }]);
    expect((await add('other', 'pool', '2', '--key-address', HOT)).code).toBe(0);
    const { wallets } = (await cli('pool', 'list', '--json')).json();
    expect(wallets).toContainEqual(expect.objectContaining({ address: addressOf('other'), key_held_by: 'signer' }));
  });
});

describe('pool permissions', () => {
  it('prints an update that a node accepts, that keeps earlier permissions and makes the wallet fit', async () => {
    await chain.permit('bare', [{ name: 'theirs', operations: WITH_TRANSFER, key: addressOf('other') }]);
    const printed = await cli(
      'pool',
      'permissions',
      addressOf('bare'),
      '--role',
      'pool',
      '--key-file',
      keyFile,
      '--json',
    );
    const { update, permission_id: permissionId } = printed.json();
    await chain.send('bare', await chain.call('wallet/accountpermissionupdate', update));
    const account = await chain.call('wallet/getaccount', { address: addressOf('bare'), visible: true });
    expect(account['active_permission']).toMatchObject([
      { permission_name: 'theirs', operations: WITH_TRANSFER, keys: [{ address: addressOf('other') }] },
      { id: permissionId, operations: POOL_OPERATIONS, keys: [{ address: HOT }] },
    ]);
    expect((await add('bare', 'pool', String(permissionId))).code).toBe(0);
    const nothing = await cli(
      'pool',
      'permissions',
      addressOf('bare'),
      '--role',
      'pool',
      '--key-address',
      HOT,
      '--json',
    );
    expect(nothing.json()).toEqual({ permission_id: permissionId, update: null });
  });

  it('replaces our own earlier permission when the hot key changes, and set-key follows', async () => {
    const next = addressOf('next');
    const args = ['pool', 'permissions', addressOf('bare'), '--role', 'pool', '--key-address', next];
    const { update, permission_id: permissionId, replaces } = (await cli(...args, '--json')).json();
    expect([update.actives.length, replaces]).toEqual([2, true]);
    const nextFile = join(folder, 'next.key');
    await writeFile(nextFile, keyOf('next').toString('hex'), { mode: 0o600 });
    const setKey = () =>
      cli(
        'pool',
        'set-key',
        addressOf('bare'),
        '--key-file',
        nextFile,
        '--permission-id',
        String(permissionId),
        '--yes',
      );
    expect((await setKey()).err).toContain('does not name the key');
    await chain.send('bare', await chain.call('wallet/accountpermissionupdate', update));
    expect((await setKey()).code).toBe(0);
    expect(await rows(`SELECT key_address FROM pool_wallet WHERE address = $1`, [addressOf('bare')])).toEqual([
      { key_address: next },
    ]);
  });
});

describe('pool pause and resume', () => {
  it('pausing requires a reason and keeps it, and resuming removes it', async () => {
    const address = addressOf('exact');
    expect((await cli('pool', 'pause', address)).err).toContain('--reason');
    expect((await cli('pool', 'pause', address, '--reason', 'auto: no')).code).toBe(2);
    const paused = await cli('pool', 'pause', address, '--reason', 'unstaking', '--json');
    expect(paused.json()).toMatchObject({ status: 'paused', pause_reason: 'unstaking' });
    expect((await cli('pool', 'list')).out).toContain('paused: unstaking');
    expect((await cli('pool', 'resume', address, '--json')).json()).toMatchObject({
      status: 'active',
      pause_reason: null,
    });
    expect((await cli('pool', 'resume', addressOf('hot'))).code).toBe(1);
  });
});
