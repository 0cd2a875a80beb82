/**
 * Returns a sentence for the developer if the changelog has no dated entry for the version of the document; else
 * undefined.
 */
export function missingRelease(document: string, changelog: string): string | undefined {
  const { info }: { info: { version: string } } = JSON.parse(document);
  const start = `## [${info.version}] - `;
  const lines = changelog.split('\n').filter((line) => line.startsWith(start));
  if (lines.some((line) => /^\d{4}-\d{2}-\d{2}$/.test(line.slice(start.length)))) return undefined;
  return `CHANGELOG.md has no entry for version ${info.version} of openapi.json. Add "${start}YYYY-MM-DD" and run npm run openapi:release again.`;
}
