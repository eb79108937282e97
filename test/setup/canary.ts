// Secret search over a whole test run. Every secret that the run makes is noted. All output of the service is kept:
// logs, process output, answers, metrics, Redis. At the end the search looks for the secrets in the output. Both lie in
// files of a directory per run, because Jest's workers are separate processes. Outside a run nothing is kept.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, createReadStream } from 'node:fs';
import { mkdtemp, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEAL_KEY_SETTINGS } from '../../src/platform/config/config.js';
import { CHILDREN, guardDirectory, type ChildNews, type GuardedProcess } from '../../packages/local/src/guard.js';
import { sealKey, type SealPurpose } from '../../src/platform/support/seal.js';
import { Canary } from '../support/canary.js';

const SECRETS = 'secrets.';
const SAID = 'said.';
/** Longer than any form of a secret, so that a secret across two chunks is found. */
const OVERLAP_CHARS = 1024;
const SECRET_CHARS_MIN = 16;
/** The demo shows the key of its project by design. */
const SHOWN_BY_DEMO = /(API key\s+|API_KEY=)\S+/;
const MASTER_KEYS = ['MASTER_KEY', 'MASTER_KEY_PREVIOUS'] as const;
const WEBHOOK_SECRET = /whsec_[A-Za-z0-9+/]{32,}={0,2}/g;
const SEAL_KEYS = Object.values(SEAL_KEY_SETTINGS).flatMap((name) => [name, `${name}_PREVIOUS`]);

type Env = Readonly<Record<string, string | undefined>>;
export type Kind =
  'API key' | 'master key' | 'node key' | 'pool key' | 'seal key' | 'session token' | 'signature' | 'webhook secret';

const directory = (): string | undefined => process.env['TEST_CANARY_DIR'];
const noted = new Set<string>();
/** Removes the directory when the run ends, also when it is killed. */
let guard: GuardedProcess | undefined;

/** Begins a run: from now on this process and its children keep their output for the search. */
export async function beginSearch(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'energy-canary-'));
  guard = await guardDirectory(dir);
  process.env['TEST_CANARY_DIR'] = dir;
  keepChildren();
}

/** Keeps the output of every process that this one starts, and notes the keys in its environment. */
export function keepChildren(): void {
  subscribe(CHILDREN, (news) => {
    const { name, env, args, line } = news as ChildNews;
    if (env !== undefined) noteKeysOf(env);
    if (args !== undefined) keepSaid(`arguments of ${name}`, args.join(' '));
    if (line !== undefined) keepSaid(`output of ${name}`, name === 'demo' ? line.replace(SHOWN_BY_DEMO, '$1') : line);
  });
}

/** The key of the examples in docs/check-your-signature.md and of the test vectors. It is public. */
export const PUBLISHED_KEY = 'test_api_key_123';

/**
 * Notes a secret that must not appear in any output. Ignores values too short to be secrets, such as a test's wrong
 * key.
 */
export function noteSecret(kind: Kind, secret: string | Buffer): void {
  if (secret === PUBLISHED_KEY) return;
  const dir = directory();
  if (dir === undefined || secret.length < SECRET_CHARS_MIN) return;
  const entry = JSON.stringify([kind, typeof secret, Buffer.from(secret).toString('base64')]);
  const file = join(dir, `${SECRETS}${process.pid.toString()}`);
  if (noted.has(file + entry)) return;
  noted.add(file + entry);
  appendFileSync(file, `${entry}\n`, { mode: 0o600 });
}

/** Notes the keys in a process's environment. */
export function noteKeysOf(env: Env): void {
  for (const name of [...MASTER_KEYS, ...SEAL_KEYS]) {
    const bytes = Buffer.from(env[name] ?? '', 'base64');
    if (bytes.length === 32) noteSecret(SEAL_KEYS.includes(name) ? 'seal key' : 'master key', bytes);
  }
  for (const key of (env['TRON_API_KEYS'] ?? '').split(',')) noteSecret('node key', key.trim());
}

