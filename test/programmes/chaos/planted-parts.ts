// Planted bugs in requests for bandwidth and an activation beside energy, each with the test that must catch it.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const consolePrices: NamedTest = {
  file: 'integration/fulfilment/bundle-readers.test.ts',
  title: 'the database refuses a purchase in a console below the prices of both resources',
};

const orders = (title: string): NamedTest => ({ file: 'integration/orders/orders-parts.test.ts', title });

export const PLANTED_PARTS: readonly PlantedBug[] = [
  {
    name: 'a repetition may ask for other bandwidth',
    changes: one(
      'modules/orders/request-hash.ts',
      `...(terms.bandwidth === undefined ? [] : ['bandwidth', terms.bandwidth.toString()]),`,
      '',
    ),
    test: orders('belongs to its key with its bandwidth and its activation'),
  },
  {
    name: 'an order with a quote of less bandwidth is taken at its price',
    changes: one(
      'modules/orders/quoted-terms.ts',
      `['bandwidth', request.bandwidth !== undefined && BigInt(request.bandwidth) !== quote.bandwidth?.units],`,
      '',
    ),
    test: orders('by a quote pays its price, and may name no other parts'),
  },
  {
    name: 'the limits name bandwidth for durations that sell none',
    changes: one(
      'modules/quotes/limits.service.ts',
      'this.bandwidthOnSale(row, rowFor(ofBandwidth, row.durationMaxSec), market, free)',
      'this.bandwidthOnSale(row, ofBandwidth[0], market, free)',
    ),
    test: orders('the limits name the bandwidth on sale: the maximum is sold in one order, and hardly more'),
  },
  {
    name: 'a quote for more bandwidth than the pool has is issued',
    changes: one('modules/quotes/quotes.service.ts', 'if (wanted > bandwidthSun) throw', 'if (wanted < 0n) throw'),
    test: orders('a pool without stake for bandwidth refuses quotes and orders of it, and sells energy alone'),
  },
  {
    name: 'a kept activation is no spending of the day that is counted again',
    changes: one(SCHEMA, `-c.credits - coalesce(r.credits, 0)\n`, `CASE WHEN r IS NULL THEN -c.credits ELSE 0 END\n`),
    test: {
      file: 'integration/fulfilment/bundles.test.ts',
      title: 'is returned except for a final activation, and says so',
    },
  },
  {
    name: 'bandwidth is extended beyond its longest sale',
    changes: one(
      'modules/quotes/bandwidth-price.ts',
      'Math.min(priced.longestSec, longestDurationSec(bandwidthTable(figures.priceRows).rows))',
      'priced.longestSec',
    ),
    test: {
      file: 'unit/quotes/order-items.test.ts',
      title: 'added time ends a rental within the longest sale of all that it has',
    },
  },
  {
    name: 'a console buys bandwidth below its price',
    changes: one(SCHEMA, '+ CASE WHEN p_bandwidth IS NULL THEN 0 ELSE', '+ CASE WHEN p_bandwidth > 0 THEN 0 ELSE'),
    test: consolePrices,
  },
  {
    name: 'a console pays for energy with the share of an activation',
    changes: one(SCHEMA, 'p_price - coalesce(p_activation, 0) >= p_energy', 'p_price >= p_energy'),
    test: consolePrices,
  },
  {
    name: 'a console buys an activation below the chain’s fee',
    changes: one(
      SCHEMA,
      'p_activation IS NOT NULL AND NOT coalesce(p_activation >=',
      'p_activation < 0 AND NOT coalesce(p_activation >=',
    ),
    test: consolePrices,
  },
];
