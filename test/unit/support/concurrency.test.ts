// Works that run one after another whatever fails.
import { failuresIn, runEach } from '../../../src/platform/support/concurrency.js';

const failing = (reason: string) => () => Promise.reject(new Error(reason));

test('runs every work, and throws a single error as it is', async () => {
  const ran: string[] = [];
  const one = new TypeError('one');
  const works = [() => Promise.reject(one), () => Promise.resolve(ran.push('two'))];
  await expect(runEach(works)).rejects.toBe(one);
  expect(ran).toEqual(['two']);
  expect(failuresIn(one)).toEqual([one]);
});

test('hides no error behind an earlier one, also in nested calls', async () => {
  const nested = () => runEach([failing('two'), failing('three')]);
  const thrown: unknown = await runEach([failing('one.'), nested]).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ name: 'AggregateError', message: 'one; two; three' });
  expect(failuresIn(thrown).map((error) => (error as Error).message)).toEqual(['one.', 'two', 'three']);
});
