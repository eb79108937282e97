// Protobuf messages of TRON transactions and block headers by field number, with encoding and decoding. Inside the
// devnet bytes are hex strings, 64-bit integers bigints, enums and 32-bit integers numbers.

export type FieldKind = 'bytes' | 'int64' | 'int32' | 'bool' | 'string' | 'enum' | 'message';
export interface Field {
  readonly number: number;
  readonly name: string;
  readonly kind: FieldKind;
  readonly repeated: boolean;
  /** Message or enum type. */
  readonly of: string;
  /** Output form of bytes in a visible answer: base58check, plain text, or hex. */
  readonly look: 'address' | 'text' | 'hex';
}
export type Value = string | number | bigint | boolean | Message | readonly Value[];
export interface Message {
  readonly [name: string]: Value;
}

/**
 * Notation: `number name kind`. Kind is bytes, address, text, int64, int32, bool, string, an @Enum or a Message; *
 * means repeated.
 */
const SPELLED: Readonly<Record<string, string>> = {
  AccountCreateContract: '1 owner_address address, 2 account_address address, 3 type @AccountType',
  TransferContract: '1 owner_address address, 2 to_address address, 3 amount int64',
  TransferAssetContract: '1 asset_name text, 2 owner_address address, 3 to_address address, 4 amount int64',
  AccountPermissionUpdateContract:
    '1 owner_address address, 2 owner Permission, 3 witness Permission, 4 actives *Permission',
  Permission:
    '1 type @PermissionType, 2 id int32, 3 permission_name string, 4 threshold int64, 5 parent_id int32, 6 operations bytes, 7 keys *Key',
  Key: '1 address address, 2 weight int64',
  FreezeBalanceV2Contract: '1 owner_address address, 2 frozen_balance int64, 3 resource @ResourceCode',
  UnfreezeBalanceV2Contract: '1 owner_address address, 2 unfreeze_balance int64, 3 resource @ResourceCode',
  WithdrawExpireUnfreezeContract: '1 owner_address address',
  CancelAllUnfreezeV2Contract: '1 owner_address address',
  DelegateResourceContract:
    '1 owner_address address, 2 resource @ResourceCode, 3 balance int64, 4 receiver_address address, 5 lock bool, 6 lock_period int64',
  UnDelegateResourceContract:
    '1 owner_address address, 2 resource @ResourceCode, 3 balance int64, 4 receiver_address address',
  TriggerSmartContract:
    '1 owner_address address, 2 contract_address address, 3 call_value int64, 4 data bytes, 5 call_token_value int64, 6 token_id int64',
  CreateSmartContract:
    '1 owner_address address, 2 new_contract SmartContract, 3 call_token_value int64, 4 token_id int64',
  SmartContract:
    '1 origin_address address, 2 contract_address address, 3 abi ABI, 4 bytecode bytes, 5 call_value int64, 6 consume_user_resource_percent int64, 7 name string, 8 origin_energy_limit int64, 9 code_hash bytes, 10 trx_hash bytes, 11 version int32',
  ABI: '1 entrys *Entry',
  Entry:
    '1 anonymous bool, 2 constant bool, 3 name string, 4 inputs *Param, 5 outputs *Param, 6 type @EntryType, 7 payable bool, 8 stateMutability @StateMutabilityType',
  Param: '1 indexed bool, 2 name string, 3 type string',
  UpdateSettingContract: '1 owner_address address, 2 contract_address address, 3 consume_user_resource_percent int64',
  UpdateEnergyLimitContract: '1 owner_address address, 2 contract_address address, 3 origin_energy_limit int64',
  VoteWitnessContract: '1 owner_address address, 2 votes *Vote, 3 support bool',
  Vote: '1 vote_address address, 2 vote_count int64',
  WithdrawBalanceContract: '1 owner_address address',
  UpdateBrokerageContract: '1 owner_address address, 2 brokerage int32',
  // Requests of the read endpoints.
  AccountRequest: '3 address address',
  BytesMessage: '1 value bytes',
  NumberMessage: '1 num int64',
  BlockLimit: '1 startNum int64, 2 endNum int64',
  DelegatedResourceMessage: '1 fromAddress address, 2 toAddress address',
  CanDelegatedMaxSizeRequestMessage: '1 type int32, 2 owner_address address',
  CanWithdrawUnfreezeAmountRequestMessage: '1 owner_address address, 2 timestamp int64',
  GetAvailableUnfreezeCountRequestMessage: '1 owner_address address',
  Any: '1 type_url string, 2 value bytes',
  Contract: '1 type @ContractType, 2 parameter Any, 3 provider bytes, 4 ContractName bytes, 5 Permission_id int32',
  raw: '1 ref_block_bytes bytes, 3 ref_block_num int64, 4 ref_block_hash bytes, 8 expiration int64, 10 data bytes, 11 contract *Contract, 12 scripts bytes, 14 timestamp int64, 18 fee_limit int64',
  Transaction: '1 raw_data bytes, 2 signature *bytes',
  BlockHeader:
    '1 timestamp int64, 2 txTrieRoot bytes, 3 parentHash bytes, 7 number int64, 8 witness_id int64, 9 witness_address bytes, 10 version int32',
};

