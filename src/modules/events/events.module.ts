/** Wires the numbering of events for workers. */
import { Module } from '@nestjs/common';
import { Numberer } from './numberer.js';

@Module({ providers: [Numberer], exports: [Numberer] })
export class EventsModule {}
