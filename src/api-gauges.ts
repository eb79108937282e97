/** Registers gauges for the age and state of rates, market and sizing. */
import type { INestApplicationContext } from '@nestjs/common';
import { Gauge, type Registry } from 'prom-client';
import { Rates } from './billing/rates.js';
import { Market } from './quotes/market.js';
import { MARKET_OBSTACLES } from './quotes/market-obstacles.js';
import { SIZING_OBSTACLES } from './quotes/sizing-obstacles.js';

export function watchPrices(app: INestApplicationContext, registry: Registry): void {
  const rates = app.get(Rates, { strict: false });
  const market = app.get(Market, { strict: false });
  new Gauge({
    name: 'rate_age_seconds',
    help: 'Age of the TRX/USD rate; beyond RATE_MAX_AGE_SEC no dollars are shown.',
    registers: [registry],
    collect() {
      this.set(rates.ageSec);
    },
  });
  new Gauge({
    name: 'rate_held',
    help: '1 while a doubtful TRX/USD rate is held back; charges continue at the last one and no dollars are shown.',
    registers: [registry],
    collect() {
      this.set(rates.isHeld ? 1 : 0);
    },
  });
  new Gauge({
    name: 'market_age_seconds',
    help: 'Age of the chain’s fee and energy ratio; beyond MARKET_MAX_AGE_SEC nothing is sold.',
    registers: [registry],
    collect() {
      this.set(market.ageSec);
    },
  });
  new Gauge({
    name: 'market_obstacle',
    help: '1 for the current cause of failed reads of the chain’s fees; 0 for every other cause.',
    labelNames: ['cause'],
    registers: [registry],
    collect() {
      for (const cause of MARKET_OBSTACLES) this.set({ cause }, cause === market.obstacle ? 1 : 0);
    },
  });
  new Gauge({
    name: 'sizing_age_seconds',
    help: 'Time since the last measurement of a reference token transfer; orders are sized by it until the next one.',
    registers: [registry],
    collect() {
      this.set(market.sizingAgeSec);
    },
  });
  new Gauge({
    name: 'sizing_refresh_seconds',
    help: 'Interval between measurements of a reference token transfer.',
    registers: [registry],
    collect() {
      this.set(market.sizingRefreshSec);
    },
  });
  new Gauge({
    name: 'sizing_obstacle',
    help: '1 for the current cause of failed measurements of token transfers; 0 for every other cause.',
    labelNames: ['cause'],
    registers: [registry],
    collect() {
      for (const cause of SIZING_OBSTACLES) this.set({ cause }, cause === market.sizingObstacle ? 1 : 0);
    },
  });
}
