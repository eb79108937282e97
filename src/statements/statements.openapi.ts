/** OpenAPI descriptions of the statement routes. */
import {
  always,
  answerSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
  type Parameter,
} from '../http/openapi/openapi.js';
import { headerSchema } from '../http/openapi/answer-headers.js';
import { ENTRY_KINDS, type EntryKind } from './entries.dto.js';
import { CSV_COLUMNS } from './statement-csv.js';
import { StatementListQuery, type StatementBody, type StatementPageBody } from './statements.dto.js';

const EXAMPLE: StatementBody = {
  number: 3,
  month: '2026-10',
  from: '2026-10-01T00:00:00.000Z',
  to: '2026-11-01T00:00:00.000Z',
  opening_credits: 120_000_000,
  closing_credits: 91_847_034,
  entries: 9,
  totals: {
    charge: -65_520_000,
    refund: 8_190_000,
    compensation: 0,
    deposit: 37_037_034,
    topup: 0,
    adjustment: -7_860_000,
  },
  closed_at: '2026-11-01T00:10:02.511Z',
};

const total = (kind: EntryKind, example: number) => always(integerSchema(`The sum of: ${ENTRY_KINDS[kind]}`, example));

const STATEMENT_ANSWER = answerSchema<StatementBody>({
  number: always(
    integerSchema('Which statement of the project it is: 1, 2, 3 and so on without gaps.', EXAMPLE.number),
  ),
  month: always(textSchema('Its calendar month in UTC.', EXAMPLE.month)),
  from: always(timeSchema('When the month begins.')),
  to: always(timeSchema('When the next one begins.')),
  opening_credits: always(
    integerSchema('The balance that the statement before closed with; 0 of the first.', 120_000_000),
  ),
  closing_credits: always(integerSchema('The opening balance and all its entries.', 91_847_034)),
  entries: always(integerSchema('How many entries it has.', 9)),
  totals: always(
    answerSchema<StatementBody['totals']>({
      charge: total('charge', -65_520_000),
      refund: total('refund', 8_190_000),
      compensation: total('compensation', 0),
      deposit: total('deposit', 37_037_034),
      topup: total('topup', 0),
      adjustment: total('adjustment', -7_860_000),
    }),
  ),
  closed_at: always(timeSchema('When it was closed.')),
});

const NUMBER: Parameter = {
  name: 'number',
  in: 'path',
  required: true,
  description: 'The number of the statement.',
  schema: { type: 'integer', minimum: 1, examples: [3] },
};

export function describeStatementList(): Operation {
  return {
    operationId: 'listStatements',
    tag: 'Accounts',
    summary: 'List monthly statements, newest first',
    description:
      'A statement is closed for ever some minutes after its month; a month without entries has none. What is corrected ' +
      'later is in a later one.',
    query: StatementListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'StatementPage',
        schema: answerSchema<StatementPageBody>({
          items: always({ type: 'array', items: { $ref: '#/components/schemas/Statement' } }),
          next_cursor: sometimes(textSchema('Pass it as cursor for the next page; absent on the last.', 'czM')),
        }),
        examples: { page: { items: [EXAMPLE] }, none: { items: [] } },
      },
    },
    errors: [],
  };
}

export function describeStatement(): Operation {
  return {
    operationId: 'getStatement',
    tag: 'Accounts',
    summary: 'Read one statement',
    description: 'Its opening and closing balance and the movements by kind.',
    parameters: [NUMBER],
    answers: {
      200: {
        description: 'The statement.',
        schemaName: 'Statement',
        schema: STATEMENT_ANSWER,
        examples: { statement: EXAMPLE },
      },
    },
    errors: ['NOT_FOUND'],
  };
}

const CSV_EXAMPLE = `${CSV_COLUMNS.join(',')}\r
ent_4790,2026-10-20T11:58:41.902Z,deposit,Deposit of 12.345678 TRX,37037034,3.7037034,157037034,TRX,12.345678,0.30000000,,dep_17,,5f0c1e6a2b7d4c8e9f3a1b5d7c2e4f6a8b0c1d3e5f7a9b2c4d6e8f0a1b3c5d7e\r
`;

export function describeStatementLines(): Operation {
  return {
    operationId: 'getStatementLines',
    tag: 'Accounts',
    summary: 'Read the entries of a statement as CSV',
    description:
      'One line for each entry, in the order of time, under a heading, of any number; `balance_credits` is the balance after it, beginning with the ' +
      'opening one. A text that a spreadsheet program would take for a formula begins with an apostrophe. An answer ' +
      'that breaks off is closed, not ended: take it for whole only when the transfer was.',
    parameters: [NUMBER],
    answers: {
      200: {
        description: 'The lines.',
        schemaName: 'StatementLines',
        schema: {
          type: 'string',
          description: `CSV with the columns ${CSV_COLUMNS.join(', ')}.`,
          examples: [CSV_EXAMPLE],
        },
        examples: { lines: CSV_EXAMPLE },
        headers: { 'Content-Disposition': headerSchema('A name for the file.', true) },
        mediaType: 'text/csv',
      },
    },
    errors: ['NOT_FOUND'],
  };
}
