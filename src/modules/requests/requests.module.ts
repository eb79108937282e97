/** Wires the route of the request log. */
import { Module } from '@nestjs/common';
import { RequestHistoryModule } from './request-history.module.js';
import { RequestsController } from './requests.controller.js';

@Module({ imports: [RequestHistoryModule], controllers: [RequestsController] })
export class RequestsModule {}
