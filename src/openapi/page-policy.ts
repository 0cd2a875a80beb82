import { createHash } from 'node:crypto';

const STYLE = /<style>(.*?)<\/style>/gs;
const STYLE_ATTRIBUTE = /\sstyle="([^"]*)"/g;
const SCRIPT = /<script>(.*?)<\/script>/gs;

/**
 * The headers of a page of ours. Its content security policy (CSP 3) allows what stands in the page itself by hash, and
 * files of our own; nothing inline beside it, no eval, no frame, no other host.
 *
 * @param allowed what else its scripts may do: origins to send requests to, style elements to add
 */
export function pageHeaders(
  html: string,
  { connectTo = [], styles = [] }: { connectTo?: readonly string[]; styles?: readonly string[] } = {},
): Record<string, string> {
  const attributes = hashesOf(html, STYLE_ATTRIBUTE);
  const directives = {
    'default-src': ["'none'"],
    'script-src': ["'self'", ...hashesOf(html, SCRIPT)],
    'style-src': [
      "'self'",
      ...hashesOf(html, STYLE),
      ...styles.map(hashOf),
      ...(attributes.length > 0 ? ["'unsafe-hashes'", ...attributes] : []),
    ],
    'img-src': ["'self'", 'data:'],
    'connect-src': ["'self'", ...connectTo],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
  };
  const policy = Object.entries(directives).map(([name, sources]) => `${name} ${sources.join(' ')}`);
  return { 'Content-Security-Policy': policy.join('; '), 'Referrer-Policy': 'no-referrer' };
}

function hashesOf(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(([, text = '']) => hashOf(text));
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
