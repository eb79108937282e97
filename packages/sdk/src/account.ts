// Read-only calls on the project's account: credits, deposits, ledger, statements and refused requests.
import { hasMember } from './answers.js';
import type { CallOptions } from './deadline.js';
import { numberText } from './json-body.js';
import { Listing, type PageSize } from './listing.js';
import type { Balance, Deposit, DepositAddress, LedgerEntry, RefusedRequest, Statement } from './model.js';
import type { Transport } from './transport.js';

export class Account {
  constructor(private readonly transport: Transport) {}

  /** Returns the balance in credits (10 000 000 are one dollar), and in dollars with two decimals. */
  async balance(options?: CallOptions): Promise<Balance> {
    return this.read('/v1/balance', 'credits_balance', options);
  }

  /** Returns the project's deposit address and the assets it accepts. Throws ApiError TOPUP_NOT_CONFIGURED (501). */
  async depositAddress(options?: CallOptions): Promise<DepositAddress> {
    return this.read('/v1/deposits/address', 'address', options);
  }

  /** Lists the deposits, newest first. */
  deposits(
    query: PageSize & { readonly status?: Deposit['status'] | undefined } = {},
    options?: CallOptions,
  ): Listing<Deposit> {
    return new Listing(this.transport, '/v1/deposits', { ...query }, options);
  }

  /**
   * Lists every movement of the balance, newest first. `from` is inclusive and `to` exclusive; both are UTC days or
   * times ending in Z.
   */
  ledger(
    query: PageSize & { readonly from?: string | undefined; readonly to?: string | undefined } = {},
    options?: CallOptions,
  ): Listing<LedgerEntry> {
    return new Listing(this.transport, '/v1/ledger', { ...query }, options);
  }

  /** Lists the monthly statements, newest first. */
  statements(query: PageSize = {}, options?: CallOptions): Listing<Statement> {
    return new Listing(this.transport, '/v1/statements', { ...query }, options);
  }

  /** Returns one statement. Throws ApiError NOT_FOUND (404). */
  async statement(number: number, options?: CallOptions): Promise<Statement> {
    return this.read(`/v1/statements/${numberText('number', number)}`, 'number', options);
  }

  /** Returns the entries of a statement as CSV (RFC 4180, UTF-8) with a header row. Throws ApiError NOT_FOUND (404). */
  async statementLines(number: number, options?: CallOptions): Promise<string> {
    const path = `/v1/statements/${numberText('number', number)}/lines.csv`;
    return (await this.transport.send<string>({ method: 'GET', path, kind: 'read', textType: 'text/csv' }, options))
      .body;
  }

  /** Lists the requests that were refused in the last seven days, with the reason, newest first. */
  refusedRequests(query: PageSize = {}, options?: CallOptions): Listing<RefusedRequest> {
    return new Listing(this.transport, '/v1/requests', { ...query }, options);
  }

  private async read<T>(path: string, member: string, options?: CallOptions): Promise<T> {
    const call = { method: 'GET', path, kind: 'read', isAnswer: hasMember(member) } as const;
    return (await this.transport.send<T>(call, options)).body;
  }
}
