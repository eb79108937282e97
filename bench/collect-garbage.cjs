// Loaded into API and worker by the soak: on SIGUSR2 all garbage is collected, so that what is left in memory can be
// compared. Plain JavaScript, because `node --require` takes nothing else.
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => collect());
