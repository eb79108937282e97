/** Signed bytes of TRX transfers and contract calls. Wallets make these; the service itself never does. */
import { createHash } from 'node:crypto';
import type { BlockHead } from '../../../src/platform/chain/block.js';
import { signWithKey } from '../../../src/platform/chain/keys.js';

const FEE_LIMIT_SUN = 100_000_000n;
/** Source: Tron.proto, Transaction.Contract.ContractType. */
const TYPES = { TransferContract: 1n, TriggerSmartContract: 31n } as const;

type Payment =
  | { readonly from: Buffer; readonly to: Buffer; readonly amount: bigint }
  | { readonly from: Buffer; readonly contract: Buffer; readonly data: string };

export interface PaymentTerms {
  readonly reference: BlockHead;
  readonly timestampMs: number;
  readonly expiresAtMs: number;
}

/** Builds and signs a payment. The same arguments yield the same bytes. */
export function signedPayment(
  payment: Payment,
  { reference, timestampMs, expiresAtMs }: PaymentTerms,
  privateKey: Buffer,
): { readonly txid: string; readonly rawData: Buffer; readonly signature: Buffer } {
  const [name, parameter] =
    'to' in payment
      ? (['TransferContract', [field(1, payment.from), field(2, payment.to), field(3, payment.amount)]] as const)
      : ([
          'TriggerSmartContract',
          [field(1, payment.from), field(2, payment.contract), field(4, Buffer.from(payment.data, 'hex'))],
        ] as const);
  const any = [field(1, Buffer.from(`type.googleapis.com/protocol.${name}`)), field(2, Buffer.concat(parameter))];
  const contract = [field(1, TYPES[name]), field(2, Buffer.concat(any))];
  const id = Buffer.from(reference.id, 'hex');
  const rawData = Buffer.concat([
    field(1, Buffer.from([(reference.number >>> 8) & 0xff, reference.number & 0xff])),
    field(4, id.subarray(8, 16)),
    field(8, BigInt(expiresAtMs)),
    field(11, Buffer.concat(contract)),
    field(14, BigInt(timestampMs)),
    ...(name === 'TriggerSmartContract' ? [field(18, FEE_LIMIT_SUN)] : []),
  ]);
  const txid = createHash('sha256').update(rawData).digest('hex');
  return { txid, rawData, signature: signWithKey(rawData, privateKey) };
}

/** Encodes one field of a protobuf message. */
function field(number: number, value: bigint | Buffer): Buffer {
  const tag = BigInt(number) << 3n;
  return typeof value === 'bigint'
    ? Buffer.concat([varint(tag), varint(value)])
    : Buffer.concat([varint(tag | 2n), varint(BigInt(value.length)), value]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}
