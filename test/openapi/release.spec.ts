import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingRelease } from '../../scripts/missing-release';

const read = (file: string): string => readFileSync(join(__dirname, '..', '..', file), 'utf8');
const DOCUMENT = '{"info":{"version":"1.2.0"}}';

describe('npm run openapi:release', () => {
  it('accepts the document of this commit: CHANGELOG.md has an entry for its version', () => {
    expect(missingRelease(read('openapi.json'), read('CHANGELOG.md'))).toBeUndefined();
  });

  it('accepts a dated entry for the version of the document', () => {
    expect(missingRelease(DOCUMENT, '# Changelog\n\n## [1.2.0] - 2027-01-31\n')).toBeUndefined();
  });

  it.each(['## [Unreleased]', '## [1.1.0] - 2027-01-31', '## [1.2.0]', '## [1.2.0] - soon', ''])(
    'rejects a changelog with only "%s", in one sentence that names the entry',
    (changelog) => {
      expect(missingRelease(DOCUMENT, changelog)).toBe(
        'CHANGELOG.md has no entry for version 1.2.0 of openapi.json. Add "## [1.2.0] - YYYY-MM-DD" and run npm run openapi:release again.',
      );
    },
  );
});
