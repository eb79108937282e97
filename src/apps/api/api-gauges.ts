/** Registers gauges for the age and state of rates, market and sizing. */
import type { INestApplicationContext } from '@nestjs/common';
import { Gauge, type Registry } from 'prom-client';
import { Rates } from '../../modules/billing/rates.js';
import { Market } from '../../modules/quotes/market.js';
import { MARKET_OBSTACLES } from '../../modules/quotes/market-obstacles.js';
import { SIZING_OBSTACLES } from '../../modules/quotes/sizing-obstacles.js';

export function watchPrices(app: INestApplicationContext, registry: Registry): void {
  const rates = app.get(Rates, { strict: false });
  const market = app.get(Market, { strict: false });
  new Gauge({
    name: 'rate_age_seconds',
    help: 'Age of the TRX/USD rate.',
    registers: [registry],
    collect() {
      this.set(rates.ageSec);
    },
  });
  new Gauge({
    name: 'rate_held',
    help: '1 while a doubtful rate waits for confirmation or a stable hour.',
    registers: [registry],
    collect() {
      this.set(rates.isHeld ? 1 : 0);
    },
  });
  new Gauge({
    name: 'market_age_seconds',
    help: 'Age of the chain’s fees and energy ratio.',
    registers: [registry],
    collect() {
      this.set(market.ageSec);
    },
  });
  new Gauge({
    name: 'market_obstacle',
    help: '1 for the `cause` that keeps the chain’s fees from being read: `no-node`, `doubtful` (outside the bounds), `disagreement` (of nodes), `other`. Sales stop once `market_age_seconds` exceeds `MARKET_MAX_AGE_SEC`.',
    labelNames: ['cause'],
    registers: [registry],
    collect() {
      for (const cause of MARKET_OBSTACLES) this.set({ cause }, cause === market.obstacle ? 1 : 0);
    },
  });
  new Gauge({
    name: 'sizing_age_seconds',
    help: 'Time since a token transfer was measured (`+Inf`: never).',
    registers: [registry],
    collect() {
      this.set(market.sizingAgeSec);
    },
  });
  new Gauge({
    name: 'sizing_refresh_seconds',
    help: 'Interval of token measurements (`SIZING_REFRESH_SEC`).',
    registers: [registry],
    collect() {
      this.set(market.sizingRefreshSec);
    },
  });
  new Gauge({
    name: 'sizing_obstacle',
    help: '1 for the `cause` that prevents token measurements: `no-token`, `no-holder`, `paused`, `blacklisted` (every known holder), `refused`, `no-event`, `no-constant-calls`, `no-node`.',
    labelNames: ['cause'],
    registers: [registry],
    collect() {
      for (const cause of SIZING_OBSTACLES) this.set({ cause }, cause === market.sizingObstacle ? 1 : 0);
    },
  });
}
