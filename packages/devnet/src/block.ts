// Blocks: header, id, witness signature and merkle root, deterministic in seed, parent and content.
import secp256k1 from 'secp256k1';
import { addressOfPublicKey, sha256 } from './address.js';
import type { Version } from './parameters.js';
import { type Message, encode } from './schema.js';

export interface Block {
  readonly number: number;
  readonly id: string;
  readonly parent: string;
  readonly timeMs: number;
  readonly txRoot: string;
  readonly witness: string;
  readonly signature: string;
  readonly txIds: readonly string[];
  /** The block version of the node that makes the chain's blocks. */
  readonly version: number;
}

/** TRON: Parameter.ForkBlockVersionEnum. */
const BLOCK_VERSIONS: Readonly<Record<Version, number>> = { '4.8.0': 32, '4.8.2': 36 };
const ZERO_HASH = '00'.repeat(32);
const WITNESSES = 27;

interface Witness {
  readonly key: Buffer;
  readonly address: string;
}
const witnesses = new Map<string, Witness>();

/** Returns the producer of a block: one of 27, by number. Each fork shifts their order. */
function witnessFor(seed: string, number: number, forks: number): Witness {
  return witnessOf(seed, (number + forks) % WITNESSES);
}

/** Returns the addresses of the 27 producers. */
export function producersOf(seed: string): readonly string[] {
  return Array.from({ length: WITNESSES }, (_, index) => witnessOf(seed, index).address);
}

function witnessOf(seed: string, index: number): Witness {
  const name = `${seed}:${String(index)}:0`;
  const known = witnesses.get(name);
  if (known !== undefined) return known;
  if (witnesses.size > 10_000) witnesses.clear();
  let key = sha256(Buffer.from(`devnet witness ${name}`));
  while (!secp256k1.privateKeyVerify(key)) key = sha256(key);
  const made = { key, address: addressOfPublicKey(secp256k1.publicKeyCreate(key, false)) };
  witnesses.set(name, made);
  return made;
}

function merkleRoot(ids: readonly string[]): string {
  if (ids.length === 0) return ZERO_HASH;
  let level: Buffer[] = ids.map((id) => Buffer.from(id, 'hex'));
  while (level.length > 1) {
    const next: Buffer[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const left = level[i];
      const right = level[i + 1];
      if (left === undefined) continue;
      next.push(right === undefined ? left : sha256(Buffer.concat([left, right])));
    }
    level = next;
  }
  return level[0]?.toString('hex') ?? ZERO_HASH;
}

function headerOf(block: Pick<Block, 'number' | 'parent' | 'timeMs' | 'txRoot' | 'witness' | 'version'>): Message {
  return {
    timestamp: BigInt(block.timeMs),
    txTrieRoot: block.txRoot,
    parentHash: block.parent,
    number: BigInt(block.number),
    witness_address: block.witness,
    version: block.version,
  };
}

function numbered(number: number, hash: Buffer): string {
  return number.toString(16).padStart(16, '0') + hash.subarray(8).toString('hex');
}

/** Returns block 0. `content` is any text that distinguishes chains: parameters, accounts. */
export function genesisBlock(seed: string, content: string, version: Version): Block {
  const parent = sha256(Buffer.from(`${seed}\n${content}`)).toString('hex');
  const blockVersion = BLOCK_VERSIONS[version];
  const base = { number: 0, parent, timeMs: 0, txRoot: ZERO_HASH, witness: '', txIds: [], version: blockVersion };
  const id = numbered(0, sha256(encode('BlockHeader', headerOf(base))));
  return { ...base, id, signature: '' };
}

export function makeBlock(seed: string, forks: number, parent: Block, timeMs: number, txIds: readonly string[]): Block {
  const number = parent.number + 1;
  const witness = witnessFor(seed, number, forks);
  const { version } = parent;
  const txRoot = merkleRoot(txIds);
  const base = { number, parent: parent.id, timeMs, txRoot, witness: witness.address, txIds, version };
  const hash = sha256(encode('BlockHeader', headerOf(base)));
  const { signature, recid } = secp256k1.ecdsaSign(hash, witness.key);
  const signed = Buffer.concat([signature, Buffer.from([recid])]).toString('hex');
  return { ...base, id: numbered(number, hash), signature: signed };
}

/**
 * Returns the block at the same height on another fork that continues from `parent`: another witness, no transactions.
 */
export function twinOf(block: Block, parent: string): Block {
  const witness = `41${sha256(Buffer.from(`another ${block.id}`))
    .toString('hex')
    .slice(24)}`;
  const twin = { ...block, parent, witness, txRoot: ZERO_HASH, txIds: [] };
  return { ...twin, id: numbered(block.number, sha256(encode('BlockHeader', headerOf(twin)))) };
}

/** Returns the witness of the next block after `parent`. */
export function nextWitness(seed: string, forks: number, parent: Block): string {
  return witnessFor(seed, parent.number + 1, forks).address;
}
