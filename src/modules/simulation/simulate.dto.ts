/** Requests and answers of POST /v1/simulate (docs/interface.md §8). snake_case is confined to this file. */
import type { ContractCall } from '../../platform/chain/contract-call.js';
import { invalidField, type ErrorCode } from '../../domain/errors.js';
import { IsFlag, IsInteger, IsText, IsTronAddress, Optional } from '../../platform/http/body/member-rules.js';
import { IsDuration, IsExpectedUses, type QuoteBody } from '../quotes/quote.dto.js';
import type { BurnOutlook } from './burn-outlook.js';
import { SelectorFault, readSelector } from './selector.js';

/** The body size is limited earlier; this limit only gives a clear message. */
const HEX_LENGTH_MAX = 131_072;
const SELECTOR_LENGTH_MAX = 1024;
const HEX = /^(?:0x)?(?:[0-9a-fA-F]{2})*$/;

const IsHex = (description: string, minLength: 0 | 1, example: string) =>
  IsText({
    minLength,
    maxLength: HEX_LENGTH_MAX,
    check: (value) => (HEX.test(value) ? undefined : 'must be hex digits, two for each byte'),
    openApi: { pattern: '^(0x)?([0-9a-fA-F]{2})*$', examples: [example] },
    description,
  });

export const EXAMPLE_PARAMETER =
  '000000000000000000000000681e3bac3840f7840162717c978567c84b38e93c0000000000000000000000000000000000000000000000000000000000000005';

export class SimulateRequest {
  @IsTronAddress('The sender, which will use the energy. It need not hold any.')
  declare readonly owner_address: string;

  @IsTronAddress('The contract that is called.')
  declare readonly contract_address: string;

  @Optional()
  @IsText({
    maxLength: SELECTOR_LENGTH_MAX,
    check: (value) => {
      const read = readSelector(value);
      return read instanceof SelectorFault ? read.msg : undefined;
    },
    openApi: { examples: ['transfer(address,uint256)'] },
    description: 'The function as name(type,type). Required unless data is sent.',
  })
  declare readonly function_selector?: string;

  @Optional()
  @IsHex(
    'ABI-encoded arguments in hex, with function_selector. Optional if the function takes none.',
    0,
    EXAMPLE_PARAMETER,
  )
  declare readonly parameter?: string;

  @Optional()
  @IsHex('Raw calldata in hex, instead of function_selector and parameter.', 1, `a9059cbb${EXAMPLE_PARAMETER}`)
  declare readonly data?: string;

  @Optional()
  @IsInteger(() => ({ min: 0, max: Number.MAX_SAFE_INTEGER }), 'Sun sent with the call; zero for a token transfer.')
  declare readonly call_value?: number;

  @Optional()
  @IsDuration()
  declare readonly duration_sec?: number;

  @Optional()
  @IsExpectedUses()
  declare readonly expected_uses?: number;

  @Optional()
  @IsFlag('True: the answer includes a redeemable quote for energy_needed.')
  declare readonly quote?: boolean;
}

const withoutPrefix = (hex: string): string => (hex.startsWith('0x') ? hex.slice(2) : hex);

/**
 * Returns the call of a request. Throws 400 INVALID_REQUEST unless it has exactly one form: `data` alone, or
 * `function_selector` with `parameter`. The latter may be absent or empty only if the function has no arguments.
 */
export function callOf(body: SimulateRequest): ContractCall {
  const base = {
    ownerAddress: body.owner_address,
    contractAddress: body.contract_address,
    ...(body.call_value === undefined || body.call_value === 0 ? {} : { callValue: BigInt(body.call_value) }),
  };
  if (body.data !== undefined) {
    if (body.function_selector !== undefined) throw invalidField('data', 'must not be sent with function_selector');
    if (body.parameter !== undefined) throw invalidField('parameter', 'must not be sent with data');
    const data = withoutPrefix(body.data);
    if (data === '') throw invalidField('data', 'must not be empty');
    return { ...base, data };
  }
  if (body.function_selector === undefined) {
    throw invalidField('function_selector', 'is required unless data is sent');
  }
  const selector = readSelector(body.function_selector);
  const parameter = withoutPrefix(body.parameter ?? '');
  if (!(selector instanceof SelectorFault) && selector.takesArguments && parameter === '') {
    throw invalidField('parameter', 'is required, because the function takes arguments');
  }
  return { ...base, functionSelector: body.function_selector, ...(parameter === '' ? {} : { parameter }) };
}

/** The answer to a simulation; members that do not apply are absent, never null. */
export interface SimulationBody extends Partial<BurnOutlook> {
  readonly energy_used: number;
  readonly energy_needed: number;
  readonly deployer_energy?: number;
  readonly burn_price_sun: number;
  readonly burn_price_trx?: string;
  readonly burn_price_usd?: string;
  readonly energy_penalty?: number;
  readonly fee_limit_sun?: number;
  readonly fee_limit_capped?: true;
  readonly would_fail?: true;
  readonly needs_activation?: true;
  readonly reason?: string;
  readonly quote?: QuoteBody;
  readonly quote_error?: ErrorCode;
}
