import { maskedUrl } from '../../../src/domain/masked-url.js';

it.each([
  ['https://hooks.example/services/T0/B0/secret', 'https://hooks.example/…'],
  ['https://hooks.example:8443/?token=secret', 'https://hooks.example:8443/…'],
  ['https://hooks.example?token=secret', 'https://hooks.example/…'],
  ['https://hooks.example/', 'https://hooks.example/'],
  ['https://hooks.example', 'https://hooks.example'],
])('%s is shown as %s', (url, shown) => {
  expect(maskedUrl(url)).toBe(shown);
});
