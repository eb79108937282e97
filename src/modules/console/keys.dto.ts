/** Requests for API keys, and their representation. */
import { parseIpRange } from '../../platform/support/ip-range.js';
import { nameFault } from '../../domain/printable.js';
import { SCOPES, type Scope } from '../../domain/scopes.js';
import { credits } from '../../domain/units.js';
import { IsFlag, IsInteger, IsListOf, IsText, Member, Optional } from '../../platform/http/body/member-rules.js';
import { Parameter } from '../../platform/http/body/member-rules.js';
import { Query } from '../../platform/http/body/page-query.js';
import type { KeyOptions, KeyView } from '../projects/api-keys.js';
import { consoleKeyId } from '../projects/console-key-id.js';
import { money, timeOf, withoutNull } from './answers.js';
import type { ApiKeyShape, ChangeKey, MakeKey, RotateKey } from './data-shapes.js';

const NAME = { maxLength: 100, check: nameFault, description: 'Purpose.' };
const CREDITS = () => ({ min: 0, max: Number.MAX_SAFE_INTEGER });
const CAP = 'The most it may spend in a UTC day, in credits.';
const SCOPE = 'Scopes of the key.';
const SOURCES_MAX = 100;
/** Seven days. */
const OVERLAP_SEC_MAX = 604_800;

/** Addresses and CIDR ranges. */
export const IsSources = () =>
  Member({
    name: 'isSources',
    faultOf: (value) => {
      if (!Array.isArray(value) || value.length > SOURCES_MAX)
        return `must be a list of at most ${SOURCES_MAX.toString()} entries`;
      const wrong = value.findIndex((each) => typeof each !== 'string' || parseIpRange(each) === undefined);
      return wrong < 0 ? undefined : `item ${(wrong + 1).toString()} must be an IP address or a CIDR range`;
    },
    openApi: () => ({ type: 'array', maxItems: SOURCES_MAX, items: { type: 'string' } }),
  });

export class MakeKeyRequest implements MakeKey {
  @IsText(NAME)
  declare readonly name: string;

  @IsListOf(SCOPES, SCOPE)
  declare readonly scopes: readonly Scope[];

  @Optional()
  @IsSources()
  declare readonly allowed_sources?: readonly string[];

  @Optional()
  @IsInteger(CREDITS, CAP)
  declare readonly daily_cap_credits?: number;
}

export class ChangeKeyRequest implements ChangeKey {
  @Optional()
  @IsText(NAME)
  declare readonly name?: string;

  @Optional()
  @IsListOf(SCOPES, SCOPE)
  declare readonly scopes?: readonly Scope[];

  @Optional()
  @IsSources()
  declare readonly allowed_sources?: readonly string[];

  @Optional()
  @IsInteger(CREDITS, CAP)
  declare readonly daily_cap_credits?: number;

  @Optional()
  @IsFlag('True for a key without a daily cap.')
  declare readonly no_daily_cap?: boolean;
}

export class RotateKeyRequest implements RotateKey {
  @IsInteger(() => ({ min: 0, max: OVERLAP_SEC_MAX }), 'For how long the secret before still verifies, in seconds.')
  declare readonly overlap_sec: number;
}

export class KeyListQuery extends Query {
  @Parameter({
    name: 'isAll',
    faultOf: (value) => (value === 'true' || value === 'false' ? undefined : 'must be true or false'),
    openApi: () => ({ type: 'boolean' }),
  })
  declare readonly all?: string;
}

export function keyOptionsOf(request: ChangeKeyRequest): KeyOptions {
  const { name, scopes, allowed_sources: sources, daily_cap_credits: cap, no_daily_cap: isUncapped } = request;
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(scopes !== undefined && { scopes: [...new Set(scopes)] }),
    ...(sources !== undefined && { allowedSources: [...new Set(sources)] }),
    ...(isUncapped === true ? { dailyCapCredits: null } : cap !== undefined && { dailyCapCredits: credits(cap) }),
  };
}

export function keyShape(view: KeyView): ApiKeyShape {
  return withoutNull<ApiKeyShape>({
    id: view.id,
    name: view.name,
    is_primary: view.is_primary,
    is_console: view.id === consoleKeyId(view.project_id) ? true : undefined,
    scopes: view.scopes,
    allowed_sources: view.allowed_sources,
    daily_cap: view.daily_cap_credits === null ? undefined : money(view.daily_cap_credits),
    spent_today: money(BigInt(view.spent_credits)),
    created_at: view.created_at.toISOString(),
    last_used_at: timeOf(view.last_used_at),
    previous_until: timeOf(view.previous_until),
    revoked_at: timeOf(view.revoked_at),
  });
}
