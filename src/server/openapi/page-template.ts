import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Reads an HTML file of this folder and replaces its `{{name}}` placeholders.
 *
 * @param values by name; this function escapes them for HTML
 */
export function renderPage(file: string, values: Readonly<Record<string, string>>): string {
  const template = readFileSync(join(__dirname, file), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_match, name: string) => escapeHtml(values[name] ?? ''));
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
