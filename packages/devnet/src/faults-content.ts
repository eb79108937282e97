// Falsified answers: garbage instead of JSON, and JSON that contradicts the chain. Changes answers only, never the
// chain.
import { createHash } from 'node:crypto';
import type { Block } from './block.js';
import type { Response } from './http.js';
import { printAddress } from './reads.js';
import {
  type Fields,
  hidden,
  idOf,
  object,
  objects,
  shortBlock,
  withLog,
  without,
  withOtherLogs,
  withoutInternal,
} from './faults-receipts.js';
import { type Json, type JsonNode, printJson, readJson } from './json.js';

/** Ways in which an answer's content can be wrong. */
export const WRONGS = [
  'empty',
  'other-id',
  'other-block',
  'failed',
  'stripped',
  'tampered',
  'time-ahead',
  'time-behind',
  'without-parameter',
  'short',
  'no-internal',
  'extra-log',
  'other-log',
  'replace',
] as const;
export type Wrong = (typeof WRONGS)[number];

/** Returns status 200 with garbage; `pick` selects the variant. */
export function garbageOf(real: Response, pick: number): Response {
  const bodies = [
    real.body.slice(0, Math.floor(real.body.length / 2)),
    '<html><body>upstream</body></html>',
    '',
    '[]',
    'null',
    '{"a":'.repeat(200),
    '\u0000\ufffd\u0001',
    '"SUCCESS"',
  ];
  return { status: 200, body: bodies[pick % bodies.length] ?? '' };
}

/** Parses an answer as an object or a list of objects. Returns undefined if it is neither, empty, or a refusal. */
function contentOf(response: Response): Fields | readonly Fields[] | undefined {
  if (response.status !== 200) return undefined;
  const plain = plainOf(readJson(response.body));
  const list = objects(plain);
  if (list !== undefined) return list.length === 0 ? undefined : list;
  const fields = object(plain) ?? {};
  return 'Error' in fields || Object.keys(fields).length === 0 ? undefined : fields;
}

const isList = (content: Fields | readonly Fields[] | undefined): content is readonly Fields[] =>
  Array.isArray(content);

function answerOf(content: Json): Response {
  return { status: 200, body: printJson(content) };
}

/** Converts a parsed value for printing; integers stay exact. */
export function plainOf(node: JsonNode): Json {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries([...node.fields].map(([name, value]) => [name, plainOf(value)]));
    case 'array':
      return node.items.map(plainOf);
    case 'string':
      return node.value;
    case 'number':
      return /^-?[0-9]+$/.test(node.raw) ? BigInt(node.raw) : Number(node.raw);
    case 'true':
    case 'false':
      return node.kind === 'true';
    case 'null':
      return null;
  }
}

const integer = (value: Json | undefined): bigint | undefined => (typeof value === 'bigint' ? value : undefined);

/** Derives another id from an id. A block's id keeps the prefix with its number. */
function otherId(id: string, isBlock: boolean): string {
  const other = createHash('sha256').update(`other ${id}`).digest('hex');
  return isBlock ? id.slice(0, 16) + other.slice(16) : other;
}

/** Flips a bit in the middle of a hex string. */
function flipped(hex: string): string {
  const at = Math.floor(hex.length / 2);
  return hex.slice(0, at) + (Number.parseInt(hex[at] ?? '0', 16) ^ 1).toString(16) + hex.slice(at + 1);
}

/** Parameters of a falsification: replacement members, time offset, affected transaction. */
interface Measure {
  readonly replace: Fields;
  readonly ms: number;
  readonly txId?: string | undefined;
}

/** Returns the answer falsified by `wrong`; undefined if that is not applicable. */
export function wronged(real: Response, wrong: Wrong, by: Measure): Response | undefined {
  const content = contentOf(real);
  if (content === undefined) return undefined;
  const changed = isList(content) ? wrongedList(content, wrong, by) : wrongedOne(content, wrong, by);
  return changed === undefined ? undefined : answerOf(changed);
}

function wrongedOne(fields: Fields, wrong: Wrong, by: Measure): Fields | undefined {
  const isMeant = by.txId === undefined || fields['block_header'] !== undefined || idOf(fields) === by.txId;
  return isMeant ? WRONG_WAYS[wrong](fields, by) : undefined;
}

/** Falsifies a block's receipts: empty list, one missing, or the affected ones falsified individually. */
function wrongedList(list: readonly Fields[], wrong: Wrong, by: Measure): readonly Fields[] | undefined {
  if (wrong === 'empty') return [];
  if (wrong === 'short') return without(list, by.txId);
  let count = 0;
  const changed = list.map((each) => {
    const other = wrongedOne(each, wrong, by);
    if (other !== undefined) count += 1;
    return other ?? each;
  });
  return count === 0 ? undefined : changed;
}

