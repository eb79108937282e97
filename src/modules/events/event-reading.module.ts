/** Wires event reads for the API. */
import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { EventLog } from './event-log.js';
import { EventReading } from './event-reading.js';
import { EventStreams } from './event-streams.js';
import { EventWaits } from './event-waits.js';
import { EventsController } from './events.controller.js';
import { HeldReads } from './held-reads.js';

@Module({
  imports: [AuthModule],
  controllers: [EventsController],
  providers: [EventLog, EventReading, EventStreams, EventWaits, HeldReads],
  exports: [HeldReads],
})
export class EventReadingModule {}
