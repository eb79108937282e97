// Parsing and validation of a fault rule: affected calls, kind of fault, frequency.
import { createHash } from 'node:crypto';
import { REFUSAL_CODES, type Refusal } from './faults-broadcast.js';
import { WRONGS, plainOf, type Wrong } from './faults-content.js';
import { type Json, type JsonNode, flagOf, integerOf, member, textOf } from './json.js';

export const FAULT_KINDS = [
  'drop-before',
  'cut-after',
  'timeout-before',
  'timeout-after',
  'error-before',
  'error-after',
  'throttled',
  'garbage',
  'slow',
  'refuse',
  'lie-refused',
  'lie-accepted',
  'accept-then-drop',
  'behind',
  'head-stuck',
  'solid-stuck',
  'own-fork',
  'fork',
  'wrong',
  'ahead',
  'slow-link',
  'hide',
  'stale',
  'other-receipts',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface FaultSpec {
  readonly kind: FaultKind;
  /** 0 or 1; every node if absent. */
  readonly node: number | undefined;
  readonly port: 'full' | 'solid' | undefined;
  /** For example wallet/getaccount, or a prefix with a trailing `*`; every path if absent. */
  readonly path: string | undefined;
  /** Only requests for blocks with transactions, or only other ones; `getblock` serves both. */
  readonly detail: boolean | undefined;
  /** Maximum number of firings. */
  readonly times: number | undefined;
  /** Number of matching calls to pass before the first firing. */
  readonly skip: number;
  /** Probability that a matching call fails. */
  readonly rate: number;
  readonly seed: string;
  /** Delay of an answer, or offset of its time. */
  readonly ms: number;
  readonly status: number;
  /** Code of a refusal; random if absent. */
  readonly code: Refusal | undefined;
  /** Depth of a fork, or lag in blocks. */
  readonly blocks: number;
  /** True if the fork loses its transactions. */
  readonly drop: boolean;
  readonly wrong: Wrong;
  /** The affected transaction; if absent any one, or a block's last. */
  readonly txId: string | undefined;
  /** Throughput of a slow link per second, and the size to which every block's answer is padded, in bytes. */
  readonly bytesPerSec: number;
  readonly blockBytes: number;
  /**
   * Members that `wrong: replace` sets in an answer and `other-log` in its logs; the log that `extra-log` adds; the
   * `key` of the parameter that `without-parameter` omits.
   */
  readonly replace: Readonly<Record<string, Json>>;
}

const MS_MAX = 600_000;
const COUNT_MAX = 1_000_000_000;
const BLOCKS_MAX = 10_000;
const BYTES_MAX = 64 * 1024 * 1024;
const BYTES_PER_SEC = 500_000;
/** Longer than any client waits. */
const HOLD_MS = 60_000;
const SLOW_MS = 2_000;
/** Default offset of a wrong time. */
const TIME_OFF_MS = 600_000;
const DEFAULT_MS: Partial<Record<FaultKind, number>> = {
  'timeout-before': HOLD_MS,
  'timeout-after': HOLD_MS,
  slow: SLOW_MS,
  wrong: TIME_OFF_MS,
};
const MEMBERS = new Set([
  ...['kind', 'node', 'port', 'path', 'times', 'skip', 'rate', 'seed', 'ms', 'status', 'code', 'blocks', 'drop'],
  'detail',
  ...['wrong', 'replace', 'txId', 'bytesPerSec', 'blockBytes'],
]);

/**
 * Returns true for broadcasts. They reach the mempool independent of a node's heads, so a shifted head never answers
 * them.
 */
export function isHeldBack(path: string): boolean {
  return path.startsWith('wallet/broadcast');
}

const PATH = /^wallet(?:solidity)?\/[a-z0-9]+\*?$|^[a-z/]*\*$/;

/** Parses a fault. Throws RangeError that names the invalid member. */
export function readFault(json: JsonNode, nodes: number): FaultSpec {
  if (json.kind !== 'object') throw new RangeError('a fault is a JSON object');
  for (const name of json.fields.keys()) if (!MEMBERS.has(name)) throw new RangeError(`${name} is no part of a fault`);
  const kind = oneOf(json, 'kind', FAULT_KINDS);
  if (kind === undefined) throw new RangeError(`kind must be one of ${FAULT_KINDS.join(', ')}`);
  const replace = member(json, 'replace');
  if (replace !== undefined && replace.kind !== 'object') throw new RangeError('replace must be an object');
  const path = textOf(member(json, 'path'))?.replace(/^\/+/, '').toLowerCase();
  // A path that no node serves would make a fault that never fires.
  if (path !== undefined && !PATH.test(path)) throw new RangeError(`${path} is no path of a node`);
  return {
    kind,
    node: whole(json, 'node', nodes - 1),
    port: oneOf(json, 'port', ['full', 'solid']),
    path,
    detail: member(json, 'detail') === undefined ? undefined : flagOf(member(json, 'detail')),
    times: whole(json, 'times', COUNT_MAX),
    skip: whole(json, 'skip', COUNT_MAX) ?? 0,
    rate: rateOf(json),
    seed: textOf(member(json, 'seed')) ?? 'devnet',
    ms: whole(json, 'ms', MS_MAX) ?? DEFAULT_MS[kind] ?? 0,
    status: whole(json, 'status', 599) ?? 502,
    code: oneOf(json, 'code', REFUSAL_CODES),
    blocks: whole(json, 'blocks', BLOCKS_MAX) ?? 1,
    drop: flagOf(member(json, 'drop')),
    bytesPerSec: whole(json, 'bytesPerSec', BYTES_MAX) ?? BYTES_PER_SEC,
    blockBytes: whole(json, 'blockBytes', BYTES_MAX) ?? 0,
    wrong: oneOf(json, 'wrong', WRONGS) ?? (replace === undefined ? 'empty' : 'replace'),
    txId: txIdOf(json),
    replace: replace === undefined ? {} : (plainOf(replace) as Record<string, Json>),
  };
}

function oneOf<T extends string>(json: JsonNode, name: string, known: readonly T[]): T | undefined {
  const given = textOf(member(json, name));
  if (given === undefined) return undefined;
  const found = known.find((one) => one === given);
  if (found === undefined) throw new RangeError(`${name} must be one of ${known.join(', ')}`);
  return found;
}

function whole(json: JsonNode, name: string, max: number): number | undefined {
  const node = member(json, name);
  if (node === undefined) return undefined;
  const value = integerOf(node) ?? -1n;
  if (value < 0n || value > BigInt(max)) throw new RangeError(`${name} must be from 0 to ${String(max)}`);
  return Number(value);
}

function txIdOf(json: JsonNode): string | undefined {
  const given = textOf(member(json, 'txId'));
  if (given !== undefined && !/^[0-9a-f]{64}$/.test(given)) throw new RangeError('txId must be 64 hex characters');
  return given;
}

function rateOf(json: JsonNode): number {
  const text = textOf(member(json, 'rate'));
  if (text === undefined) return 1;
  if (!/^(0|1|0\.[0-9]{1,9}|1\.0{1,9})$/.test(text)) throw new RangeError('rate must be a decimal from 0 to 1');
  return Number.parseFloat(text);
}

/** Returns a generator of numbers in [0, 1), deterministic by seed. */
export function seededRandom(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  return () => {
    // mulberry32: short, and random enough to select calls.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
