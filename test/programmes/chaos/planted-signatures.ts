// Planted bugs in request authentication (nonces, time, path, route, cap of a key) and in the OpenAPI document.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const HMAC = 'modules/auth/hmac-signature.ts';
const NONCES = 'modules/auth/nonces.ts';
const ROUTES = 'platform/http/pipeline/routes.ts';

const hmac = (title: string): NamedTest => ({ file: 'integration/auth/hmac.test.ts', title });
const caps = (title: string): NamedTest => ({ file: 'integration/billing/key-caps.test.ts', title });
const CAPS = caps('a cap holds even if all orders were checked before the first of them was charged');
const WINDOW = hmac('s from our clock, with the time to sign again');
const BY_ROUTE: NamedTest = {
  file: 'integration/http/openapi.test.ts',
  title: 'gives the accepted signatures and the scope of each route as in the route table',
};

export const PLANTED_SIGNATURES: readonly PlantedBug[] = [
  {
    name: 'nonces are forgotten with Redis',
    changes: one(NONCES, 'if (timestampSec <= sinceSec)', 'if (timestampSec <= -sinceSec)'),
    test: hmac('stays refused after Redis was emptied, and a newly signed one is accepted'),
  },
  {
    name: 'nonces of an outage are forgotten when Redis is back',
    changes: one(NONCES, '|| this.hasFailedLately()', ''),
    test: hmac('stays refused while Redis is away and when it is back, whichever store had its nonce'),
  },
  {
    name: 'a timestamp may be of any time',
    changes: one('modules/auth/claim.ts', 'Math.abs(nowSec - timestampSec) > WINDOW_SEC', 'nowSec === -timestampSec'),
    test: WINDOW,
  },
  {
    name: 'a timestamp may be of any time to come',
    changes: one(
      'modules/auth/claim.ts',
      'Math.abs(nowSec - timestampSec) > WINDOW_SEC',
      'nowSec - timestampSec > WINDOW_SEC',
    ),
    test: WINDOW,
  },
  {
    name: 'the path is signed as it is encoded',
    changes: one(HMAC, 'return decodeURIComponent(path);', 'return path;'),
    test: hmac('a GET of a percent-encoded path'),
  },
  {
    name: 'the query is signed decoded',
    changes: one(HMAC, `rest.join('?'),`, `decodePath(rest.join('?')) ?? '',`),
    test: hmac('a GET with a query'),
  },
  {
    name: 'the cap of a key is checked before the charge alone',
    changes: one(
      SCHEMA,
      'CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits <= k.daily_cap_credits)',
      'true)',
    ),
    test: CAPS,
  },
  {
    name: 'what a key has spent is read before its row is held',
    changes: one(
      SCHEMA,
      'SET spent_credits = CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits,',
      `SET spent_credits = (SELECT CASE WHEN s.spent_on >= v_today THEN s.spent_credits ELSE 0 END
                              FROM api_key s WHERE s.id = p_api_key) + p_credits,`,
    ),
    test: CAPS,
  },
  {
    name: 'a refund leaves what the key has spent',
    changes: one(
      'modules/billing/ledger-sql.ts',
      'SELECT return_to_caps(order_id, project_id, credits) FROM entry',
      'TABLE entry',
    ),
    test: caps('a refund lowers the spending of the order’s own day'),
  },
  {
    name: 'the key is charged before the auto-delegation',
    changes: one(
      SCHEMA,
      `  IF p_auto IS NOT NULL THEN
    PERFORM charge_auto_delegation(p_auto, p_auto_fence, p_auto_number, p_project, p_credits, order_id);
  END IF;
  PERFORM charge_api_key(p_api_key, p_project, p_credits);\n`,
      `  PERFORM charge_api_key(p_api_key, p_project, p_credits);
  IF p_auto IS NOT NULL THEN
    PERFORM charge_auto_delegation(p_auto, p_auto_fence, p_auto_number, p_project, p_credits, order_id);
  END IF;\n`,
    ),
    test: { file: 'unit/database/shared-sql.test.ts', title: 'locks in the written order' },
  },
  {
    name: 'a route takes MD5 unless it says otherwise',
    changes: one(ROUTES, 'acceptsMd5: options.acceptsMd5 ?? false,', 'acceptsMd5: options.acceptsMd5 ?? true,'),
    test: BY_ROUTE,
  },
  {
    name: 'every route that a key may read takes MD5',
    changes: one(
      ROUTES,
      'acceptsMd5: options.acceptsMd5 ?? false,',
      `acceptsMd5: options.acceptsMd5 ?? options.scope === 'read',`,
    ),
    test: BY_ROUTE,
  },
  {
    name: 'every operation repeats the errors it shares with others',
    changes: one(
      'platform/http/openapi/openapi-responses.ts',
      'return { $ref: `#/components/responses/${name}` };',
      'return known;',
    ),
    test: {
      file: 'integration/http/openapi.test.ts',
      title: 'describes each error response once and is at most 500 KB long',
    },
  },
];
