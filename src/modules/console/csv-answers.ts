/** Streams the rows of a filter as CSV, at the browser's pace. */
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { forPeople, type CsvCell } from '../../platform/support/csv.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { writePages } from '../../platform/http/pipeline/written-pages.js';
import { Replica } from '../../platform/database/replica.js';
import { csvHeaders, csvPages, type Numbered, type ReadOn } from './lists.js';

interface CsvAnswer<Row extends Numbered> {
  /** File name without extension. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly read: ReadOn<Row>;
  readonly cells: (row: Row) => readonly CsvCell[];
}

@Injectable()
export class CsvAnswers {
  private readonly slowMs: number;

  constructor(
    private readonly replica: Replica,
    config: ConsoleConfig,
  ) {
    this.slowMs = config.http.streamSlowSec * 1000;
  }

  async write<Row extends Numbered>(response: Response, { name, columns, read, cells }: CsvAnswer<Row>): Promise<void> {
    const pages = forPeople(csvPages(this.replica, columns, read, cells));
    await writePages(response, csvHeaders(name), pages, this.slowMs);
  }
}
