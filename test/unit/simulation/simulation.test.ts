import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { NO_REASON, reasonOfFault, reasonOfRevert } from '../../../src/modules/quotes/revert-reason.js';
import { SelectorFault, readSelector } from '../../../src/modules/simulation/selector.js';

interface Step {
  readonly step: string;
  readonly response: { readonly constant_result?: readonly string[] };
}

const recorded = JSON.parse(readFileSync(new URL('../../tron-node/recorded.json', import.meta.url), 'utf8')) as {
  readonly steps: readonly Step[];
};
const dataOf = (step: string): string =>
  recorded.steps.find((entry) => entry.step === step)?.response.constant_result?.[0] ?? 'not recorded';

const word = (value: number): string => value.toString(16).padStart(64, '0');
const errorData = (text: string): string => {
  const bytes = Buffer.from(text);
  const padded = Buffer.concat([bytes, Buffer.alloc((32 - (bytes.length % 32)) % 32)]);
  return `08c379a0${word(32)}${word(bytes.length)}${padded.toString('hex')}`;
};

describe('the reason of a revert', () => {
  test.each([
    ['call: revert with a reason', 'TRC20: transfer amount exceeds balance'],
    ['call: panic', 'The call panicked (0x12): a division or modulo by zero.'],
    ['call: custom error', 'The call reverted with the custom error 0x2202f1fa.'],
    ['call: empty revert', NO_REASON],
  ])('a real node, %s', (step, reason) => {
    expect(reasonOfRevert(dataOf(step))).toBe(reason);
  });

  test('quotes Error(string) in any language', () => {
    expect(reasonOfRevert(errorData('Недостаточно ünits 余额'))).toBe('Недостаточно ünits 余额');
    expect(reasonOfRevert(errorData('x'.repeat(31)))).toBe('x'.repeat(31));
    expect(reasonOfRevert(errorData('x'.repeat(32)))).toBe('x'.repeat(32));
  });

  test('an empty or unprintable string is no reason', () => {
    expect(reasonOfRevert(errorData(''))).toBe(NO_REASON);
    expect(reasonOfRevert(errorData('\u0000\u200b\n'))).toBe(NO_REASON);
  });

  test('a string cannot forge lines', () => {
    expect(reasonOfRevert(errorData('one\ntwo\u2028three\u202e'))).toBe('one two three');
  });

  test('cuts a string of any length', () => {
    expect(reasonOfRevert(errorData('y'.repeat(5000)))).toHaveLength(1001);
    // Cut between characters: strict JSON readers refuse half a surrogate pair.
    expect(reasonOfRevert(errorData(`${'y'.repeat(999)}😀${'y'.repeat(9)}`))).toBe(`${'y'.repeat(999)}…`);
  });

  test.each([
    ['cut short', errorData('TRC20').slice(0, -64)],
    ['an offset beyond the data', `08c379a0${'ff'.repeat(32)}`],
    ['a length beyond the data', `08c379a0${word(32)}${'ff'.repeat(32)}`],
    ['the selector alone', '08c379a0'],
  ])('Error(string) with %s still gives a reason', (_, data) => {
    expect(reasonOfRevert(data)).toBe(NO_REASON);
  });

  test.each([
    [0x00, 'a generic panic'],
    [0x01, 'an assertion'],
    [0x11, 'overflow'],
    [0x12, 'division'],
    [0x21, 'enum'],
    [0x22, 'storage'],
    [0x31, 'empty array'],
    [0x32, 'index out of bounds'],
    [0x41, 'memory'],
    [0x51, 'uninitialised'],
    [0x99, 'does not define'],
  ])('explains Panic(0x%i)', (code, words) => {
    const reason = reasonOfRevert(`4e487b71${word(code)}`);
    expect(reason).toContain(`0x${code.toString(16).padStart(2, '0')}`);
    expect(reason).toContain(words);
  });

  test('is never empty and never throws, for any data', () => {
    const hex = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('hex'));
    const selector = fc.constantFrom(
      '',
      '08c379a0',
      '4e487b71',
      '08c379a0' + word(32),
      '08c379a0' + word(33) + word(8),
    );
    fc.assert(
      fc.property(selector, hex, (start, rest) => {
        expect(reasonOfRevert(start + rest).trim()).not.toBe('');
      }),
    );
  });

  test('words a VM fault without the name of a Java class', () => {
    expect(reasonOfFault('IllegalOperationException')).toMatch(/invalid instruction/);
    expect(reasonOfFault('OutOfEnergyException')).toMatch(/energy/);
    expect(reasonOfFault('SomethingNewException')).toBe('The call fails inside the contract.');
    expect(reasonOfFault('constructor')).toBe('The call fails inside the contract.');
  });
});

describe('a function selector', () => {
  test.each([
    ['pay()', false],
    ['transfer(address,uint256)', true],
    ['_x$1(bytes32[],bool[3][],(uint8,(string,bytes)[2])[])', true],
    ['fill((address,uint256),bytes)', true],
    ['f(trcToken,function,ufixed128x18,int8)', true],
  ])('reads %s', (text, takesArguments) => {
    expect(readSelector(text)).toEqual({ takesArguments });
  });

  test.each([
    '',
    'transfer',
    'transfer(',
    'transfer)',
    '(address)',
    '1transfer()',
    'transfer(address,uint256) ',
    'transfer(address, uint256)',
    'transfer(address,)',
    'transfer(,address)',
    'transfer(address to)',
    'transfer(address))',
    'transfer((address)',
    'f(())',
    'f()()',
    'f(address)(uint256)',
    'f(uint7)',
    'f(uint264)',
    'f(bytes33)',
    'f(bytes0)',
    'f(address[)',
    'f(address[0])',
    'f(addresss)',
    'f(Address)',
    'ф()',
    'f(' + '('.repeat(20) + 'bool' + ')'.repeat(20) + ')',
    'f(' + 'bool,'.repeat(400) + 'bool)',
  ])('refuses %s', (text) => {
    expect(readSelector(text)).toBeInstanceOf(SelectorFault);
  });

  test('rejects a short form and names the long one, because a node would hash it as written', () => {
    expect(readSelector('transfer(address,uint)')).toEqual(new SelectorFault('must write uint in full, as uint256'));
  });
});
