/**
 * Builds unsigned transfers of TRX and of a TRC20 token, for an operator who signs them elsewhere. Built locally from
 * known parts, never by a node, and parsed back from their bytes as the chain reads them.
 */
import { utils } from 'tronweb';
import { invariant } from '../../domain/errors.js';
import { addressToHex } from './address.js';
import { txidOf, type BlockHead } from './block.js';
import { addressIn, contractIn, type ContractShape } from './contract-bytes.js';

export interface TransferToBuild {
  readonly from: string;
  readonly to: string;
  /** In the smallest unit. */
  readonly amount: bigint;
  /** Absent for TRX. */
  readonly token?: { readonly contract: string; readonly feeLimitSun: number };
}

export interface TransferTerms {
  /** A solid block. The transaction is valid only on a chain that has it. */
  readonly reference: BlockHead;
  readonly timestampMs: number;
  readonly expiresAtMs: number;
}

/** The form that signing tools take: bytes, id, and the content as JSON. */
export interface UnsignedTransfer {
  readonly txid: string;
  readonly rawDataHex: string;
  readonly transaction: object;
}

/** TRON (Tron.proto): contract types. */
const TRANSFER_TYPE = 1;
const CALL_TYPE = 31;
/** The first four bytes of keccak256 of transfer(address,uint256). */
const TRANSFER_SELECTOR = 'a9059cbb';
const TYPE_URL = 'type.googleapis.com/protocol.';

const SHAPES: Readonly<Record<number, ContractShape>> = {
  [TRANSFER_TYPE]: { name: 'protocol.TransferContract', fields: { 1: 'bytes', 2: 'bytes', 3: 'varint' } },
  [CALL_TYPE]: {
    name: 'protocol.TriggerSmartContract',
    fields: { 1: 'bytes', 2: 'bytes', 3: 'varint', 4: 'bytes', 5: 'varint' },
  },
};

/** The used part of the protobuf Transaction that tronweb's encoder returns. */
interface Encodable {
  getRawData(): { serializeBinary(): Uint8Array };
}

export function buildTransfer(transfer: TransferToBuild, terms: TransferTerms): UnsignedTransfer {
  const { type, value, feeLimit } = contractOf(transfer);
  const rawData = {
    contract: [{ type, parameter: { value, type_url: TYPE_URL + type } }],
    ref_block_bytes: (terms.reference.number & 0xffff).toString(16).padStart(4, '0'),
    ref_block_hash: terms.reference.id.slice(16, 32),
    expiration: terms.expiresAtMs,
    timestamp: terms.timestampMs,
    ...feeLimit,
  };
  const encodable = utils.transaction.txJsonToPb({ visible: false, raw_data: rawData }) as Encodable;
  const bytes = Buffer.from(encodable.getRawData().serializeBinary());
  assertSays(bytes, transfer);
  const rawDataHex = bytes.toString('hex');
  const txid = txidOf(bytes);
  return {
    txid,
    rawDataHex,
    transaction: { visible: false, txID: txid, raw_data: rawData, raw_data_hex: rawDataHex },
  };
}

function contractOf({ from, to, amount, token }: TransferToBuild): {
  readonly type: 'TransferContract' | 'TriggerSmartContract';
  readonly value: object;
  readonly feeLimit?: { readonly fee_limit: number };
} {
  invariant(from !== to && amount > 0n, 'something goes somewhere');
  if (token === undefined) {
    const sun = Number(amount);
    invariant(Number.isSafeInteger(sun), 'an amount of TRX fits a JSON integer');
    return {
      type: 'TransferContract',
      value: { owner_address: addressToHex(from), to_address: addressToHex(to), amount: sun },
    };
  }
  return {
    type: 'TriggerSmartContract',
    value: {
      owner_address: addressToHex(from),
      contract_address: addressToHex(token.contract),
      data: callOf(to, amount),
    },
    feeLimit: { fee_limit: token.feeLimitSun },
  };
}

const callOf = (to: string, amount: bigint): string =>
  TRANSFER_SELECTOR + addressToHex(to).slice(2).padStart(64, '0') + amount.toString(16).padStart(64, '0');

/** Throws unless the bytes encode exactly the requested transfer. */
function assertSays(bytes: Uint8Array, { from, to, amount, token }: TransferToBuild): void {
  const contract = contractIn(bytes, SHAPES);
  invariant(contract?.type === (token === undefined ? TRANSFER_TYPE : CALL_TYPE), 'built as asked');
  const { message } = contract;
  invariant(addressIn(message.bytes(1)) === from, 'built as asked');
  if (token === undefined) {
    invariant(addressIn(message.bytes(2)) === to && message.int64(3) === amount, 'built as asked');
    return;
  }
  const data = Buffer.from(message.bytes(4)).toString('hex');
  invariant(addressIn(message.bytes(2)) === token.contract && data === callOf(to, amount), 'built as asked');
  invariant(message.int64(3) === 0n && message.int64(5) === 0n, 'built as asked');
}
