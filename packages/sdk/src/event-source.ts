// Server-Sent Events as the service sends them: `id` is a position and `data` an event. A comment line (leading colon)
// is a heartbeat.

/** One block of lines: an event, or only the position up to which the log was read when it had no event to send. */
export interface Said {
  readonly position: number | undefined;
  readonly data: string | undefined;
}

/** No event of the service comes near this length; the sender of such a line is another server. */
const LINE_CHARS_MAX = 1_000_000;

export class EventSourceReader {
  private readonly decoder = new TextDecoder();
  private pending = '';
  private id: string | undefined;
  private data: string[] = [];

  /** Returns the blocks that these bytes complete. Throws RangeError for a line above the limit or an invalid position. */
  take(bytes: Uint8Array): readonly Said[] {
    const lines = (this.pending + this.decoder.decode(bytes, { stream: true })).split('\n');
    this.pending = lines.pop() ?? '';
    if (this.pending.length > LINE_CHARS_MAX) throw new RangeError('a line of the stream is too long');
    return lines.flatMap((line) => this.line(line.replace(/\r$/, '')) ?? []);
  }

  private line(line: string): Said | undefined {
    const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'id') this.id = value;
    if (field === 'data') this.data.push(value);
    if (line !== '') return undefined;
    const position = this.id === undefined ? undefined : Number(this.id);
    if (position !== undefined && !Number.isSafeInteger(position)) {
      throw new RangeError('an event of the stream has no valid position');
    }
    const said = {
      position,
      data: this.data.length === 0 ? undefined : this.data.join('\n'),
    };
    this.id = undefined;
    this.data = [];
    return said;
  }
}
