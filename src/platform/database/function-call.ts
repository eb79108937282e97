import { invariant } from '../../domain/errors.js';
import type { Database, Statement } from './database.js';
import { withDeadline } from '../support/clock.js';

/** Longest wait for one statement, in ms. It exceeds the statement's own limits, in case the connection went silent. */
export const STATEMENT_LIMIT_MS = 13_000;

/** The value of each named argument of a database function. */
export type ArgumentsOf<Request> = Readonly<Record<string, (request: Request) => unknown>>;

/** Returns the arguments of a call, each by name with its parameter. */
export function argumentList<Request>(valueOf: ArgumentsOf<Request>): string {
  return Object.keys(valueOf)
    .map((argument, index) => `${argument} => $${(index + 1).toString()}`)
    .join(', ');
}

/** A prepared statement that calls a database function with named arguments and gets one row. */
export class FunctionCall<Request, Row extends object> {
  private readonly values: readonly ((request: Request) => unknown)[];

  constructor(
    private readonly statement: Statement & { readonly name: string },
    valueOf: ArgumentsOf<Request>,
  ) {
    this.values = Object.values(valueOf);
  }

  /** Runs the statement once. Throws the database's errors, and DeadlineError if no answer arrives in time. */
  async run(database: Database, request: Request): Promise<Row> {
    const params = this.values.map((valueOf) => valueOf(request));
    const answer = database.query<Row>(this.statement, params);
    const [row] = await withDeadline(answer, STATEMENT_LIMIT_MS, `the statement ${this.statement.name}`);
    invariant(row !== undefined, 'the function answers one row');
    return row;
  }
}
