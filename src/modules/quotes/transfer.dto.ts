/** Request members of the transfer that a rental is for (docs/interface.md §7). snake_case is confined to this file. */
import { invalidField } from '../../domain/errors.js';
import { IsText, IsTronAddress, Optional } from '../../platform/http/body/member-rules.js';
import type { TokenTransfer } from './transfer-sizing.js';

const AMOUNT = /^[1-9]\d{0,77}$/;
/** The largest amount of a token: 256 bits. */
const AMOUNT_MAX = 2n ** 256n - 1n;
const ONE_UNIT = 1n;

/** Requests that may be sized by a transfer extend this class. */
export class TransferMembers {
  @Optional()
  @IsTronAddress(
    'Recipient of the upcoming token transfer. The rental is sized by simulating exactly this transfer, and refused ' +
      'with the reason when it would fail. Not together with energy.',
  )
  declare readonly transfer_to?: string;

  @Optional()
  @IsText({
    maxLength: 78,
    check: (value) =>
      AMOUNT.test(value) && BigInt(value) <= AMOUNT_MAX
        ? undefined
        : 'must be a positive integer in digits alone, as "1000000"',
    openApi: { pattern: AMOUNT.source, examples: ['1000000'] },
    description: 'With transfer_to: the amount in the token’s smallest unit, as text. One unit when absent.',
  })
  declare readonly transfer_amount?: string;

  @Optional()
  @IsTronAddress('With transfer_to: the contract of the token. The reference token when absent.')
  declare readonly token?: string;
}

/**
 * Returns the transfer of a request; undefined if it names none. Throws ApiError INVALID_REQUEST for its other members
 * without transfer_to, and for transfer_to beside an energy.
 */
export function transferOf(request: TransferMembers & { readonly energy?: number }): TokenTransfer | undefined {
  const { transfer_to: to, transfer_amount: amount, token } = request;
  if (to === undefined) {
    if (amount !== undefined) throw invalidField('transfer_amount', 'must not be sent without transfer_to');
    if (token !== undefined) throw invalidField('token', 'must not be sent without transfer_to');
    return undefined;
  }
  if (request.energy !== undefined) {
    throw invalidField('energy', 'must not be sent with transfer_to, which sizes the rental');
  }
  return { to, amount: amount === undefined ? ONE_UNIT : BigInt(amount), token };
}
