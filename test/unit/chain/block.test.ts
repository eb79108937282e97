// A block's id binds its time and parent, regardless of the other fields a node prints; and blocks by their lists.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasSucceeded, listedBlock, readHeader } from '../../../src/platform/chain/block.js';
import { NodeError } from '../../../src/platform/chain/errors.js';
import type { JsonObject } from '../../../src/platform/chain/json.js';

const RECORDED = fileURLToPath(new URL('../../tron-node/recorded.json', import.meta.url));

interface RecordedBlock extends JsonObject {
  readonly blockID: string;
  readonly block_header: { readonly raw_data: Readonly<Record<string, string | number>> };
}

/** Returns every block that the recorded java-tron printed. */
function blocksIn(value: unknown): RecordedBlock[] {
  if (value === null || typeof value !== 'object') return [];
  const isBlock = 'blockID' in value && 'block_header' in value;
  return [...(isBlock ? [value as RecordedBlock] : []), ...Object.values(value).flatMap(blocksIn)];
}

const blocks = blocksIn(JSON.parse(readFileSync(RECORDED, 'utf8')));
const changed = (block: RecordedBlock, by: Record<string, string | number>): JsonObject => ({
  ...block,
  block_header: { ...block.block_header, raw_data: { ...block.block_header.raw_data, ...by } },
});

it('reads a block of a real node', () => {
  expect(blocks.length).toBeGreaterThan(0);
  for (const block of blocks) expect(readHeader('node', block).id).toBe(block.blockID);
});

it.each([
  ['time', { timestamp: 1 }],
  ['parent', { parentHash: 'ab'.repeat(32) }],
  ['version', { version: 1 }],
])('rejects a block with a %s that its id does not match', (_what, by) => {
  for (const block of blocks) expect(() => readHeader('node', changed(block, by))).toThrow(NodeError);
});

it('does not check the id of a header with an unknown field', () => {
  for (const block of blocks) {
    const odd = changed(block, { timestamp: 1, something_new: 5 });
    expect(readHeader('node', odd).timestampMs).toBe(1);
  }
});

describe('a list of the transactions of a block', () => {
  const [block] = blocks;
  const header = readHeader('node', block!);
  const entry = (more: JsonObject = {}): JsonObject => ({ id: 'ab'.repeat(32), blockNumber: header.number, ...more });
  const listed = (...infos: readonly unknown[]) => listedBlock('node', { ...header, isEmpty: undefined }, infos);

  it.each([
    ['of another block', entry({ blockNumber: header.number + 1 })],
    ['without the number of its block', entry({ blockNumber: undefined })],
    ['without an id', entry({ id: undefined })],
    ['that is no object', 'ab'],
  ])('is refused with an entry %s', (_what, wrong) => {
    expect(() => listed(entry(), wrong)).toThrow(NodeError);
    expect(listed(entry()).transactions).toHaveLength(1);
  });

  it('tells failed transactions from those that succeeded', () => {
    const infos: readonly (readonly [boolean, JsonObject])[] = [
      [true, {}],
      [true, { receipt: { result: 'SUCCESS' } }],
      [false, { result: 'FAILED' }],
      [false, { result: 'FAILED', receipt: { result: 'SUCCESS' } }],
      [false, { receipt: { result: 'OUT_OF_ENERGY' } }],
    ];
    expect(infos.map(([, info]) => hasSucceeded(info))).toEqual(infos.map(([isSuccess]) => isSuccess));
    expect(listed(entry({ result: 'FAILED' }))).toMatchObject({ transactions: [{ succeeded: false }], unknown: [] });
  });
});
