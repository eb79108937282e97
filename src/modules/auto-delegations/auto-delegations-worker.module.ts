/** Wires the checks and purchases of auto-delegations, for workers. */
import { Module } from '@nestjs/common';
import { TermsModule } from '../orders/terms.module.js';
import { AddressCheck } from './address-check.js';
import { AutoDelegationClaims } from './auto-delegation-claims.js';
import { EnergyReadings } from './energy-readings.js';
import { RefillPurchases } from './refill-purchases.js';
import { RefillSize } from './refill-size.js';
import { Refills } from './refills.js';
import { UseObserver } from './use-observer.js';

@Module({
  imports: [TermsModule],
  providers: [AddressCheck, AutoDelegationClaims, EnergyReadings, RefillPurchases, RefillSize, Refills, UseObserver],
  exports: [Refills, UseObserver],
})
export class AutoDelegationsWorkerModule {}