/** Contract types that the devnet executes, with java-tron's numbers (the bits of a permission's operations). */
export const CONTRACT_TYPES: Readonly<Record<string, number>> = {
  AccountCreateContract: 0,
  TransferContract: 1,
  TransferAssetContract: 2,
  VoteWitnessContract: 4,
  WithdrawBalanceContract: 13,
  CreateSmartContract: 30,
  TriggerSmartContract: 31,
  UpdateSettingContract: 33,
  UpdateEnergyLimitContract: 45,
  AccountPermissionUpdateContract: 46,
  UpdateBrokerageContract: 49,
  FreezeBalanceV2Contract: 54,
  UnfreezeBalanceV2Contract: 55,
  WithdrawExpireUnfreezeContract: 56,
  DelegateResourceContract: 57,
  UnDelegateResourceContract: 58,
  CancelAllUnfreezeV2Contract: 59,
};

function contractTypeNames(): (string | undefined)[] {
  const names: (string | undefined)[] = [];
  for (const [name, number] of Object.entries(CONTRACT_TYPES)) names[number] = name;
  return names;
}

/** Enum values by number, with java-tron's full enum name. */
const ENUMS: Readonly<Record<string, { readonly full: string; readonly names: readonly (string | undefined)[] }>> = {
  ResourceCode: { full: 'protocol.ResourceCode', names: ['BANDWIDTH', 'ENERGY', 'TRON_POWER'] },
  AccountType: { full: 'protocol.AccountType', names: ['Normal', 'AssetIssue', 'Contract'] },
  PermissionType: { full: 'protocol.Permission.PermissionType', names: ['Owner', 'Witness', 'Active'] },
  EntryType: {
    full: 'protocol.SmartContract.ABI.Entry.EntryType',
    names: ['UnknownEntryType', 'Constructor', 'Function', 'Event', 'Fallback', 'Receive', 'Error'],
  },
  StateMutabilityType: {
    full: 'protocol.SmartContract.ABI.Entry.StateMutabilityType',
    names: ['UnknownMutabilityType', 'Pure', 'View', 'Nonpayable', 'Payable'],
  },
  ContractType: { full: 'protocol.Transaction.Contract.ContractType', names: contractTypeNames() },
};

const SCHEMAS = new Map(Object.entries(SPELLED).map(([name, text]) => [name, text.split(', ').map(spell)]));
const BY_NAME = new Map([...SCHEMAS].map(([name, fields]) => [name, new Map(fields.map((f) => [f.name, f]))]));
const BY_NUMBER = new Map([...SCHEMAS].map(([name, fields]) => [name, new Map(fields.map((f) => [f.number, f]))]));

