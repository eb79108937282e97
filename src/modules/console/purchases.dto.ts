/** Requests of purchases in the console. */
import { IsInteger, IsText, IsTronAddress, Optional, Parameter } from '../../platform/http/body/member-rules.js';
import { Query } from '../../platform/http/body/page-query.js';
import { IsActivate, IsBandwidth, IsDuration, IsEnergy, IsExpectedUses } from '../quotes/quote.dto.js';
import type {
  ConfirmedExtension,
  ConfirmedPurchase,
  SetPurchaseCap,
  WantedExtension,
  WantedPurchase,
} from './purchase-shapes.js';

/** Keys of forms. The database functions refuse others. */
const FORM_KEY = /^console_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const keyFault = (text: string): string | undefined => (FORM_KEY.test(text) ? undefined : 'must be the key of a form');
const CREDITS = () => ({ min: 0, max: Number.MAX_SAFE_INTEGER });
const IsFormKey = () => IsText({ maxLength: 44, check: keyFault, description: 'The key of the form.' });
const IsPrice = () => IsInteger(CREDITS, 'The confirmed price in credits.');
const IsAddedTime = () => IsDuration({ isLongJudged: false, defaultOf: null });

export class PurchaseQuery extends Query {
  @Parameter({
    name: 'isFormKey',
    faultOf: (value) => keyFault(String(value)),
    openApi: () => ({ type: 'string' }),
  })
  declare readonly key?: string;
}

export class PurchaseCapRequest implements SetPurchaseCap {
  @Optional()
  @IsInteger(CREDITS, 'The most that purchases in the console may spend in a UTC day.')
  declare readonly daily_cap_credits?: number;
}

export class WantedPurchaseRequest implements WantedPurchase {
  @IsTronAddress('The account that spends the energy.')
  declare readonly receive_address: string;

  @IsEnergy('The amount of energy.')
  declare readonly energy: number;

  @IsAddedTime()
  declare readonly duration_sec: number;

  @Optional()
  @IsExpectedUses()
  declare readonly expected_uses?: number;

  @Optional()
  @IsBandwidth()
  declare readonly bandwidth?: number;

  @Optional()
  @IsActivate()
  declare readonly activate?: boolean;
}

export class PurchaseRequest extends WantedPurchaseRequest implements ConfirmedPurchase {
  @IsFormKey()
  declare readonly key: string;

  @IsPrice()
  declare readonly credits: number;
}

export class WantedExtensionRequest implements WantedExtension {
  @IsText({ maxLength: 255, description: 'The key of a rental that runs.' })
  declare readonly order: string;

  @IsAddedTime()
  declare readonly duration_sec: number;

  @Optional()
  @IsExpectedUses()
  declare readonly expected_uses?: number;
}

export class ExtensionPurchaseRequest extends WantedExtensionRequest implements ConfirmedExtension {
  @IsFormKey()
  declare readonly key: string;

  @IsPrice()
  declare readonly credits: number;
}
