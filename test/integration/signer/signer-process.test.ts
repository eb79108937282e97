// The signer as deployed, under its own user. Its callers are a worker that shares only a group with it, and its
// container's probe. Other users need root; otherwise all processes run as the current user.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedProcess } from '../../../packages/local/src/guard.js';
import { limited } from '../../../packages/local/src/wait.js';
import { HOT_KEY, layProgram, walletsFile } from '../../support/worker/signer-fixture.js';

const isRoot = process.getuid?.() === 0;
interface User {
  readonly uid: number;
  readonly gid: number;
}
/** Ids that no machine assigns. */
const SIGNER: User = { uid: 61_001, gid: 61_001 };
const WORKER: User = { uid: 61_002, gid: SIGNER.gid };
const OUTSIDER: User = { uid: 61_003, gid: 61_003 };

let dir: string;
let signer: GuardedProcess | undefined;
const at = (...names: string[]): string => join(dir, ...names);
const env = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  SIGNER_SOCKET: at('run', 'signer.sock'),
  SIGNER_SOCKET_MODE: '0660',
  SIGNER_WALLETS_FILE: at('etc', 'wallets.json'),
  SIGNER_STATE_FILE: at('state', 'signatures'),
});

/**
 * Creates the folders and files of docker/compose.yaml: keys, state, and the socket's folder, the only one its group
 * can enter.
 */
function lay(): void {
  dir = mkdtempSync(join(tmpdir(), 'signer-process-'));
  chmodSync(dir, 0o755);
  const own = (path: string, mode: number): void => {
    if (isRoot) chownSync(path, SIGNER.uid, SIGNER.gid);
    chmodSync(path, mode);
  };
  layProgram(at('app'));
  cpSync('docker/probe.mjs', at('app', 'probe.mjs'));
  for (const [name, mode] of [
    ['etc', 0o700],
    ['state', 0o700],
    ['run', 0o750],
  ] as const) {
    mkdirSync(at(name));
    own(at(name), mode);
  }
  writeFileSync(at('etc', 'wallets.json'), JSON.stringify(walletsFile()));
  writeFileSync(at('etc', 'hot.key'), HOT_KEY.toString('hex'));
  for (const name of ['wallets.json', 'hot.key']) own(at('etc', name), 0o600);
}

async function startSigner(): Promise<GuardedProcess> {
  let isListening: () => void = () => undefined;
  const listening = new Promise<void>((resolve) => {
    isListening = resolve;
  });
  const started = await GuardedProcess.start({
    name: 'the signer',
    command: process.execPath,
    args: [at('app', 'main.signer.js')],
    env: env(),
    user: isRoot ? SIGNER : undefined,
    abandonSignal: 'KILL',
    onLine: (line) => {
      if (line.includes('"msg":"listening"')) isListening();
    },
  });
  const ended = started.exited.then((code) => {
    throw new Error(`the signer ended with ${code.toString()}: ${started.tail()}`);
  });
  await limited(Promise.race([listening, ended]), 20_000, 'the signer listening');
  return started;
}

/** Runs a process as `user`. Returns its output, or the last line of stderr when it fails. */
function run(
  user: User,
  args: readonly string[],
  extra: NodeJS.ProcessEnv = {},
): Promise<{ code: number; says: string }> {
  return new Promise((resolve) => {
    const options = { env: { ...env(), ...extra }, cwd: '/', timeout: 20_000, ...(isRoot && user) };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1;
      resolve({ code, says: (stdout + stderr).trim() });
    });
  });
}

const probe = (user: User, extra?: NodeJS.ProcessEnv) => run(user, [at('app', 'probe.mjs'), '--signer'], extra);
const read = (user: User, path: string) =>
  run(user, ['-e', `console.log(require('fs').readFileSync(${JSON.stringify(path)}, 'utf8').length)`]);

beforeAll(async () => {
  lay();
  signer = await startSigner();
});

afterAll(async () => {
  await signer?.stop('SIGTERM', 10_000);
  rmSync(dir, { recursive: true });
});

test('answers its own user and its group, and no one else', async () => {
  expect(statSync(at('run', 'signer.sock')).mode & 0o777).toBe(0o660);
  expect(await probe(SIGNER)).toEqual({ code: 0, says: '' });
  expect(await probe(WORKER)).toEqual({ code: 0, says: '' });
  const outsider = await probe(OUTSIDER);
  expect(outsider).toEqual(
    isRoot ? { code: 1, says: expect.stringContaining('EACCES') as string } : { code: 0, says: '' },
  );
});

test('a worker of its group reads neither its keys, nor its wallets, nor its counts', async () => {
  const files = [at('etc', 'hot.key'), at('etc', 'wallets.json'), at('state', 'signatures')];
  for (const path of files) {
    expect(await read(SIGNER, path)).toEqual({ code: 0, says: expect.stringMatching(/^\d+$/) as string });
    for (const user of isRoot ? [WORKER, OUTSIDER] : []) {
      expect(await read(user, path)).toEqual({ code: 1, says: expect.stringContaining('EACCES') as string });
    }
  }
});

test('its probe reports its absence, and accepts its successor', async () => {
  expect((await run(SIGNER, [at('app', 'probe.mjs'), '/live'])).code).toBe(1);
  signer!.signal('SIGKILL');
  await signer!.exited;
  // The dead signer's socket file still exists.
  expect(await probe(SIGNER)).toEqual({ code: 1, says: expect.stringContaining('ECONNREFUSED') as string });
  await signer!.stop('SIGKILL', 0);
  signer = await startSigner();
  expect(await probe(SIGNER)).toEqual({ code: 0, says: '' });
});

test('the probe rejects an answer without wallets', async () => {
  const path = at('run', 'other.sock');
  const other = createServer((peer) => peer.on('data', () => peer.end('{"id":1,"wallets":[]}\n')));
  await once(other.listen(path), 'listening');
  chmodSync(path, 0o777);
  const result = await probe(SIGNER, { SIGNER_SOCKET: path });
  other.close();
  expect(result).toEqual({ code: 1, says: expect.stringContaining('"wallets":[]') as string });
});
