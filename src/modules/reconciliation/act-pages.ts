/** The position of an act in the order in which acts are read. */
export interface ActPosition {
  readonly block_number: bigint;
  readonly txid: Buffer;
}

const START: ActPosition = { block_number: -1n, txid: Buffer.alloc(0) };

/** SQL: acts of `o` after block $1 and transaction $2. */
export const IS_NEXT_ACT = '(o.block_number, o.txid) > ($1, $2)';

/**
 * Reads open acts page by page, and from the beginning again after the last page: acts that stay open for ever must not
 * hide later ones.
 */
export class ActPages<Row extends ActPosition> {
  private last: ActPosition = START;

  /** `read` returns at most `size` acts after a position, in order. */
  constructor(
    private readonly size: number,
    private readonly read: (after: readonly [bigint, Buffer]) => Promise<readonly Row[]>,
  ) {}

  async next(): Promise<readonly Row[]> {
    const rows = await this.read([this.last.block_number, this.last.txid]);
    this.last = (rows.length < this.size ? undefined : rows.at(-1)) ?? START;
    return rows;
  }
}
