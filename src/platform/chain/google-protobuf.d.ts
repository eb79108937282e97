/** The used part of google-protobuf, which ships no types. */
declare module 'google-protobuf' {
  export class BinaryReader {
    constructor(bytes: Uint8Array);
    /** Advances to the next field; false at the end. Throws on an invalid tag. */
    nextField(): boolean;
    getFieldNumber(): number;
    getWireType(): number;
    readBytes(): Uint8Array;
    readFixed32(): number;
    readUint64(): number;
    readUint64String(): string;
    skipField(): void;
  }
  const protobuf: { readonly BinaryReader: typeof BinaryReader };
  export default protobuf;
}
