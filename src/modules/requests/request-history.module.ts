/** Wires reads of the request log, for the API and for operators. */
import { Module } from '@nestjs/common';
import { RequestHistory } from './request-history.js';

@Module({ providers: [RequestHistory], exports: [RequestHistory] })
export class RequestHistoryModule {}