function spell(text: string): Field {
  const [number = '', name = '', rawKind = ''] = text.split(' ');
  const repeated = rawKind.startsWith('*');
  const word = repeated ? rawKind.slice(1) : rawKind;
  const base = { number: Number.parseInt(number, 10), name, repeated, of: '', look: 'hex' as const };
  if (word === 'address' || word === 'text') return { ...base, kind: 'bytes', look: word };
  if (word.startsWith('@')) return { ...base, kind: 'enum', of: word.slice(1) };
  if (word === 'bytes' || word === 'int64' || word === 'int32' || word === 'bool' || word === 'string')
    return { ...base, kind: word };
  return { ...base, kind: 'message', of: word };
}

/** Returns the fields of a message by number. Throws for an unknown message. */
export function fieldsOf(type: string): readonly Field[] {
  const fields = SCHEMAS.get(type);
  if (fields === undefined) throw new Error(`unknown message ${type}`);
  return fields;
}

export function fieldNamed(type: string, name: string): Field | undefined {
  return BY_NAME.get(type)?.get(name);
}

export function enumName(type: string, value: number): string | undefined {
  return ENUMS[type]?.names[value];
}

export function enumValue(type: string, name: string): number | undefined {
  const at = ENUMS[type]?.names.indexOf(name) ?? -1;
  return at < 0 ? undefined : at;
}

export function enumFullName(type: string): string {
  return ENUMS[type]?.full ?? type;
}

/** Returns true for a proto3 default, which both the wire format and the node's JSON omit. */
export function isDefault(value: Value | undefined): boolean {
  return (
    value === undefined ||
    value === '' ||
    value === 0 ||
    value === 0n ||
    value === false ||
    (Array.isArray(value) && value.length === 0)
  );
}

class Writer {
  private bytes = Buffer.allocUnsafe(256);
  private length = 0;

