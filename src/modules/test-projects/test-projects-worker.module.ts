/** Wires the simulation of test orders, for workers. */
import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { TestOrders } from './test-orders.js';

@Module({ imports: [BillingModule], providers: [TestOrders], exports: [TestOrders] })
export class TestProjectsWorkerModule {}
