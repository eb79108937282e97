// java-tron's JsonFormat: parses JSON into messages, with java-tron's error messages, and prints messages as JSON.
import { Base58Error, base58OfHex, hexOfBase58 } from './address.js';
import { NodeError, nullPointer, parseError } from './errors.js';
import { type Json, type JsonNode, member, textOf } from './json.js';
import {
  type Field,
  type Message,
  type Value,
  enumFullName,
  enumName,
  enumValue,
  fieldNamed,
  fieldsOf,
  isDefault,
} from './schema.js';

/** Returns `line:column` of a node, as java-tron's tokenizer counts. */
function place(text: string, at: number): string {
  const before = text.lastIndexOf('\n', at - 1);
  const line = before < 0 ? 1 : text.slice(0, at).split('\n').length;
  return `${String(line)}:${String(at - before)}`;
}

/** Parses hex like java-tron's ByteArray.fromHexString: accepts 0x and an odd length; returns null if it is not hex. */
export function looseHex(text: string): string | null {
  const bare = text.startsWith('0x') || text.startsWith('0X') ? text.slice(2) : text;
  const even = bare.length % 2 === 0 ? bare : `0${bare}`;
  // Copies through bytes: a slice would keep the request's whole body alive.
  return /^[0-9a-fA-F]*$/.test(even) ? Buffer.from(even, 'hex').toString('hex') : null;
}

class Merger {
  constructor(
    private readonly text: string,
    private readonly visible: boolean,
  ) {}

  message(type: string, node: JsonNode): Message {
    if (node.kind !== 'object') throw this.fail(node, 'Expected "{".');
    const message: Record<string, Value> = {};
    for (const [name, inner] of node.fields) {
      const field = fieldNamed(type, name);
      if (field === undefined || inner.kind === 'null') continue;
      if (!field.repeated) message[name] = this.value(field, inner);
      else {
        const items = inner.kind === 'array' ? inner.items : [inner];
        message[name] = items.map((item) => this.value(field, item));
      }
    }
    return message;
  }

  private fail(node: JsonNode, reason: string): Error {
    return parseError(`${place(this.text, node.at)}: ${reason}`);
  }

  private value(field: Field, node: JsonNode): Value {
    switch (field.kind) {
      case 'bytes':
        if (node.kind !== 'string') throw this.fail(node, 'Expected string.');
        return this.bytes(field, node, node.value);
      case 'string':
        if (node.kind !== 'string') throw this.fail(node, 'Expected string.');
        return node.value;
      case 'bool':
        if (node.kind !== 'true' && node.kind !== 'false') throw this.fail(node, 'Expected "true" or "false".');
        return node.kind === 'true';
      case 'int64':
        return this.integer(node, 64);
      case 'int32':
        return Number(this.integer(node, 32));
      case 'enum':
        return this.enumeration(field, node);
      case 'message':
        return this.message(field.of, node);
    }
  }

  private integer(node: JsonNode, bits: 32 | 64): bigint {
    if (!/^-?[0-9]+$/.test(node.raw)) throw this.fail(node, `Couldn't parse integer: For input string: "${node.raw}"`);
    const value = BigInt(node.raw);
    if (BigInt.asIntN(bits, value) !== value)
      throw this.fail(
        node,
        `Couldn't parse integer: Number out of range for ${String(bits)}-bit signed integer: ${node.raw}`,
      );
    return value;
  }

  private bytes(field: Field, node: JsonNode, text: string): string {
    if (this.visible && field.look === 'address') {
      try {
        const hex = text === '' ? null : hexOfBase58(text);
        if (hex === null) throw nullPointer('Cannot read the array length because "<parameter1>" is null');
        return hex;
      } catch (error) {
        if (error instanceof Base58Error) throw this.fail(node, `INVALID base58 String, ${error.message}`);
        throw error;
      }
    }
    if (this.visible && field.look === 'text') return Buffer.from(text, 'utf8').toString('hex');
    const hex = looseHex(text);
    if (hex === null) throw this.fail(node, 'INVALID hex String');
    return hex;
  }

  private enumeration(field: Field, node: JsonNode): number {
    if (node.kind === 'number') {
      const value = Number(this.integer(node, 32));
      if (enumName(field.of, value) === undefined)
        throw this.fail(node, `Enum type "${enumFullName(field.of)}" has no value with number ${node.raw}.`);
      return value;
    }
    if (node.kind !== 'string') throw this.fail(node, `Expected identifier. -${node.raw}`);
    // TRON: the first letter of an all-lower-case name is capitalised before the look-up, and the error shows that
    // form.
    const name = /^[a-z]+$/.test(node.value) ? node.value.charAt(0).toUpperCase() + node.value.slice(1) : node.value;
    const value = enumValue(field.of, name);
    if (value === undefined)
      throw this.fail(node, `Enum type "${enumFullName(field.of)}" has no value named "${name}".`);
    return value;
  }
}

/** Parses a message from JSON. `text` is the whole body, for positions. Throws NodeError. */
export function mergeJson(type: string, node: JsonNode, text: string, visible: boolean): Message {
  return new Merger(text, visible).message(type, node);
}

function printValue(field: Field, value: Value, visible: boolean): Json {
  switch (field.kind) {
    case 'message':
      return printMessage(field.of, value as Message, visible);
    case 'enum':
      return enumName(field.of, value as number) ?? value;
    case 'bytes':
      if (!visible) return value;
      if (field.look === 'address') return base58OfHex(value as string);
      return field.look === 'text' ? Buffer.from(value as string, 'hex').toString('utf8') : value;
    case 'int64':
    case 'int32':
    case 'bool':
    case 'string':
      return value;
  }
}

/** Prints a message: fields by number, defaults omitted. */
export function printMessage(type: string, message: Message, visible: boolean): Json {
  const out: Record<string, Json> = {};
  for (const field of fieldsOf(type)) {
    const value = message[field.name];
    if (value === undefined || isDefault(value)) continue;
    out[field.name] = field.repeated
      ? (value as readonly Value[]).map((item) => printValue(field, item, visible))
      : printValue(field, value, visible);
  }
  return out;
}

/**
 * Parses an address in a request that the node reads by hand: base58 if visible, otherwise hex. Returns undefined for a
 * wrong checksum. Throws the node's error for characters outside both alphabets.
 */
export function looseAddress(node: JsonNode, name: string, visible: boolean): string | undefined {
  const given = textOf(member(node, name));
  if (given === undefined || given === '') return undefined;
  if (visible) {
    try {
      return hexOfBase58(given) ?? undefined;
    } catch (error) {
      if (error instanceof Base58Error) throw new NodeError('java.lang.IllegalArgumentException', error.message);
      throw error;
    }
  }
  const hex = looseHex(given);
  if (hex === null) throw notHex();
  return hex;
}

/** Returns BouncyCastle's error for text that is not hex. */
export function notHex(): NodeError {
  return new NodeError(
    'org.bouncycastle.util.encoders.DecoderException',
    'exception decoding Hex string: invalid characters encountered in Hex string',
  );
}