/** Returns the answer of a node that does not know one transaction; undefined if the answer does not concern it. */
export function withoutTransaction(real: Response, txId: string | undefined): Response | undefined {
  const content = contentOf(real);
  const changed = content === undefined ? undefined : hidden(content, txId);
  return changed === undefined ? undefined : answerOf(changed);
}

const WRONG_WAYS: Record<Wrong, (fields: Fields, by: Measure) => Fields | undefined> = {
  empty: () => ({}),
  'other-id': (fields) => {
    for (const name of ['blockID', 'txID', 'id', 'txid']) {
      const id = fields[name];
      if (typeof id === 'string') return { ...fields, [name]: otherId(id, name === 'blockID') };
    }
    return undefined;
  },
  'other-block': (fields) => {
    const number = integer(fields['blockNumber']);
    return number === undefined || number < 2n ? undefined : { ...fields, blockNumber: number - 1n };
  },
  failed: (fields) => {
    const receipt = object(fields['receipt']);
    if (receipt !== undefined)
      return { ...fields, result: 'FAILED', receipt: { ...receipt, result: 'OUT_OF_ENERGY' }, resMessage: '' };
    if (Array.isArray(fields['ret'])) return { ...fields, ret: [{ contractRet: 'REVERT' }] };
    return overTransactions(fields, (tx) => ({ ...tx, ret: [{ contractRet: 'OUT_OF_ENERGY' }] }));
  },
  stripped: (fields) => {
    const { transactions, ...rest } = fields;
    return Array.isArray(transactions) ? rest : undefined;
  },
  tampered: (fields) => {
    const tamper = (tx: Fields): Fields =>
      typeof tx['raw_data_hex'] === 'string' ? { ...tx, raw_data_hex: flipped(tx['raw_data_hex']) } : tx;
    return 'raw_data_hex' in fields ? tamper(fields) : overTransactions(fields, tamper);
  },
  'time-ahead': (fields, { ms }) => atAnotherTime(fields, BigInt(ms)),
  'time-behind': (fields, { ms }) => atAnotherTime(fields, -BigInt(ms)),
  'without-parameter': (fields, { replace }) => {
    const parameters = objects(fields['chainParameter']);
    const left = parameters?.filter(({ key }) => key !== replace['key']);
    return left === undefined || left.length === parameters?.length ? undefined : { ...fields, chainParameter: left };
  },
  short: (fields, { txId }) => shortBlock(fields, txId),
  'no-internal': withoutInternal,
  'extra-log': (fields, { replace }) => withLog(fields, replace),
  'other-log': (fields, { replace }) => withOtherLogs(fields, replace),
  replace: (fields, { replace }) => ({ ...fields, ...replace }),
};

/** Shifts the time of a block or receipt; its id stays correct. */
function atAnotherTime(fields: Fields, byMs: bigint): Fields | undefined {
  const header = object(fields['block_header']);
  const raw = object(header?.['raw_data']);
  const time = integer(raw?.['timestamp']);
  if (time !== undefined) {
    return { ...fields, block_header: { ...header, raw_data: { ...raw, timestamp: time + byMs } } };
  }
  const included = integer(fields['blockTimeStamp']);
  return included === undefined ? undefined : { ...fields, blockTimeStamp: included + byMs };
}

function overTransactions(fields: Fields, change: (tx: Fields) => Fields): Fields | undefined {
  const transactions = objects(fields['transactions']);
  return transactions === undefined || transactions.length === 0
    ? undefined
    : { ...fields, transactions: transactions.map(change) };
}

/**
 * Returns the answer of a node on another fork above block `base`. The fork's blocks have the same numbers and times,
 * other ids and no transactions. Returns undefined if the answer concerns no such block. `twin` returns the fork's
 * block of a number.
 */
export function onAnotherFork(
  real: Response,
  base: number,
  twin: (number: number) => Pick<Block, 'id' | 'parent' | 'txRoot' | 'witness'> | undefined,
): Response | undefined {
  const fields = contentOf(real);
  if (fields === undefined || isList(fields)) return undefined;
  const included = integer(fields['blockNumber']);
  if (included !== undefined) return included > BigInt(base) ? answerOf({}) : undefined;
  const header = object(fields['block_header']);
  const raw = object(header?.['raw_data']);
  const number = integer(raw?.['number']);
  if (header === undefined || raw === undefined || number === undefined || number <= BigInt(base)) return undefined;
  const other = twin(Number(number));
  if (other === undefined) return undefined;
  const { transactions: _none, ...rest } = fields;
  // The id is the hash of this header.
  const shown = raw['witness_address'];
  const witness = printAddress(other.witness, typeof shown === 'string' && shown.startsWith('T'));
  const ownRaw = { ...raw, parentHash: other.parent, txTrieRoot: other.txRoot, witness_address: witness };
  return answerOf({ ...rest, blockID: other.id, block_header: { ...header, raw_data: ownRaw } });
}
