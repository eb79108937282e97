// `npm run fuzz -- --runs N [--seed S]`: checks every property N times and prints counts. Exit code 1 at the first
// failure, with the input that shows it.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Customer } from '../../support/api/client.js';
import { openPipeline } from '../../support/api/pipeline-fixture.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { startServices, stopServices } from '../../setup/services.js';
import { checkAddresses, checkHeaders, checkIntegers, checkParts } from './fields.js';
import { checkFrames } from './frames.js';
import { checkBytes, checkCanonicaliser, checkReader, type Counts } from './json.js';
import { checkSignatures } from './signatures.js';

const SERVER_LIMITS = { BAD_SIGNATURES_PER_MINUTE: '10000000', HEADERS_TIMEOUT_SEC: '2', REQUEST_TIMEOUT_SEC: '3' };

function wholeNumber(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error('--runs and --seed take a positive integer');
  return Number(text);
}

async function report(name: string, runs: number, check: () => Counts | Promise<Counts>): Promise<void> {
  const start = performance.now();
  const counts = await check();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const parts = Object.entries(counts).map(([what, count]) => `${what} ${count.toString()}`);
  console.log(`${name}: ${runs.toString()} runs clean in ${seconds} s; ${parts.join(', ')}`);
}

const HELP = `npm run fuzz -- [--runs N] [--seed S] [--only a,b]

  --runs N    so many inputs for each property (10000)
  --seed S    chooses them (any)
  --only a,b  these properties alone, by how their lines begin
`;

type Check = (runs: number, seed: number) => Counts | Promise<Counts>;

const PURE: Readonly<Record<string, Check>> = {
  canonicaliser: checkCanonicaliser,
  'strict reader against JSON.parse': checkReader,
  'strict reader on bytes': checkBytes,
  addresses: checkAddresses,
  integers: checkIntegers,
  'parts of an order': checkParts,
  headers: checkHeaders,
};
const OVER_HTTP: Readonly<Record<string, (customer: Customer, runs: number, seed: number) => Promise<Counts>>> = {
  'signatures by HMAC': checkSignatures,
  'raw HTTP frames': checkFrames,
};

export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const runs = wholeNumber(values.runs, 10_000);
  const seed = wholeNumber(values.seed, randomInt(1, 1_000_000));
  const only = values.only?.split(',') ?? [''];
  const chosen = <T>(checks: Readonly<Record<string, T>>) =>
    Object.entries(checks).filter(([name]) => only.some((start) => name.startsWith(start)));
  console.log(`seed ${seed.toString()}`);
  for (const [name, check] of chosen(PURE)) await report(name, runs, () => check(runs, seed));
  if (chosen(OVER_HTTP).length === 0) return;
  await startServices();
  try {
    const database = await createTestDatabase();
    const redis = await createTestRedis();
    const pipeline = await openPipeline(database.url, { ...SERVER_LIMITS, REDIS_URL: redis.url, LOG_LEVEL: 'silent' });
    try {
      const customer = await pipeline.customer('fuzz');
      for (const [name, check] of chosen(OVER_HTTP)) await report(name, runs, () => check(customer, runs, seed));
    } finally {
      await pipeline.close();
      await redis.close();
      await database.drop();
    }
  } finally {
    await stopServices();
  }
}
