// Hostile texts and bytes for fuzzing readers.
import fc from 'fast-check';

/** Random cases per property: PROPERTY_RUNS, by default few enough for every run of the unit tests. */
export const RUNS = Number.parseInt(process.env['PROPERTY_RUNS'] ?? '2000', 10);

const piece = fc.oneof(
  fc.constantFrom(
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '\n',
    '\r',
    '\t',
    '\0',
    '\u001f',
    '\u2028',
    '\u007f',
    '\ud800',
  ),
  fc.constantFrom(':1234567890123456,', '":1234567890123456,"', '\\u0022', '__proto__', '1e999', '-', '0x', 'é', '🚀'),
  fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String),
  fc.string({ unit: 'binary', maxLength: 4 }),
);

/** Text of up to six pieces that are special in JSON and in our patterns. */
export const hostileText = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));

/** Writes protobuf bytes, with non-canonical number encodings where a test wants them. */
export const wire = {
  varint(value: bigint): Buffer {
    const bytes: number[] = [];
    let left = value;
    do {
      bytes.push(Number(left & 0x7fn) | (left > 0x7fn ? 0x80 : 0));
      left >>= 7n;
    } while (left > 0n);
    return Buffer.from(bytes);
  },
  tag: (number: number, type: number, added = 0n): Buffer => wire.varint(BigInt(number * 8 + type) + added),
  bytes: (number: number, content: Uint8Array, added = 0n, longer = 0n): Buffer =>
    Buffer.concat([wire.tag(number, 2, added), wire.varint(BigInt(content.length) + longer), content]),
  number: (number: number, value: bigint, added = 0n): Buffer =>
    Buffer.concat([wire.tag(number, 0, added), wire.varint(BigInt.asUintN(64, value))]),
  group: (number: number, ...content: Uint8Array[]): Buffer =>
    Buffer.concat([wire.tag(number, 3), ...content, wire.tag(number, 4)]),
};

/** Ways to write the owner of a contract a second time. Only a reader that differs from the chain's misses them. */
export const SECOND_OWNERS: readonly (readonly [string, (owner: Uint8Array) => Buffer])[] = [
  ...[32n, 35n, 63n, 68n].map(
    (bits) => [`a tag + 2^${bits.toString()}`, (owner: Uint8Array) => wire.bytes(1, owner, 1n << bits)] as const,
  ),
  ...[1, 100].map(
    (number) =>
      [
        `a group ${number.toString()} before it`,
        (owner: Uint8Array) => Buffer.concat([wire.group(number, wire.number(1, 5n)), wire.bytes(1, owner)]),
      ] as const,
  ),
  ['a length + 2^32', (owner) => wire.bytes(1, owner, 0n, 1n << 32n)],
  ['a fixed number before it', (owner) => Buffer.concat([wire.tag(9, 1), Buffer.alloc(8), wire.bytes(1, owner)])],
];

/** Returns raw_data with one contract, as field 11. */
export function rawDataOf(type: number, url: string | Uint8Array, value: Uint8Array, ...rest: Uint8Array[]): Buffer {
  const any = Buffer.concat([wire.bytes(1, Buffer.from(url as Uint8Array)), wire.bytes(2, value)]);
  const contract = Buffer.concat([type === 0 ? Buffer.alloc(0) : wire.number(1, BigInt(type)), wire.bytes(2, any)]);
  return Buffer.concat([...rest, wire.bytes(11, contract)]);
}
