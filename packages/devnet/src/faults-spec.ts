// A fault as it is asked for: which calls, how it goes wrong, how often. Reads and checks; does nothing.
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
  /** 0 or 1; every node when absent. */
  readonly node: number | undefined;
  readonly port: 'full' | 'solid' | undefined;
  /** e.g. wallet/getaccount, or a beginning with `*` at its end; every path when absent. */
  readonly path: string | undefined;
  /** Only questions for blocks with their transactions, or only others; `getblock` is asked for both. */
  readonly detail: boolean | undefined;
  /** Fires so many times at most. */
  readonly times: number | undefined;
  /** The first so many calls that are meant go well. */
  readonly skip: number;
  /** The chance that a call which is meant goes wrong. */
  readonly rate: number;
  readonly seed: string;
  /** How long an answer is held back, or how far its time is off. */
  readonly ms: number;
  readonly status: number;
  /** A refusal's code; one chosen by chance when absent. */
  readonly code: Refusal | undefined;
  /** Depth of a fork, or how far behind. */
  readonly blocks: number;
  /** Whether a fork loses its transactions. */
  readonly drop: boolean;
  readonly wrong: Wrong;
  /** The one transaction that goes wrong, or is hidden; any one, or a block's last, when absent. */
  readonly txId: string | undefined;
  /** What a slow link carries in a second, and how large it finds every block's answer to be, in bytes. */
  readonly bytesPerSec: number;
  readonly blockBytes: number;
  /** The members that `wrong: replace` puts into an answer, `other-log` into its logs; the log that `extra-log` adds; the `key` of the parameter that `without-parameter` leaves out. */
  readonly replace: Readonly<Record<string, Json>>;
}

const MS_MAX = 600_000;
const COUNT_MAX = 1_000_000_000;
const BLOCKS_MAX = 10_000;
const BYTES_MAX = 64 * 1024 * 1024;
const BYTES_PER_SEC = 500_000;
/** Long enough for any client to give up. */
const HOLD_MS = 60_000;
const SLOW_MS = 2_000;
/** How far a wrong time is off. */
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

/** Broadcasts reach the mempool whatever a node's heads are, so they are never answered from another head. */
export function isHeldBack(path: string): boolean {
  return path.startsWith('wallet/broadcast');
}

const PATH = /^wallet(?:solidity)?\/[a-z0-9]+\*?$|^[a-z/]*\*$/;

/** Reads a fault. Throws RangeError that names the member. */
export function readFault(json: JsonNode, nodes: number): FaultSpec {
  if (json.kind !== 'object') throw new RangeError('a fault is a JSON object');
  for (const name of json.fields.keys()) if (!MEMBERS.has(name)) throw new RangeError(`${name} is no part of a fault`);
  const kind = oneOf(json, 'kind', FAULT_KINDS);
  if (kind === undefined) throw new RangeError(`kind must be one of ${FAULT_KINDS.join(', ')}`);
  const replace = member(json, 'replace');
  if (replace !== undefined && replace.kind !== 'object') throw new RangeError('replace must be an object');
  const path = textOf(member(json, 'path'))?.replace(/^\/+/, '').toLowerCase();
  // One that no node serves would make a fault that never fires.
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

/** Numbers from 0 to below 1, the same ones for the same seed. */
export function seededRandom(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  return () => {
    // mulberry32: short, and good enough to choose calls with.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
