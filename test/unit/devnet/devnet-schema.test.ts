// The devnet's protobuf codec against tronweb's encoder, and against itself.
import fc from 'fast-check';
import { utils } from 'tronweb';
import { readJson } from '../../../packages/devnet/src/json.js';
import { mergeJson, printMessage } from '../../../packages/devnet/src/json-format.js';
import { type Message, type Value, decode, encode, fieldsOf } from '../../../packages/devnet/src/schema.js';
import { buildTx } from '../../../packages/devnet/src/transactions.js';

const OWNER = '41' + '0a'.repeat(20);
const OTHER = '41' + 'f7'.repeat(20);
const STAMP = {
  ref_block_bytes: '00ff',
  ref_block_hash: 'ab'.repeat(8),
  expiration: 1_795_171_467_000n,
  timestamp: 1_795_171_407_529n,
};
const KEYS = [{ address: OTHER, weight: 3n }];
const BODIES: Readonly<Record<string, Message>> = {
  TransferContract: { owner_address: OWNER, to_address: OTHER, amount: 9_007_199_254_740_991n },
  AccountCreateContract: { owner_address: OWNER, account_address: OTHER },
  FreezeBalanceV2Contract: { owner_address: OWNER, frozen_balance: 1_000_000n, resource: 1 },
  UnfreezeBalanceV2Contract: { owner_address: OWNER, unfreeze_balance: 127n, resource: 0 },
  WithdrawExpireUnfreezeContract: { owner_address: OWNER },
  CancelAllUnfreezeV2Contract: { owner_address: OWNER },
  DelegateResourceContract: {
    owner_address: OWNER,
    resource: 1,
    balance: 128n,
    receiver_address: OTHER,
    lock: true,
    lock_period: 86_400n,
  },
  UnDelegateResourceContract: { owner_address: OWNER, resource: 1, balance: 16_384n, receiver_address: OTHER },
  TriggerSmartContract: { owner_address: OWNER, contract_address: OTHER, call_value: 5n, data: 'a9059cbb' },
  AccountPermissionUpdateContract: {
    owner_address: OWNER,
    owner: { permission_name: 'owner', threshold: 1n, keys: [{ address: OWNER, weight: 1n }] },
    actives: [{ type: 2, permission_name: 'x', threshold: 2n, operations: '02'.padEnd(64, '0'), keys: KEYS }],
  },
};

/** Returns the JSON that a client holds, with numbers where the node prints bare ones. */
function clientJson(type: string, body: Message): Record<string, unknown> {
  const text = JSON.stringify(printMessage(type, body, false), (_k, v: unknown) =>
    typeof v === 'bigint' ? Number(v) : v,
  );
  return JSON.parse(text) as Record<string, unknown>;
}

test.each(Object.entries(BODIES))('encodes %s to the bytes and the id of tronweb', (type, body) => {
  const tx = buildTx(type, body, 2, { ...STAMP, data: 'cafe', fee_limit: 100_000_000n });
  const value = clientJson(type, body);
  const raw_data = {
    ...STAMP,
    expiration: Number(STAMP.expiration),
    timestamp: Number(STAMP.timestamp),
    data: 'cafe',
    fee_limit: 100_000_000,
    contract: [{ type, Permission_id: 2, parameter: { type_url: `type.googleapis.com/protocol.${type}`, value } }],
  };
  const theirs = utils.transaction.txJsonToPb({ visible: false, txID: '', raw_data_hex: '', raw_data });
  expect(tx.raw.toString('hex')).toBe(utils.transaction.txPbToRawDataHex(theirs).toLowerCase());
  expect(tx.id).toBe(utils.transaction.txPbToTxID(theirs).replace(/^0x/, ''));
});

function valueOf(kind: string, of: string, depth: number): fc.Arbitrary<Value> {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((b) => Buffer.from(b).toString('hex'));
  switch (kind) {
    case 'bytes':
      return bytes;
    case 'string':
      return fc.string({ minLength: 1 });
    case 'int64':
      return fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }).filter((n) => n !== 0n);
    case 'int32':
      return fc.integer().filter((n) => n !== 0);
    case 'enum':
      return fc.constant(1);
    case 'bool':
      return fc.constant(true);
    default:
      return messageOf(of, depth - 1);
  }
}

function messageOf(type: string, depth: number): fc.Arbitrary<Message> {
  const fields: Record<string, fc.Arbitrary<Value>> = {};
  for (const field of fieldsOf(type)) {
    if (field.kind === 'message' && depth === 0) continue;
    const one = valueOf(field.kind, field.of, depth);
    fields[field.name] = field.repeated ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
  }
  return fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Message>;
}

test.each(['AccountPermissionUpdateContract', 'CreateSmartContract', 'DelegateResourceContract', 'BlockHeader', 'raw'])(
  'every %s survives the wire format and JSON',
  (type) => {
    fc.assert(
      fc.property(messageOf(type, 3), (message) => {
        const bytes = encode(type, message);
        expect(encode(type, decode(type, bytes))).toEqual(bytes);
        const text = JSON.stringify(printMessage(type, message, false), (_k, v: unknown) =>
          typeof v === 'bigint' ? { toJSON: undefined, bare: v.toString() } : v,
        ).replace(/\{"bare":"(-?\d+)"\}/g, '$1');
        expect(encode(type, mergeJson(type, readJson(text), text, false))).toEqual(bytes);
      }),
      { numRuns: 60 },
    );
  },
);

test('rejects truncated bytes instead of misreading them', () => {
  const bytes = encode('TransferContract', BODIES['TransferContract'] ?? {});
  expect(() => decode('TransferContract', bytes.subarray(0, bytes.length - 30))).toThrow(/truncated/);
  expect(() => decode('TransferContract', Buffer.from('00', 'hex'))).toThrow(/invalid tag/);
});
