/**
 * Counts how often a request has a header. Node's `headers` keeps only one of most repeated headers.
 *
 * @param rawHeaders names and values alternately, as in Node's `rawHeaders`
 * @param name in lower case
 */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) count += 1;
  }
  return count;
}