  private room(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + more));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  varint(value: number | bigint): void {
    this.room(10);
    if (typeof value === 'number' && value >= 0 && value < 0x80) {
      this.bytes[this.length++] = value;
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 0xffffffn) {
      this.bytes[this.length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    let small = Number(rest);
    while (small > 0x7f) {
      this.bytes[this.length++] = (small & 0x7f) | 0x80;
      small >>>= 7;
    }
    this.bytes[this.length++] = small;
  }

  hex(hex: string): void {
    this.room(hex.length / 2);
    this.length += this.bytes.write(hex, this.length, 'hex');
  }

  block(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.room(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  done(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}

function writeField(out: Writer, field: Field, value: Value): void {
  switch (field.kind) {
    case 'bytes': {
      const hex = value as string;
      out.varint((field.number << 3) | 2);
      out.varint(hex.length / 2);
      out.hex(hex);
      return;
    }
    case 'string':
      out.varint((field.number << 3) | 2);
      out.block(Buffer.from(value as string, 'utf8'));
      return;
    case 'message':
      out.varint((field.number << 3) | 2);
      out.block(encode(field.of, value as Message));
      return;
    case 'bool':
      out.varint(field.number << 3);
      out.varint(value === true ? 1 : 0);
      return;
    case 'int64':
    case 'int32':
    case 'enum':
      out.varint(field.number << 3);
      out.varint(value as number | bigint);
  }
}

/** Encodes a message exactly as java-tron and tronweb do: fields by number, defaults omitted. */
export function encode(type: string, message: Message): Buffer {
  const out = new Writer();
  for (const field of fieldsOf(type)) {
    const value = message[field.name];
    if (value === undefined) continue;
    if (field.repeated) for (const item of value as readonly Value[]) writeField(out, field, item);
    else if (!isDefault(value)) writeField(out, field, value);
  }
  return out.done();
}

/** Bytes that are no such message, in the protobuf library's wording. */
export class ProtobufError extends Error {}

const TRUNCATED =
  'While parsing a protocol message, the input ended unexpectedly in the middle of a field.  This could mean either that the input has been truncated or that an embedded message misreported its own length.';

const NEGATIVE = 'CodedInputStream encountered an embedded string or message which claimed to have negative size.';
const TOO_DEEP =
  'Protocol message had too many levels of nesting.  May be malicious.  Use setRecursionLimit() to increase the recursion depth limit.';
const DEPTH_MAX = 100;

class Source {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  get ended(): boolean {
    return this.at >= this.bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new ProtobufError(TRUNCATED);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError('CodedInputStream encountered a malformed varint.');
  }

  /** TRON: tags and lengths are varints truncated to 32 bits. */
  tag(): number {
    const tag = Number(BigInt.asUintN(32, this.varint()));
    if (tag >>> 3 === 0) throw new ProtobufError('Protocol message contained an invalid tag (zero).');
    return tag;
  }

  block(): Uint8Array {
    const length = Number(BigInt.asIntN(32, this.varint()));
    if (length < 0) throw new ProtobufError(NEGATIVE);
    if (this.at + length > this.bytes.length) throw new ProtobufError(TRUNCATED);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  skip(tag: number, depth = 0): void {
    const wire = tag & 7;
    if (wire === 0) this.varint();
    else if (wire === 2) this.block();
    else if (wire === 5 || wire === 1) {
      this.at += wire === 5 ? 4 : 8;
      if (this.at > this.bytes.length) throw new ProtobufError(TRUNCATED);
    } else if (wire === 3) this.skipGroup(tag >>> 3, depth);
    else if (wire === 4) throw new ProtobufError('Protocol message end-group tag did not match expected tag.');
    else throw new ProtobufError('Protocol message tag had invalid wire type.');
  }

  private skipGroup(number: number, depth: number): void {
    if (depth >= DEPTH_MAX) throw new ProtobufError(TOO_DEEP);
    for (;;) {
      if (this.ended) throw new ProtobufError(TRUNCATED);
      const tag = this.tag();
      if (tag === ((number << 3) | 4) >>> 0) return;
      this.skip(tag, depth + 1);
    }
  }
}

const WIRES: Readonly<Record<FieldKind, number>> = {
  bytes: 2,
  string: 2,
  message: 2,
  bool: 0,
  int64: 0,
  int32: 0,
  enum: 0,
};
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new ProtobufError('Protocol message had invalid UTF-8.');
  }
}

function readValue(field: Field, source: Source): Value {
  switch (field.kind) {
    case 'bytes':
      return Buffer.from(source.block()).toString('hex');
    case 'string':
      return readText(source.block());
    case 'message':
      return decode(field.of, source.block());
    case 'bool':
      return source.varint() !== 0n;
    case 'int64':
      return BigInt.asIntN(64, source.varint());
    case 'int32':
    case 'enum':
      return Number(BigInt.asIntN(32, source.varint()));
  }
}

/**
 * Decodes a message like java-tron's protobuf library: skips unknown fields and wrong wire types. The last value of a
 * single field wins, and single messages are merged. Throws ProtobufError.
 */
export function decode(type: string, bytes: Uint8Array): Message {
  const fields = BY_NUMBER.get(type);
  if (fields === undefined) throw new Error(`unknown message ${type}`);
  const source = new Source(bytes);
  const message: Record<string, Value> = {};
  const merged = new Map<string, Uint8Array[]>();
  while (!source.ended) {
    const tag = source.tag();
    const field = fields.get(tag >>> 3);
    if (field === undefined || (tag & 7) !== WIRES[field.kind]) {
      source.skip(tag);
      continue;
    }
    if (field.kind === 'message' && !field.repeated) {
      const part = source.block();
      // Each part must be a valid message; together they form one.
      message[field.name] = decode(field.of, part);
      const parts = merged.get(field.name) ?? [];
      parts.push(part);
      merged.set(field.name, parts);
      continue;
    }
    const value = readValue(field, source);
    if (field.repeated) message[field.name] = [...((message[field.name] as readonly Value[] | undefined) ?? []), value];
    else message[field.name] = value;
  }
  for (const [name, parts] of merged) {
    const field = fieldNamed(type, name);
    if (parts.length > 1 && field !== undefined) message[name] = decode(field.of, Buffer.concat(parts));
  }
  return message;
}
