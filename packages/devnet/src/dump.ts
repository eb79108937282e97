// Serialises and restores a whole chain: blocks, transactions, mempool, state and journal. A restored chain can fork
// and answer for past blocks like the original.
import type { Block } from './block.js';
import { Chain, type ChainOptions, type Included } from './chain.js';
import type { StoreImage } from './state.js';
import { type Packed, packTx, unpackTx } from './transactions.js';

const FORMAT = 2;

interface Image {
  readonly format: number;
  readonly seed: string;
  readonly startMs: number;
  readonly forks: number;
  readonly blocks: readonly Block[];
  readonly included: readonly (readonly [string, Included])[];
  readonly mempool: readonly Packed[];
  readonly store: StoreImage;
}

/** A dump that cannot be loaded; the message gives the reason. */
class DumpError extends Error {}

// JSON has no bigint, bytes or undefined: each becomes an object with one reserved member.
function pack(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key];
  if (typeof original === 'bigint') return { $n: original.toString() };
  if (original instanceof Uint8Array) return { $b: Buffer.from(original).toString('base64') };
  if (original === undefined && Array.isArray(this)) return { $u: 1 };
  return value;
}

function unpack(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const tagged = value as { readonly $n?: string; readonly $b?: string };
  if (typeof tagged.$n === 'string') return BigInt(tagged.$n);
  if (typeof tagged.$b === 'string') return Buffer.from(tagged.$b, 'base64');
  return value;
}

/** Returns undefined for its mark in a dump: a journal records it for an absent key, and JSON cannot hold it. */
function unmarked(value: unknown): unknown {
  return typeof value === 'object' && value !== null && '$u' in value ? undefined : value;
}

export function dumpChain(chain: Chain): string {
  const image: Image = {
    format: FORMAT,
    seed: chain.options.seed,
    startMs: chain.options.startMs,
    forks: chain.forks,
    blocks: chain.blocks,
    included: [...chain.included],
    mempool: [...chain.mempool.values()].map(packTx),
    store: chain.store.image(),
  };
  return JSON.stringify(image, pack);
}

/** Restores a chain from a dump. The dump's seed and start replace those of `options`. Throws DumpError. */
export function loadChain(text: string, options: ChainOptions): Chain {
  let image: Image;
  try {
    image = JSON.parse(text, unpack) as Image;
  } catch (error) {
    throw new DumpError(`state file: is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (image.format !== FORMAT)
    throw new DumpError(`state file: format ${String(image.format)} is not ${String(FORMAT)}`);
  const [genesis, ...later] = image.blocks;
  if (genesis === undefined) throw new DumpError('state file: holds no block');
  const chain = new Chain({ ...options, seed: image.seed, startMs: image.startMs }, genesis);
  chain.blocks.push(...later);
  chain.forks = image.forks;
  for (const [id, included] of image.included) chain.included.set(id, included);
  for (const packed of image.mempool) {
    const tx = unpackTx(packed);
    chain.mempool.set(tx.id, tx);
  }
  chain.store.load({
    values: image.store.values,
    layers: image.store.layers.map((l) => ({
      block: l.block,
      before: l.before.map(([k, v]) => [k, unmarked(v)] as const),
    })),
  });
  chain.adoptMaintenance();
  return chain;
}
