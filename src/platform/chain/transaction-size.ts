/** The bandwidth of a contract call that its sender will sign and send, counted as the chain does. Pure. */

/** The parts of a call that decide its length. */
export interface CallSize {
  readonly dataBytes: number;
  /** Sun sent with the call. */
  readonly callValueSun: bigint;
  readonly feeLimitSun: bigint;
}

const ADDRESS_BYTES = 21;
const SIGNATURE_BYTES = 65;
const TYPE_URL = 'type.googleapis.com/protocol.TriggerSmartContract';
/** Fields of fixed length: ref_block_bytes, ref_block_hash; expiration and timestamp, in milliseconds until 2109. */
const REFERENCE_BYTES = 4 + 10;
const TIME_BYTES = 7;
/** The contract's type, 31. */
const TYPE_BYTES = 2;
/** java-tron, BandwidthProcessor: space for the result, added to each contract (Constant.MAX_RESULT_SIZE_IN_TX). */
const RESULT_BYTES = 64;

/**
 * Returns the bandwidth of a TriggerSmartContract transaction with one signature, without memo and permission id: its
 * serialised length and the space for its result.
 */
export function bandwidthOfCall({ dataBytes, callValueSun, feeLimitSun }: CallSize): number {
  const call =
    2 * bytesField(ADDRESS_BYTES) + numberField(callValueSun, 1) + (dataBytes > 0 ? bytesField(dataBytes) : 0);
  const parameter = bytesField(TYPE_URL.length) + bytesField(call);
  const contract = TYPE_BYTES + bytesField(parameter);
  const rawData = REFERENCE_BYTES + 2 * TIME_BYTES + bytesField(contract) + numberField(feeLimitSun, 2);
  return bytesField(rawData) + bytesField(SIGNATURE_BYTES) + RESULT_BYTES;
}

/** Protobuf: one byte of field number and type, the length, and the content. */
const bytesField = (length: number): number => 1 + varintBytes(BigInt(length)) + length;

/** Protobuf: a zero is left out. Field numbers from 16 on take two bytes. */
const numberField = (value: bigint, tagBytes: 1 | 2): number => (value === 0n ? 0 : tagBytes + varintBytes(value));

/** Protobuf: seven bits a byte. */
const varintBytes = (value: bigint): number => Math.max(1, Math.ceil(value.toString(2).length / 7));
