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
} from '../../platform/http/openapi/openapi.js';
import { headerSchema } from '../../platform/http/openapi/answer-headers.js';
import { ENTRY_KINDS, type EntryKind } from './entries.dto.js';
import { CSV_COLUMNS } from './statement-csv.js';
import type { PageBody } from '../../domain/page.js';
import { StatementListQuery, type StatementBody } from './statements.dto.js';

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

const total = (kind: EntryKind, example: number) =>
  always(integerSchema(`Sum of the entries of kind ${kind}. ${ENTRY_KINDS[kind]}`, example));

const STATEMENT_ANSWER = answerSchema<StatementBody>({
  number: always(integerSchema('Number of the statement in the project: 1, 2, 3 … without gaps.', EXAMPLE.number)),
  month: always(textSchema('Calendar month in UTC.', EXAMPLE.month)),
  from: always(timeSchema('Start of the month.')),
  to: always(timeSchema('Start of the next month.')),
  opening_credits: always(integerSchema('Closing balance of the previous statement; 0 for the first.', 120_000_000)),
  closing_credits: always(integerSchema('Opening balance plus all entries.', 91_847_034)),
  entries: always(integerSchema('Number of entries.', 9)),
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
  closed_at: always(timeSchema('Time of closing.')),
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
      'A statement is closed some minutes after its month and never changes. A month without entries has none. Later corrections appear in a later statement.',
    query: StatementListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'StatementPage',
        schema: answerSchema<PageBody<StatementBody>>({
          items: always({ type: 'array', items: { $ref: '#/components/schemas/Statement' } }),
          next_cursor: sometimes(textSchema('The cursor of the next page. Absent on the last page.', 'czM')),
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
    description: 'Returns the opening and closing balance, and the totals by kind.',
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
      'A header line, then one line for each entry, oldest first, without a limit. `balance_credits` is the balance after the entry, starting from the opening balance. Text that a spreadsheet program would read as a formula begins with an apostrophe. If the service fails midway, it closes the connection without ending the transfer: use the file only after a complete transfer.',
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
        headers: { 'Content-Disposition': headerSchema('The file name.', true) },
        mediaType: 'text/csv',
      },
    },
    errors: ['NOT_FOUND'],
  };
}
