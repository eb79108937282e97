// A DNS server for tests that records its questions.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

const A = 1;
const CNAME = 5;
const AAAA = 28;

export interface DnsServer {
  /** address:port */
  readonly server: string;
  /**
   * Returns a name's addresses and is called for every question. `name → …` is a CNAME; undefined leaves it unanswered.
   */
  answer: (name: string) => readonly string[] | undefined;
  /** `A name` or `AAAA name`, in order. */
  readonly asked: string[];
  readonly close: () => Promise<void>;
}

const labels = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((part) => Buffer.concat([Buffer.of(part.length), Buffer.from(part)])),
    Buffer.of(0),
  ]);

const ipv6Bytes = (address: string): Buffer => {
  const [head = '', tail] = address.split('::');
  const words = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const middle = tail === undefined ? [] : new Array<string>(8 - words(head).length - words(tail).length).fill('0');
  const all = [...words(head), ...middle, ...(tail === undefined ? [] : words(tail))];
  return Buffer.from(all.map((word) => word.padStart(4, '0')).join(''), 'hex');
};

function record(name: string, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([labels(name), head, data]);
}

function recordsFor(name: string, type: number, values: readonly string[]): Buffer[] {
  let at = name;
  return values.flatMap((value) => {
    if (!/^[\d.]+$/.test(value) && !isIPv6(value)) {
      const alias = record(at, CNAME, labels(value));
      at = value;
      return [alias];
    }
    if (isIPv6(value) !== (type === AAAA)) return [];
    return [record(at, type, isIPv6(value) ? ipv6Bytes(value) : Buffer.from(value.split('.').map(Number)))];
  });
}

export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const dns: DnsServer = {
    server: '',
    answer: () => [],
    asked: [],
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
  socket.on('message', (query, from) => {
    const names: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      names.push(query.subarray(at + 1, at + 1 + length).toString());
      at += length + 1;
    }
    const name = names.join('.').toLowerCase();
    const type = query.readUInt16BE(at + 1);
    if (type !== A && type !== AAAA) return;
    dns.asked.push(`${type === A ? 'A' : 'AAAA'} ${name}`);
    const values = dns.answer(name);
    if (values === undefined) return;
    const answers = recordsFor(name, type, values);
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8580, 2);
    head.writeUInt16BE(answers.length, 6);
    head.writeUInt16BE(0, 8);
    head.writeUInt16BE(0, 10);
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...answers]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return Object.assign(dns, { server: `127.0.0.1:${socket.address().port.toString()}` });
}
