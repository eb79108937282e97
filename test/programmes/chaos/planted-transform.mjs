// A Jest transformer that substitutes the text of files changed by a planted bug. PLANTED_SOURCES names a JSON file
// with texts by absolute path.
import { readFileSync } from 'node:fs';
import swc from '@swc/jest';

const path = process.env.PLANTED_SOURCES;
const texts = new Map(Object.entries(path === undefined ? {} : JSON.parse(readFileSync(path, 'utf8'))));
const textOf = (source, file) => texts.get(file) ?? source;

export default {
  createTransformer(options) {
    const real = swc.createTransformer(options);
    return {
      canInstrument: real.canInstrument,
      process: (source, file, more) => real.process(textOf(source, file), file, more),
      processAsync: (source, file, more) => real.processAsync(textOf(source, file), file, more),
      getCacheKey: (source, file, more) => real.getCacheKey(textOf(source, file), file, more),
    };
  },
};
