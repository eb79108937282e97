// Preloaded into API and worker by the soak: collects all garbage on SIGUSR2, so that the remaining memory is
// comparable. Plain CommonJS, because `node --require` accepts nothing else.
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => collect());
