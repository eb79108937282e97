// Planted bugs in extensions, each with the test that must catch it.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const extensions = (title: string): NamedTest => ({ file: 'integration/orders/extensions.test.ts', title });

const AGAINST_ITS_RECLAIM =
  'in 200 races at the second of the end either extension or reclaim wins, and both answers are true';

export const PLANTED_EXTENSIONS: readonly PlantedBug[] = [
  {
    name: 'a rental that is being reclaimed is extended',
    changes: [
      ...one(
        SCHEMA,
        `OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = p_order AND t.purpose = 'reclaim') THEN`,
        'OR false THEN',
      ),
      ...one(
        SCHEMA,
        `OR EXISTS (SELECT FROM open_leg l WHERE l.order_id = p_order AND l.kind <> 'activation' AND l.status IN ('reclaiming', 'reclaimed'))`,
        'OR false',
      ),
      ...one(
        SCHEMA,
        `OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'reclaim') THEN`,
        'OR false THEN',
      ),
    ],
    test: extensions(AGAINST_ITS_RECLAIM),
  },
  {
    name: 'an extension leaves the order to whoever had read its old end',
    changes: [
      ...one(SCHEMA, 'extensions = v_number, fence = o.fence + 1, lease_until = NULL,', 'extensions = v_number,'),
      ...one(SCHEMA, ' AND NEW.fence > OLD.fence)', ')'),
    ],
    test: extensions('a worker that read the old end records nothing more, and the rental continues'),
  },
  {
    name: 'the key of an extension may be an order’s too',
    changes: [
      ...one(
        SCHEMA,
        'INSERT INTO order_key (project_id, key, order_id, extension) VALUES (p_project, p_key, p_order, v_number);',
        '',
      ),
    ],
    test: extensions('shares its keys with orders: another request under a used key is refused, of either kind'),
  },
  {
    name: 'an extension counts against no cap of a key',
    changes: one(
      SCHEMA,
      'p_credits, NULL);\n  END IF;\n  PERFORM charge_api_key(p_api_key, p_project, p_credits);\n',
      'p_credits, NULL);\n  END IF;\n',
    ),
    test: extensions('is refused whole for credits, the caps of project and key, and a frozen project'),
  },
  {
    name: 'an extension costs the price floor',
    changes: one('modules/quotes/direct-price.ts', 'const NO_FLOOR = sun(0);', 'const NO_FLOOR = sun(600_000);'),
    test: extensions(
      'moves the end, is charged without the price floor, and then appears in the order, its events and its ledger',
    ),
  },
  {
    name: 'an extension is paid for without end',
    changes: one(SCHEMA, 'IF v_ends_at > p_head +', 'IF false AND v_ends_at > p_head +'),
    test: extensions('leaves at most the longest duration on sale, by the chain’s clock'),
  },
  {
    name: 'operators give back no more than the first purchase',
    changes: one(
      'modules/billing/ledger-sql.ts',
      'FROM order_extension WHERE order_id = $1::bigint',
      'FROM order_extension WHERE order_id = -$1::bigint',
    ),
    test: extensions('can be compensated with the order, and together they get at most their price'),
  },
  {
    name: 'the key of an extension finds its order once that is archived',
    changes: one(
      'modules/orders/order-rows.ts',
      'AND k.key = wanted.key AND k.extension IS NULL LIMIT 1',
      'AND k.key = wanted.key LIMIT 1',
    ),
    test: {
      file: 'integration/orders/archive-beside.test.ts',
      title: 'finds no archived order by the key of its extension',
    },
  },
  {
    name: 'an operator sees no charge of the last extension',
    changes: one('modules/billing/ledger.ts', ':ext:${(index + 1).toString()}', ':ext:${index.toString()}'),
    test: {
      file: 'integration/orders/extension-terms.test.ts',
      title: 'an operator sees the charges of the order and of each extension',
    },
  },
  {
    name: 'verify does not see an extension that was not charged',
    changes: [
      ...one('modules/verify/order-checks.ts', ' OR coalesce(e.charges, 0) <> o.extensions', ''),
      ...one('modules/verify/order-checks.ts', ' AND e.charged = x.credits', ''),
    ],
    test: extensions('verify names an uncharged extension, and an end that no extension moved'),
  },
];
