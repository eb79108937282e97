// What the project has, how it came to it, and what was refused to it. All of it is read alone.
import type { CallOptions } from './deadline.js';
import { numberText } from './json-body.js';
import { Listing, type PageSize } from './listing.js';
import type { Balance, Deposit, DepositAddress, LedgerEntry, RefusedRequest, Statement } from './model.js';
import type { Transport } from './transport.js';

export class Account {
  constructor(private readonly transport: Transport) {}

  /** Credits (10 000 000 are a dollar), and the same in dollars with two digits. */
  async balance(options?: CallOptions): Promise<Balance> {
    return this.read('/v1/balance', options);
  }

  /** Where to pay in, and what is accepted. Throws ApiError TOPUP_NOT_CONFIGURED (501). */
  async depositAddress(options?: CallOptions): Promise<DepositAddress> {
    return this.read('/v1/deposits/address', options);
  }

  /** What was paid in, newest first. */
  deposits(
    query: PageSize & { readonly status?: Deposit['status'] | undefined } = {},
    options?: CallOptions,
  ): Listing<Deposit> {
    return new Listing(this.transport, '/v1/deposits', { ...query }, options);
  }

  /** Every movement of the balance, newest first: from `from` on and before `to`, UTC days or times ending in Z. */
  ledger(
    query: PageSize & { readonly from?: string | undefined; readonly to?: string | undefined } = {},
    options?: CallOptions,
  ): Listing<LedgerEntry> {
    return new Listing(this.transport, '/v1/ledger', { ...query }, options);
  }

  /** Monthly statements, newest first. */
  statements(query: PageSize = {}, options?: CallOptions): Listing<Statement> {
    return new Listing(this.transport, '/v1/statements', { ...query }, options);
  }

  /** Throws ApiError NOT_FOUND (404). */
  async statement(number: number, options?: CallOptions): Promise<Statement> {
    return this.read(`/v1/statements/${numberText('number', number)}`, options);
  }

  /** The entries of a statement as CSV (RFC 4180, UTF-8) with a heading. Throws ApiError NOT_FOUND (404). */
  async statementLines(number: number, options?: CallOptions): Promise<string> {
    const path = `/v1/statements/${numberText('number', number)}/lines.csv`;
    return (await this.transport.send<string>({ method: 'GET', path, kind: 'read', isText: true }, options)).body;
  }

  /** What was refused with 400 or 401 in the last seven days and why, newest first. */
  refusedRequests(query: PageSize = {}, options?: CallOptions): Listing<RefusedRequest> {
    return new Listing(this.transport, '/v1/requests', { ...query }, options);
  }

  private async read<T>(path: string, options?: CallOptions): Promise<T> {
    return (await this.transport.send<T>({ method: 'GET', path, kind: 'read' }, options)).body;
  }
}
