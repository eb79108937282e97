/** Routes of events (docs/interface.md §26). */
import { Controller, Get, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { EventReading } from './event-reading.js';
import { EventStreams } from './event-streams.js';
import { afterOf, EventListQuery, EventStreamQuery, pageText, resumedAfter, typesOf } from './events.dto.js';
import { describeEventList, describeEventStream } from './events.openapi.js';

@Controller('v1/events')
export class EventsController {
  constructor(
    private readonly reading: EventReading,
    private readonly streams: EventStreams,
  ) {}

  @Get()
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeEventList)
  async list(
    @Caller() caller: Caller,
    @Query() { after, types, limit, wait }: EventListQuery,
    @Res() response: Response,
  ): Promise<void> {
    const wanted = { after: afterOf(after), types: typesOf(types), limit: Number(limit ?? LIMIT_DEFAULT) };
    const page = await this.reading.poll(caller, response, wanted, Number(wait ?? 0));
    const text = pageText(page, caller.project.isTest);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    response.end(text);
  }

  @Get('stream')
  @RouteOptionsOf({ scope: 'read', budget: 'general' })
  @Describe(describeEventStream)
  async stream(
    @Caller() caller: Caller,
    @Query() { after, types }: EventStreamQuery,
    @Res() response: Response,
  ): Promise<void> {
    const from = resumedAfter(caller.rawHeaders, after);
    await this.streams.serve(caller, response, { after: from, types: typesOf(types) });
  }
}
