/** Registers gauges for the age and state of rates, market and sizing. */
import type { INestApplicationContext } from '@nestjs/common';
import type { Registry } from 'prom-client';
import { addGauge, addGaugeBy } from '../../platform/observability/metrics.js';
import { Rates } from '../../modules/billing/rates.js';
import { Market } from '../../modules/quotes/market.js';
import { MARKET_OBSTACLES } from '../../modules/quotes/market-obstacles.js';
import { SIZING_OBSTACLES } from '../../modules/quotes/sizing-obstacles.js';

export function watchPrices(app: INestApplicationContext, registry: Registry): void {
  const rates = app.get(Rates, { strict: false });
  const market = app.get(Market, { strict: false });
  addGauge(registry, 'rate_age_seconds', 'Age of the TRX/USD rate.', () => rates.ageSec);
  addGauge(registry, 'rate_held', '1 while a doubtful rate waits for confirmation or a stable hour.', () =>
    rates.isHeld ? 1 : 0,
  );
  addGauge(registry, 'market_age_seconds', 'Age of the chain’s fees and energy ratio.', () => market.ageSec);
  addGaugeBy(
    registry,
    {
      name: 'market_obstacle',
      help: '1 for the `cause` that keeps the chain’s fees from being read (`doubtful`: outside the bounds; `disagreement`: of nodes).',
      label: 'cause',
    },
    () => MARKET_OBSTACLES.map((cause) => [cause, cause === market.obstacle ? 1 : 0]),
  );
  addGauge(
    registry,
    'sizing_age_seconds',
    'Time since a token transfer was measured (`+Inf`: never).',
    () => market.sizingAgeSec,
  );
  addGauge(
    registry,
    'sizing_refresh_seconds',
    'Interval of token measurements (`SIZING_REFRESH_SEC`).',
    () => market.sizingRefreshSec,
  );
  addGaugeBy(
    registry,
    {
      name: 'sizing_obstacle',
      help: '1 for the `cause` that prevents token measurements (`blacklisted`: every known holder).',
      label: 'cause',
    },
    () => SIZING_OBSTACLES.map((cause) => [cause, cause === market.sizingObstacle ? 1 : 0]),
  );
}