/** Notes a webhook secret in both forms: the shown text and the key bytes that it encodes. */
export function noteWebhookSecret(secret: string): void {
  noteSecret('webhook secret', secret);
  noteSecret('webhook secret', Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64'));
}

/** Keeps an answer that may show a new webhook secret. Notes the secret and keeps the rest for the search. */
export function keepShown(where: string, text: string): void {
  const rest = text.replaceAll(WEBHOOK_SECRET, (secret) => {
    noteWebhookSecret(secret);
    return '';
  });
  keepSaid(where, rest);
}

/** Keeps output of the service for the search. */
export function keepSaid(where: string, text: string): void {
  const dir = directory();
  if (dir === undefined) return;
  const file = `${SAID}${where.replaceAll(/[^A-Za-z0-9]+/g, '-')}.${process.pid.toString()}`;
  appendFileSync(join(dir, file), `${text}\n`, { mode: 0o600 });
}

/** Returns every noted key under which any process of the run may have sealed data for `purpose`. */
export async function sealKeysFor(purpose: SealPurpose): Promise<Buffer[]> {
  const dir = directory();
  const secrets = dir === undefined ? [] : await secretsIn(dir);
  return secrets.flatMap(({ kind, secret }) => {
    if (kind === 'master key') return [sealKey(Buffer.from(secret), purpose)];
    return kind === 'seal key' ? [Buffer.from(secret)] : [];
  });
}

/**
 * Ends a run. Returns a summary of the search. Throws when a secret was found: the error names kind and place, not the
 * value.
 */
export async function endSearch(): Promise<string> {
  const dir = directory();
  if (dir === undefined) return '';
  try {
    const { places, summary } = await searchIn(dir);
    if (places.length > 0) throw new Error(`Secrets came out:\n${places.join('\n')}`);
    return summary;
  } finally {
    delete process.env['TEST_CANARY_DIR'];
    await guard?.stop('SIGKILL', 0);
  }
}

/** Searches the output of one run. `finds` names kind and place; `places` adds the text before each find. */
export async function searchIn(dir: string): Promise<{ finds: string[]; places: string[]; summary: string }> {
  const canary = new Canary();
  const counts = new Map<string, number>();
  for (const { kind, secret } of await secretsIn(dir)) {
    canary.watch(kind, secret);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const finds = new Map<string, string>();
  let chars = 0;
  for (const file of await filesOf(dir, SAID)) {
    let text = '';
    const where = file
      .slice(SAID.length)
      .replace(/\.\d+$/, '')
      .replaceAll('-', ' ');
    for await (const chunk of createReadStream(join(dir, file), { encoding: 'latin1', highWaterMark: 1 << 20 })) {
      text = text.slice(-OVERLAP_CHARS) + String(chunk);
      chars += String(chunk).length;
      for (const [kind, before] of canary.placesIn(text)) {
        const find = `${kind} in the ${where}`;
        if (!finds.has(find)) finds.set(find, before);
      }
    }
  }
  const sought = [...counts].sort().map(([kind, count]) => `${count.toString()} ${kind}s`);
  const summary = `canary: ${sought.join(', ') || 'no secrets'} looked for in ${Math.ceil(chars / 1000).toString()} kB`;
  const sorted = [...finds].sort();
  const places = sorted.map(([find, before]) => `${find}, after ${JSON.stringify(before)}`);
  return { finds: sorted.map(([find]) => find), places, summary };
}

async function filesOf(dir: string, beginning: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => name.startsWith(beginning)).sort();
}

async function secretsIn(dir: string): Promise<{ kind: Kind; secret: string | Buffer }[]> {
  const texts = await Promise.all((await filesOf(dir, SECRETS)).map((file) => readFile(join(dir, file), 'utf8')));
  // Skips a last line that another process is still writing; the next call reads it.
  const lines = texts.flatMap((text) => text.slice(0, text.lastIndexOf('\n') + 1).split('\n')).filter(Boolean);
  return [...new Set(lines)].map((line) => {
    const [kind, type, base64] = JSON.parse(line) as [Kind, string, string];
    const bytes = Buffer.from(base64, 'base64');
    return { kind, secret: type === 'string' ? bytes.toString() : bytes };
  });
}
