// Bugs in what is sent to webhooks: how an answer is judged, which event is tried when, and what a project may cause.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const attempt = (title: string): NamedTest => ({ file: 'integration/webhooks-attempt.test.ts', title });

export const PLANTED_WEBHOOKS: readonly PlantedBug[] = [
  {
    name: 'a fault behind the status line undoes a success',
    changes: one(
      'sender/attempt.ts',
      '...judge(reader.answer, error.fault), durationMs',
      '...judge(undefined, error.fault), durationMs',
    ),
    test: attempt('a 2xx status line is a success, whatever follows it'),
  },
  {
    name: 'a webhook’s receiver may send headers without end',
    changes: one('sender/answer-reader.ts', 'if (this.headBytes > HEAD_BYTES_MAX) this.isDone = true;', 'if (false);'),
    test: attempt('stops reading headers after 256 KB, and keeps what the status line said'),
  },
  {
    name: 'lines of an answer end with CR and LF alone',
    changes: one(
      'sender/answer-reader.ts',
      'const end = bytes.indexOf(0x0a);',
      `const crlf = bytes.indexOf('\\r\\n'); const end = crlf < 0 ? -1 : crlf + 1;`,
    ),
    test: attempt('a 2xx status line is a success, whatever follows it'),
  },
];
