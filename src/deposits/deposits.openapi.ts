/** A deposit as GET /openapi.json describes it. */
import { DEPOSIT_ASSETS, DEPOSIT_TRANSITIONS } from '../domain/deposit-state.js';
import { always, answerSchema, integerSchema, sometimes, textSchema, timeSchema } from '../http/openapi/openapi.js';
import type { DepositBody } from './deposits.dto.js';

export const DEPOSIT_ANSWER = answerSchema<DepositBody>({
  id: always(textSchema('The deposit.', 'dep_17')),
  txid: always(
    textSchema('The transaction that paid.', 'd4b43b698d65cd3efe66ca5bcf72bd8b593a124f062a2b88da7e54b03f416b91'),
  ),
  kind: always({
    type: 'string',
    enum: ['native', 'log', 'internal'],
    description: 'A transfer of TRX, an event of the token, or TRX that a contract sent.',
  }),
  position: always(integerSchema('Which of its kind in the receipt of the transaction, from 0.', 0)),
  asset: always({ type: 'string', enum: DEPOSIT_ASSETS, description: 'What was paid in.' }),
  amount: always(textSchema('How much, in whole units with six digits.', '12.500000')),
  address: always(textSchema('Your deposit address.', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF')),
  from_address: always(textSchema('Who paid.', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF')),
  status: always({
    type: 'string',
    enum: Object.keys(DEPOSIT_TRANSITIONS),
    description: 'pending: not credited yet. held: the operator decides. credited and ignored are final.',
  }),
  reason: sometimes(textSchema('Why it is pending, held or ignored.', 'below_minimum')),
  usd_rate: sometimes(textSchema('Dollars for one whole unit, in the minute of its block.', '0.30000000')),
  credits: sometimes(
    integerSchema('What was credited by it, with small ones before that were credited together.', 37_500_000),
  ),
  block_number: always(integerSchema('The block that paid.', 70_000_000)),
  block_timestamp: always(timeSchema('The time of that block.')),
});
