/** OpenAPI description of the ledger. */
import { DEPOSIT_ASSETS } from '../../domain/deposit-state.js';
import type { PageBody } from '../../domain/page.js';
import {
  always,
  answerSchema,
  decimalSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import { ENTRY_KINDS, LedgerQuery, type EntryBody } from './entries.dto.js';

const KINDS = Object.entries(ENTRY_KINDS)
  .map(([kind, meaning]) => `\`${kind}\`: ${meaning}`)
  .join(' ');

const CHARGE: EntryBody = {
  id: 'ent_4812',
  kind: 'charge',
  description: 'Rental of 65000 energy for 3600 s to TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  credits: -8_190_000,
  created_at: '2026-11-20T12:00:00.118Z',
  order_key: 'payout-2026-11-20-17',
  asset: 'TRX',
  usd_rate: '0.30000000',
  txids: ['d4b43b698d65cd3efe66ca5bcf72bd8b593a124f062a2b88da7e54b03f416b91'],
};

const DEPOSIT: EntryBody = {
  id: 'ent_4790',
  kind: 'deposit',
  description: 'Deposit of 12.345678 TRX',
  credits: 37_037_034,
  created_at: '2026-11-20T11:58:41.902Z',
  deposit: 'dep_17',
  asset: 'TRX',
  usd_rate: '0.30000000',
  amount: '12.345678',
  txids: ['5f0c1e6a2b7d4c8e9f3a1b5d7c2e4f6a8b0c1d3e5f7a9b2c4d6e8f0a1b3c5d7e'],
};

const ENTRY_ANSWER = answerSchema<EntryBody>({
  id: always(textSchema('The entry.', CHARGE.id)),
  kind: always({ type: 'string', enum: Object.keys(ENTRY_KINDS), description: KINDS }),
  description: always(textSchema('Description for people.', CHARGE.description)),
  credits: always(integerSchema('Change of the balance; negative for a payment.', CHARGE.credits)),
  created_at: always(timeSchema('Time of the entry.')),
  order_key: sometimes(textSchema('Key of the order.', 'payout-2026-11-20-17')),
  deposit: sometimes(textSchema('ID of the deposit.', 'dep_17')),
  asset: sometimes({ type: 'string', enum: DEPOSIT_ASSETS, description: 'Asset of `usd_rate`.' }),
  amount: sometimes(decimalSchema('For a deposit: the paid amount, in whole units of the asset.', 6, '12.345678')),
  usd_rate: sometimes(
    decimalSchema('Dollars for one whole unit of the asset, at the charge or credit.', 8, '0.30000000'),
  ),
  txids: sometimes({
    type: 'array',
    items: { type: 'string' },
    description: 'The transactions that delivered the charged order, once they are final; for a deposit, the payment.',
  }),
  reference: sometimes(textSchema('Reference of the operator.', 'invoice-2026-118')),
});

export function describeLedger(): Operation {
  return {
    operationId: 'listLedger',
    tag: 'Accounts',
    summary: 'List the entries of the ledger, newest first',
    description:
      'Every change of the balance; the balance is their sum. An entry never changes. `from` and `to` select a period; statements cover whole months.',
    query: LedgerQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'LedgerPage',
        schema: answerSchema<PageBody<EntryBody>>({
          items: always({ type: 'array', items: ENTRY_ANSWER }),
          next_cursor: sometimes(
            textSchema(
              'The cursor of the next page; send the same `from` and `to`. Absent on the last page.',
              'bDIwMjYtMTEtMjBUMTE6NTg6NDEuOTAyMTE3WiA0Nzkw',
            ),
          ),
        }),
        examples: { page: { items: [CHARGE, DEPOSIT] }, none: { items: [] } },
      },
    },
    errors: [],
  };
}
