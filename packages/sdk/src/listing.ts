// A list that the service returns page by page.
import { isList } from './answers.js';
import type { CallOptions } from './deadline.js';
import type { Transport } from './transport.js';

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly next_cursor?: string | undefined;
}

/** A list to read by `for await`, which loads pages as needed, or one page at a time. */
export class Listing<T> implements AsyncIterable<T> {
  constructor(
    private readonly transport: Transport,
    private readonly path: string,
    private readonly query: Readonly<Record<string, string | number | undefined>>,
    private readonly options: CallOptions | undefined,
  ) {}

  /** Returns the first page, or the page at `cursor` (a `next_cursor`). */
  async page(cursor?: string): Promise<Page<T>> {
    const query = { ...this.query, cursor };
    const call = { method: 'GET', path: this.path, query, kind: 'read', isAnswer: isList } as const;
    return (await this.transport.send<Page<T>>(call, this.options)).body;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.page(cursor);
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }
}

/** `limit`: entries of a page, 1 to 100. Default: 20. */
export interface PageSize {
  readonly limit?: number | undefined;
}
