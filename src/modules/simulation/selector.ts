/** Function signature texts, e.g. `transfer(address,uint256)`. Pure; checked before they are sent to a node. */

const SELECTOR_LENGTH_MAX = 1024;
const DEPTH_MAX = 8;
const NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const ARRAYS = /^(?:\[(?:[1-9][0-9]{0,8})?\])*$/;
const PLAIN_TYPES: ReadonlySet<string> = new Set(['address', 'bool', 'string', 'bytes', 'function', 'trcToken']);

export interface Selector {
  readonly takesArguments: boolean;
}

/** The error in a selector ("must …"). */
export class SelectorFault {
  constructor(readonly msg: string) {}
}

const FORM = 'must be a function signature such as transfer(address,uint256), without spaces or argument names';

/**
 * Reads `name(type,type)`. Refuses types outside the ABI, because such a signature could only match an unknown
 * function.
 */
export function readSelector(text: string): Selector | SelectorFault {
  if (text.length > SELECTOR_LENGTH_MAX) {
    return new SelectorFault(`must have at most ${SELECTOR_LENGTH_MAX.toString()} characters`);
  }
  const open = text.indexOf('(');
  if (open < 0 || !text.endsWith(')') || !NAME.test(text.slice(0, open))) return new SelectorFault(FORM);
  const list = text.slice(open + 1, -1);
  if (list === '') return { takesArguments: false };
  const fault = faultOfList(list, 1);
  return fault === undefined ? { takesArguments: true } : new SelectorFault(fault);
}

/** Returns the error in a non-empty list of types. */
function faultOfList(list: string, depth: number): string | undefined {
  if (depth > DEPTH_MAX) return 'must not nest tuples so deeply';
  for (const type of splitTypes(list) ?? ['']) {
    const fault = faultOfType(type, depth);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Splits at the commas outside parentheses; undefined if the parentheses do not match. */
function splitTypes(list: string): string[] | undefined {
  const types: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < list.length; index += 1) {
    const char = list[index];
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (depth < 0) return undefined;
    if (char === ',' && depth === 0) {
      types.push(list.slice(start, index));
      start = index + 1;
    }
  }
  types.push(list.slice(start));
  return depth === 0 ? types : undefined;
}

function faultOfType(type: string, depth: number): string | undefined {
  if (type.startsWith('(')) {
    const close = type.lastIndexOf(')');
    const inner = type.slice(1, close);
    if (close < 0 || inner === '' || !ARRAYS.test(type.slice(close + 1))) return FORM;
    return faultOfList(inner, depth + 1);
  }
  const bracket = type.indexOf('[');
  const base = bracket < 0 ? type : type.slice(0, bracket);
  if (bracket >= 0 && !ARRAYS.test(type.slice(bracket))) return FORM;
  if (base === 'uint' || base === 'int') return `must write ${base} in full, as ${base}256`;
  return isElementary(base) ? undefined : FORM;
}

function isElementary(type: string): boolean {
  if (PLAIN_TYPES.has(type)) return true;
  const sized = /^(u?int|bytes)([1-9][0-9]{0,2})$/.exec(type);
  if (sized !== null) {
    const size = Number(sized[2]);
    return sized[1] === 'bytes' ? size <= 32 : size <= 256 && size % 8 === 0;
  }
  const fixed = /^u?fixed([1-9][0-9]{0,2})x([0-9]{1,2})$/.exec(type);
  return fixed !== null && Number(fixed[1]) <= 256 && Number(fixed[1]) % 8 === 0 && Number(fixed[2]) <= 80;
}
